//===- Files.cpp - Whole files, written by rename -------------------------===//
#include "harness/io/Files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace tandem;
using namespace tandem::harness;
namespace fs = std::filesystem;

namespace {
struct Closer {
  void operator()(std::FILE *file) const { std::fclose(file); }
};

/// A descriptor that is closed whatever happens.
class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return number; }
  /// False if what was written did not arrive.
  bool close() { return ::close(std::exchange(number, -1)) == 0; }

private:
  int number;
};
} // namespace

static Error cannot(const char *verb, const std::string &path,
                    const std::string &reason) {
  return Error(path + ": cannot be " + verb + ": " + reason);
}

Result<std::string> tandem::harness::readFile(const std::string &path,
                                              uint64_t limit) {
  std::error_code code;
  if (fs::is_directory(path, code))
    return cannot("read", path, "it is a folder");
  std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rbe"));
  if (!file)
    return cannot("read", path, std::strerror(errno));
  struct stat status;
  const bool hasSize =
      fstat(fileno(file.get()), &status) == 0 && S_ISREG(status.st_mode);
  if (hasSize && static_cast<uint64_t>(status.st_size) > limit)
    return Error(path + ": expected at most " + std::to_string(limit) +
                 " bytes, got " + std::to_string(status.st_size));
  if (!hasSize)
    limit = std::min(limit, maxStreamBytes);
  std::string bytes;
  // The size is only a guess: files of /proc say 0.
  if (hasSize)
    bytes.reserve(static_cast<size_t>(status.st_size));
  char buffer[65536];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    if (bytes.size() + got > limit)
      return Error(path + ": expected at most " + std::to_string(limit) +
                   " bytes, got more");
    bytes.append(buffer, got);
  }
  if (std::ferror(file.get()))
    return cannot("read", path, std::strerror(errno));
  return bytes;
}

static bool writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(descriptor, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote < 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

namespace {
/// One file on its way: beside its place until `commit`, and gone without it.
class PendingFile {
public:
  explicit PendingFile(const FileContents &contents) : contents(contents) {}
  PendingFile(const PendingFile &) = delete;
  PendingFile &operator=(const PendingFile &) = delete;
  ~PendingFile() {
    if (!temporary.empty())
      ::unlink(temporary.c_str());
  }

  Result<void> prepare();
  Result<void> commit();
  /// Whether both would be renamed to one place.
  bool collidesWith(const PendingFile &other) const {
    return !temporary.empty() && target == other.target;
  }

private:
  Error fail() const {
    return cannot("written", contents.path, std::strerror(errno));
  }

  const FileContents &contents;
  /// The path without its symbolic links.
  std::string target;
  /// Empty for what is written in place.
  std::string temporary;
};
} // namespace

Result<void> PendingFile::prepare() {
  static std::atomic<unsigned> counter = 0;
  fs::path path(contents.path);
  std::error_code code;
  if (fs::is_symlink(fs::symlink_status(path, code)))
    if (fs::path real = fs::weakly_canonical(path, code); !code)
      path = std::move(real);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  fs::create_directories(folder, code);
  std::error_code ignored;
  if (code && !fs::is_directory(folder, ignored))
    return cannot("written", contents.path,
                  folder.string() + ": " + code.message());
  target = path.string();
  struct stat status;
  const bool exists = stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return cannot("written", contents.path, "it is a folder");
  // Renaming onto a device or a pipe would replace it by a file.
  if (exists && !S_ISREG(status.st_mode))
    return {};
  // Whoever may not write the file may not replace it either.
  if (exists && access(target.c_str(), W_OK) != 0)
    return fail();
  // Short: the name itself may be as long as a name can be.
  const std::string name = (folder / (".tandem-" + std::to_string(getpid()) +
                                      "-" + std::to_string(counter++) + ".tmp"))
                               .string();
  Descriptor file(
      ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0)
    return fail();
  temporary = name;
  if (exists)
    (void)fchmod(file.get(), status.st_mode & 07777);
  if (!writeAll(file.get(), contents.bytes) || !file.close())
    return fail();
  return {};
}

Result<void> PendingFile::commit() {
  if (!temporary.empty()) {
    if (::rename(temporary.c_str(), target.c_str()) != 0)
      return fail();
    temporary.clear();
    return {};
  }
  Descriptor file(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0 || !writeAll(file.get(), contents.bytes) || !file.close())
    return fail();
  return {};
}

Result<void>
tandem::harness::writeFiles(const std::vector<FileContents> &files) {
  std::vector<std::unique_ptr<PendingFile>> pending;
  for (const FileContents &contents : files) {
    pending.push_back(std::make_unique<PendingFile>(contents));
    if (Result<void> ok = pending.back()->prepare(); !ok)
      return ok.error();
    for (size_t i = 0; i + 1 < pending.size(); ++i)
      if (pending[i]->collidesWith(*pending.back()))
        return Error(contents.path + ": is given for two outputs");
  }
  for (const std::unique_ptr<PendingFile> &file : pending)
    if (Result<void> ok = file->commit(); !ok)
      return ok.error();
  return {};
}

Result<void> tandem::harness::writeFile(const std::string &path,
                                        std::string_view bytes) {
  return writeFiles({{path, bytes}});
}
