//===- Shadow.h - What the checker remembers of each byte -------*- C++ -*-===//
//
// Memory is shadowed by pages of 4 KiB, made when first needed (ShadowPage.h):
// which bytes have been written, and the last accesses of each place.
//
// An access is an id of 64 bits:
//
//   stamp:32 | warp:5 | lane:5 | scope:2 | clock:20
//
// The stamp names the CTA of one launch and only grows, so nothing is cleared
// between launches: an older stamp is no access. The clock is the CTA's counter
// of synchronisations; Clocks.h says what is ordered with what.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_SHADOW_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_SHADOW_H

#include "codegen/device/emulator/Types.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tandem::emulator {

inline constexpr uint64_t pageBytes = 4096;

using AccessId = uint64_t;
inline constexpr unsigned clockBits = 20;
inline constexpr uint64_t clockMask = (1u << clockBits) - 1;
inline constexpr unsigned laneShift = clockBits + 2;
inline constexpr unsigned warpShift = laneShift + 5;

inline uint64_t scopeBits(Scope scope) { return uint64_t(scope) << clockBits; }
inline Scope scopeOf(AccessId id) {
  return static_cast<Scope>(id >> clockBits & 3);
}
inline unsigned laneOf(AccessId id) { return (id >> laneShift) & 31; }
inline unsigned warpOf(AccessId id) { return (id >> warpShift) & 31; }
inline uint64_t stampOf(AccessId id) { return id >> 32; }

struct ShadowPage; // ShadowPage.h
struct SyncCell;   // Clocks.h

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
  /// The page that holds \p offset, or null when there is none yet.
  ShadowPage *peek(uint64_t offset) const {
    uintptr_t entry = table[offset / pageBytes].load(std::memory_order_acquire);
    return entry > 1 ? reinterpret_cast<ShadowPage *>(entry) : nullptr;
  }
  /// Whether all of the range was written.
  bool isWritten(uint64_t offset, uint64_t bytes) const;
  /// Marks a range as written or as never written.
  void mark(uint64_t offset, uint64_t bytes, bool written);
  /// The first byte of the range that was never written, or \p bytes.
  uint64_t firstUnwritten(uint64_t offset, uint64_t bytes) const;
  /// Forgets that anything was written; the accesses stay.
  void clearWritten();
  /// Forgets the accesses; what was written stays.
  void forgetAccesses();

  /// Where threads synchronise through this memory (Clocks.h); null at first.
  std::unique_ptr<std::unordered_map<uint64_t, SyncCell>> sync;

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
  bool isShared = false;
  /// Shared memory is used again: accesses of older stamps are none.
  uint64_t oldestStamp = 0;
  std::unique_ptr<Shadow> shadow;

  bool holds(uint64_t address, uint64_t size) const {
    return address >= base && size <= bytes && address - base <= bytes - size;
  }
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_SHADOW_H
