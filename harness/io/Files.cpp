//===- Files.cpp - Whole files, written by rename -------------------------===//
#include "harness/io/Files.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unistd.h>

using namespace tandem;

namespace {
struct Closer {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
} // namespace

Result<std::string> tandem::harness::readFile(const std::string &path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code))
    return Error(path + ": cannot be read: it is a folder");
  std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return Error(path + ": cannot be read: " + std::strerror(errno));
  std::string bytes;
  char buffer[65536];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, file.get()))
    bytes.append(buffer, got);
  if (std::ferror(file.get()))
    return Error(path + ": cannot be read: " + std::strerror(errno));
  return bytes;
}

Result<void> tandem::harness::writeFile(const std::string &path,
                                        std::string_view bytes) {
  static std::atomic<unsigned> counter = 0;
  const std::filesystem::path target(path);
  std::error_code code;
  if (target.has_parent_path())
    std::filesystem::create_directories(target.parent_path(), code);
  const std::string temporary = path + "." + std::to_string(getpid()) + "." +
                                std::to_string(counter++) + ".tmp";
  {
    std::unique_ptr<std::FILE, Closer> file(
        std::fopen(temporary.c_str(), "wb"));
    if (!file)
      return Error(path + ": cannot be written: " + std::strerror(errno));
    if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) !=
            bytes.size() ||
        std::fflush(file.get()) != 0) {
      const std::string reason = std::strerror(errno);
      std::remove(temporary.c_str());
      return Error(path + ": cannot be written: " + reason);
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    return Error(path + ": cannot be written: " + reason);
  }
  return {};
}
