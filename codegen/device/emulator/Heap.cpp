//===- Heap.cpp - Device memory on the host -------------------------------===//
#include "codegen/device/emulator/Heap.h"

#include "codegen/device/emulator/Types.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

using namespace tandem;
using namespace tandem::emulator;

static constexpr uint64_t arenaBytes = uint64_t(8) << 30;
static constexpr uint64_t gapBytes = 64 * 1024;
static constexpr size_t keptFreed = 64;
// From here on a fill maps copies of a pattern instead of writing every page.
static constexpr uint64_t lazyFillBytes = 32 << 20;
static constexpr uint64_t patternBytes = 32 << 20;

Heap::~Heap() {
  for (const Arena &arena : arenas)
    if (arena.base)
      munmap(arena.base, arena.bytes);
  for (auto [byte, file] : patternFiles)
    close(file);
}

Result<char *> Heap::reserve(uint64_t bytes) {
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return Error(cat("emulator: cannot reserve ", bytes,
                     " bytes: ", std::strerror(errno)));
  return static_cast<char *>(base);
}

void Heap::freeArena(size_t index) {
  Arena &arena = arenas[index];
  munmap(arena.base, arena.bytes);
  arena = {};
}

Result<uint64_t> Heap::allocate(uint64_t bytes, std::string_view name) {
  if (bytes > (uint64_t(1) << 44))
    return Error(cat("emulator: allocation '", name, "' of ", bytes,
                     " bytes is larger than 16 TB"));
  uint64_t span =
      (bytes + gapBytes + 2 * pageBytes - 1) / pageBytes * pageBytes;
  // Large ones get an arena of their own, so that releasing gives it back.
  bool isLarge = span > arenaBytes / 8;
  size_t index = current;
  if (isLarge || index == noArena ||
      arenas[index].bytes - arenas[index].used < span + gapBytes) {
    uint64_t size = isLarge ? span + 2 * gapBytes : arenaBytes;
    Result<char *> base = reserve(size);
    if (!base)
      return base.error();
    if (!isLarge && index != noArena && arenas[index].live == 0)
      freeArena(index);
    index = arenas.size();
    arenas.push_back({*base, size, gapBytes, 0});
    // The system gives addresses of a released arena again: what lay there is
    // no longer what an access of them means.
    uint64_t begin = reinterpret_cast<uint64_t>(*base);
    std::erase_if(freed, [&](const std::unique_ptr<Region> &region) {
      return region->base >= begin && region->base < begin + size;
    });
    if (!isLarge)
      current = index;
  }
  Arena &arena = arenas[index];
  std::unique_ptr<Shadow> shadow;
  try {
    shadow = std::make_unique<Shadow>(bytes);
  } catch (const std::bad_alloc &) {
    if (isLarge)
      freeArena(index);
    return Error(cat("emulator: allocation '", name, "' of ", bytes,
                     " bytes: no memory for the checker's tables"));
  }
  auto region = std::make_unique<Region>();
  region->name = std::string(name);
  region->host = arena.base + arena.used;
  region->base = reinterpret_cast<uint64_t>(region->host);
  region->bytes = bytes;
  region->shadow = std::move(shadow);
  arena.used += span;
  ++arena.live;
  uint64_t address = region->base;
  arenaOf[address] = index;
  live[address] = std::move(region);
  return address;
}

Result<void> Heap::release(uint64_t address) {
  auto found = live.find(address);
  if (found == live.end())
    return Error(cat("emulator: release of ", hex(address),
                     ", which is no live allocation"));
  Region &region = *found->second;
  region.freed = true;
  region.shadow.reset();
  size_t index = arenaOf[address];
  arenaOf.erase(address);
  uint64_t span = (region.bytes + pageBytes - 1) / pageBytes * pageBytes;
  Arena &arena = arenas[index];
  --arena.live;
  if (arena.live == 0 && index != current)
    freeArena(index);
  else if (span)
    madvise(region.host, span, MADV_DONTNEED);
  freed.push_back(std::move(found->second));
  if (freed.size() > keptFreed)
    freed.pop_front();
  live.erase(found);
  return {};
}

Result<Region *> Heap::find(uint64_t address, uint64_t bytes,
                            std::string_view what) {
  auto after = live.upper_bound(address);
  if (after != live.begin()) {
    Region *region = std::prev(after)->second.get();
    if (region->holds(address, bytes))
      return region;
    if (address - region->base <= region->bytes)
      return Error(cat("emulator: ", what, " of ", bytes, " bytes at byte ",
                       address - region->base, " of '", region->name, "' (",
                       region->bytes, " bytes)"));
  }
  for (const auto &region : freed)
    if (region->holds(address, 0))
      return Error(cat("emulator: ", what, " of ", bytes,
                       " bytes in the freed allocation '", region->name, "'"));
  return Error(cat("emulator: ", what, " of ", bytes, " bytes at ",
                   hex(address), ", outside every allocation"));
}

Result<void> Heap::fill(uint64_t address, uint8_t byte, uint64_t bytes,
                        bool initialised) {
  Result<Region *> region = find(address, bytes, "fill");
  if (!region)
    return region.error();
  char *begin = (*region)->host + (address - (*region)->base);
  char *end = begin + bytes;
  if (bytes >= lazyFillBytes) {
    auto [file, isNew] = patternFiles.try_emplace(byte, -1);
    if (isNew) {
      file->second = memfd_create("tandem-pattern", MFD_CLOEXEC);
      void *pattern = MAP_FAILED;
      if (file->second >= 0 && ftruncate(file->second, patternBytes) == 0)
        pattern = mmap(nullptr, patternBytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED, file->second, 0);
      if (pattern == MAP_FAILED)
        return Error(cat("emulator: cannot make a pattern for a fill: ",
                         std::strerror(errno)));
      std::memset(pattern, byte, patternBytes);
      munmap(pattern, patternBytes);
    }
    // Regions begin on a page; the part before the first one is written.
    char *page =
        (*region)->host +
        (static_cast<uint64_t>(begin - (*region)->host) + pageBytes - 1) /
            pageBytes * pageBytes;
    std::memset(begin, byte, static_cast<size_t>(page - begin));
    while (static_cast<uint64_t>(end - page) >= pageBytes) {
      uint64_t n =
          std::min<uint64_t>(patternBytes, static_cast<uint64_t>(end - page) /
                                               pageBytes * pageBytes);
      if (mmap(page, n, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file->second,
               0) == MAP_FAILED)
        return Error(cat("emulator: cannot fill ", bytes,
                         " bytes: ", std::strerror(errno)));
      page += n;
    }
    begin = page;
  }
  std::memset(begin, byte, static_cast<size_t>(end - begin));
  (*region)->shadow->mark(address - (*region)->base, bytes, initialised);
  return {};
}

std::vector<const Region *> Heap::regions() const {
  std::vector<const Region *> result;
  result.reserve(live.size() + freed.size());
  for (const auto &[address, region] : live)
    result.push_back(region.get());
  for (const auto &region : freed)
    result.push_back(region.get());
  std::sort(result.begin(), result.end(),
            [](const Region *a, const Region *b) { return a->base < b->base; });
  return result;
}

void Heap::forgetAccesses() {
  for (auto &[address, region] : live)
    region->shadow->forgetAccesses();
}
