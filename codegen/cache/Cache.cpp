//===- Cache.cpp - Compiled kernels on disk -------------------------------===//
#include "codegen/cache/Cache.h"

#include "codegen/CacheControl.h"
#include "codegen/Compiler.h"
#include "codegen/cache/BuildIdentity.h"
#include "refops/core/Spelling.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace tandem;
using namespace tandem::codegen;
namespace fs = std::filesystem;

static constexpr uint64_t defaultLimit = 512ull << 20;
static constexpr uint64_t largestLimit = uint64_t(1) << 50;
/// Far above the largest kernel with all its stages.
static constexpr uint64_t largestEntry = uint64_t(256) << 20;
static constexpr const char *extension = ".kernel";
static constexpr const char *unfinished = ".tmp";
static constexpr const char *limitFile = "limit";
/// The directory is measured on the first write of a process and on every 64th
/// after it.
static constexpr unsigned writesBetweenSweeps = 64;

static std::string hexHash(std::string_view text) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::string codegen::cacheKey(std::string_view keyText) {
  return hexHash(buildIdentity() + "\n" + std::string(keyText));
}

static fs::path directory() {
  if (const char *dir = std::getenv("TANDEM_CACHE_DIR"); dir && *dir)
    return dir;
  if (const char *home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "tandem";
  return {};
}

/// The whole file; nothing if it is none, or none that we wrote.
static std::optional<std::string> readEntry(const fs::path &path) {
  std::error_code code;
  // A pipe of that name would block; a huge file is not ours.
  if (!fs::is_regular_file(path, code) ||
      fs::file_size(path, code) > largestEntry || code)
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

Result<uint64_t> tandem::parseCacheSize(std::string_view text) {
  uint64_t value = 0;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(
      code == std::errc() ? static_cast<size_t>(end - text.data()) : 0);
  const int shift = unit.empty() || unit == "B" ? 0
                    : unit == "K"               ? 10
                    : unit == "M"               ? 20
                    : unit == "G"               ? 30
                    : unit == "T"               ? 40
                                                : -1;
  if (code != std::errc() || shift < 0 || value > (largestLimit >> shift))
    return Error("expected a size such as 100000, 512M or 2G, at most 1024T, "
                 "got " +
                 quote(text));
  return value << shift;
}

/// The limit, and in \p problem what is wrong with a limit that is not taken.
static uint64_t limitBytes(const fs::path &dir, std::string &problem) {
  const char *given = std::getenv("TANDEM_CACHE_LIMIT");
  std::string place = "TANDEM_CACHE_LIMIT", text = given ? given : "";
  if (text.empty() && !dir.empty()) {
    place = (dir / limitFile).string();
    text = readEntry(dir / limitFile).value_or("");
    while (!text.empty() && text.back() == '\n')
      text.pop_back();
  }
  if (text.empty())
    return defaultLimit;
  if (Result<uint64_t> limit = parseCacheSize(text))
    return *limit;
  else
    problem = place + ": " + limit.error().text();
  return defaultLimit;
}

std::optional<std::string> codegen::cacheRead(const std::string &key) {
  fs::path dir = directory();
  if (dir.empty())
    return std::nullopt;
  fs::path path = dir / (key + extension);
  const std::optional<std::string> text = readEntry(path);
  if (!text)
    return std::nullopt;
  size_t line = text->find('\n');
  if (line == std::string::npos)
    return std::nullopt;
  std::string body = text->substr(line + 1);
  if (text->compare(0, line, hexHash(body)) != 0)
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

static std::vector<Entry> listEntries(const fs::path &dir, const char *suffix) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != suffix)
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

/// Removes the least recently used entries until \p target bytes are left, and
/// what processes left behind that died while writing.
static void evict(const fs::path &dir, uint64_t limit, uint64_t target) {
  std::error_code ignored;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const Entry &entry : listEntries(dir, unfinished))
    if (entry.used < old)
      fs::remove(entry.path, ignored);
  std::vector<Entry> entries = listEntries(dir, extension);
  uint64_t total = 0;
  for (const Entry &entry : entries)
    total += entry.bytes;
  if (total <= limit)
    return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= target)
      return;
    // Another process may have removed it: then it is gone as well.
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

/// Writes beside the place and renames; false if it did not work.
static bool replaceFile(const fs::path &path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  fs::path temporary = path;
  temporary += "." + std::to_string(getpid()) + "." +
               std::to_string(counter++) + unfinished;
  std::error_code error;
  {
    std::ofstream file(temporary, std::ios::binary);
    file << bytes;
    file.close();
    if (file)
      fs::rename(temporary, path, error);
    if (file && !error)
      return true;
  }
  fs::remove(temporary, error);
  return false;
}

void codegen::cacheWrite(const std::string &key, std::string_view body) {
  fs::path dir = directory();
  std::error_code error;
  if (dir.empty() || (fs::create_directories(dir, error), error))
    return;
  (void)replaceFile(dir / (key + extension),
                    hexHash(body) + "\n" + std::string(body));
  static std::atomic<unsigned> writes{0};
  if (writes++ % writesBetweenSweeps)
    return;
  std::string ignored;
  const uint64_t limit = limitBytes(dir, ignored);
  evict(dir, limit, limit - limit / 10);
}

Result<void> tandem::setCacheLimit(uint64_t bytes) {
  const fs::path dir = directory();
  if (dir.empty())
    return Error("cache: there is no directory, set TANDEM_CACHE_DIR or HOME");
  std::error_code error;
  fs::create_directories(dir, error);
  if (error)
    return Error(dir.string() + ": cannot be written: " + error.message());
  if (!replaceFile(dir / limitFile, std::to_string(bytes) + "\n"))
    return Error((dir / limitFile).string() + ": cannot be written");
  evict(dir, bytes, bytes);
  return {};
}

std::string tandem::cacheLimitProblem() {
  std::string problem;
  (void)limitBytes(directory(), problem);
  return problem;
}

CacheInfo tandem::cacheInfo() {
  CacheInfo info;
  fs::path dir = directory();
  info.directory = dir.string();
  std::string ignored;
  info.limitBytes = limitBytes(dir, ignored);
  for (const Entry &entry : listEntries(dir, extension)) {
    ++info.entries;
    info.bytes += entry.bytes;
  }
  return info;
}
