//===- Shadow.h - What the checker remembers of each byte -------*- C++ -*-===//
//
// Memory is shadowed by pages of 4 KiB, made when first needed:
//
//   init      one bit a byte: has it been written?
//   cells     last write and two unordered reads a granule, for races
//
// A granule is as large as the first access, at most 16 bytes, until someone
// accesses less: then the page's cells are split. So vector kernels pay for
// vectors, f32 ones for words and bf16 ones for halves.
//
// An access is an id of 64 bits:  stamp:32 | warp:5 | lane:5 | strong:1 |
// clock:21 The stamp names the CTA of one launch and only grows, so nothing is
// cleared between launches: an older stamp is no access. The clock is the CTA's
// counter of synchronisations, and every warp knows up to which clock all
// accesses of its CTA happen before it.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_SHADOW_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_SHADOW_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tandem::emulator {

inline constexpr uint64_t pageBytes = 4096;

using AccessId = uint64_t;
inline constexpr unsigned clockBits = 21;
inline constexpr uint64_t clockMask = (1u << clockBits) - 1;
inline constexpr uint64_t strongBit = uint64_t(1) << clockBits;
inline constexpr unsigned laneShift = clockBits + 1;
inline constexpr unsigned warpShift = laneShift + 5;

inline unsigned laneOf(AccessId id) { return (id >> laneShift) & 31; }
inline unsigned warpOf(AccessId id) { return (id >> warpShift) & 31; }
inline uint64_t stampOf(AccessId id) { return id >> 32; }

/// Accesses of one page at one granularity.
struct RaceCells {
  explicit RaceCells(unsigned shift);
  unsigned shift; // log2 of the granule's bytes
  std::unique_ptr<AccessId[]> write, readA, readB;
  std::unique_ptr<uint32_t[]> writeAt, readAt; // instruction index
  /// The same accesses in finer granules.
  std::unique_ptr<RaceCells> split(unsigned finer) const;
};

struct ShadowPage {
  uint64_t init[pageBytes / 64] = {};
  std::unique_ptr<RaceCells> cells;
  /// Taken only while CTAs run in parallel.
  std::atomic_flag busy;
};

/// The shadow pages of one allocation. An entry is 0 (nothing written), 1 (all
/// written, never accessed by a checked kernel) or a page.
class Shadow {
public:
  explicit Shadow(uint64_t bytes);
  ~Shadow();
  Shadow(const Shadow &) = delete;
  Shadow &operator=(const Shadow &) = delete;

  /// The page that holds \p offset, made if need be. Safe from many threads.
  ShadowPage &page(uint64_t offset) {
    uintptr_t entry = table[offset / pageBytes].load(std::memory_order_acquire);
    return entry > 1 ? *reinterpret_cast<ShadowPage *>(entry) : make(offset);
  }
  /// Marks a range as written or as never written.
  void mark(uint64_t offset, uint64_t bytes, bool written);
  /// The first byte of the range that was never written, or \p bytes.
  uint64_t firstUnwritten(uint64_t offset, uint64_t bytes) const;
  /// Forgets that anything was written; the accesses stay.
  void clearWritten();
  /// Forgets the accesses; what was written stays.
  void forgetAccesses();

private:
  ShadowPage &make(uint64_t offset);
  uint64_t pages;
  std::atomic<uintptr_t> *table;
};

/// One allocation, live or freed.
struct Region {
  std::string name;
  uint64_t base = 0;
  uint64_t bytes = 0;
  /// Where the bytes are; equals `base` in global memory.
  char *host = nullptr;
  bool freed = false;
  std::unique_ptr<Shadow> shadow;

  bool holds(uint64_t address, uint64_t size) const {
    return address >= base && size <= bytes && address - base <= bytes - size;
  }
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_SHADOW_H
