//===- Cache.cpp - Compiled kernels on disk -------------------------------===//
#include "codegen/cache/Cache.h"

#include "codegen/Compiler.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace tandem;
using namespace tandem::codegen;
namespace fs = std::filesystem;

static constexpr uint64_t defaultLimit = 512ull << 20;
static constexpr const char *extension = ".kernel";
/// The directory is measured on the first write of a process and on every 64th
/// after it.
static constexpr unsigned writesBetweenSweeps = 64;

static std::string hexHash(std::string_view text) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

/// Size and time of the file that holds this function: another build, another
/// identity.
static std::string buildIdentity() {
  Dl_info info;
  struct stat status;
  bool found = dladdr(reinterpret_cast<void *>(&buildIdentity), &info) &&
               info.dli_fname && stat(info.dli_fname, &status) == 0;
  if (!found && stat("/proc/self/exe", &status) != 0)
    return "unknown";
  return std::to_string(status.st_size) + "." +
         std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

std::string codegen::cacheKey(std::string_view keyText) {
  static const std::string identity = buildIdentity();
  return hexHash(identity + "\n" + std::string(keyText));
}

static fs::path directory() {
  if (const char *dir = std::getenv("TANDEM_CACHE_DIR"); dir && *dir)
    return dir;
  if (const char *home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "tandem";
  return {};
}

static uint64_t limitBytes() {
  const char *text = std::getenv("TANDEM_CACHE_LIMIT");
  uint64_t value = 0;
  if (text) {
    std::string_view view = text;
    auto [end, code] =
        std::from_chars(view.data(), view.data() + view.size(), value);
    if (code == std::errc() && end == view.data() + view.size())
      return value;
  }
  return defaultLimit;
}

std::optional<std::string> codegen::cacheRead(const std::string &key) {
  fs::path dir = directory();
  if (dir.empty())
    return std::nullopt;
  fs::path path = dir / (key + extension);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();
  std::string text = std::move(content).str();
  size_t line = text.find('\n');
  if (line == std::string::npos)
    return std::nullopt;
  std::string body = text.substr(line + 1);
  if (text.compare(0, line, hexHash(body)) != 0)
    return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return body;
}

namespace {
struct Entry {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};
} // namespace

static std::vector<Entry> listEntries(const fs::path &dir) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != extension)
      continue;
    std::error_code gone;
    Entry entry{it->path(), it->file_size(gone), {}};
    if (!gone)
      entry.used = it->last_write_time(gone);
    if (!gone)
      entries.push_back(std::move(entry));
  }
  return entries;
}

/// Removes the least recently used entries until nine tenths of the limit are
/// left.
static void evict(const fs::path &dir) {
  std::vector<Entry> entries = listEntries(dir);
  uint64_t total = 0, limit = limitBytes();
  for (const Entry &entry : entries)
    total += entry.bytes;
  if (total <= limit)
    return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= limit - limit / 10)
      return;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

void codegen::cacheWrite(const std::string &key, std::string_view body) {
  fs::path dir = directory();
  std::error_code error;
  if (dir.empty() || (fs::create_directories(dir, error), error))
    return;
  static std::atomic<unsigned> writes{0};
  unsigned number = writes++;
  fs::path temporary = dir / (key + "." + std::to_string(getpid()) + "." +
                              std::to_string(number) + ".tmp");
  {
    std::ofstream file(temporary, std::ios::binary);
    file << hexHash(body) << '\n' << body;
    if (!file.flush()) {
      file.close();
      fs::remove(temporary, error);
      return;
    }
  }
  fs::rename(temporary, dir / (key + extension), error);
  if (error)
    fs::remove(temporary, error);
  if (number % writesBetweenSweeps == 0)
    evict(dir);
}

CacheInfo tandem::cacheInfo() {
  CacheInfo info;
  fs::path dir = directory();
  info.directory = dir.string();
  info.limitBytes = limitBytes();
  for (const Entry &entry : listEntries(dir)) {
    ++info.entries;
    info.bytes += entry.bytes;
  }
  return info;
}
