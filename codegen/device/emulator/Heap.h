//===- Heap.h - Device memory on the host -----------------------*- C++ -*-===//
//
// Addresses are never used twice, so a stale pointer is always recognised, and
// gaps lie between allocations. Memory is reserved and touched lazily: a view
// of 20 GB costs the pages that a kernel uses.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_HEAP_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_HEAP_H

#include "codegen/device/emulator/Shadow.h"
#include "refops/core/Result.h"

#include <deque>
#include <map>
#include <string_view>

namespace tandem::emulator {

class Heap {
public:
  Heap() = default;
  ~Heap();
  Heap(const Heap &) = delete;
  Heap &operator=(const Heap &) = delete;

  Result<uint64_t> allocate(uint64_t bytes, std::string_view name);
  Result<void> release(uint64_t address);
  /// The allocation that holds the whole range, or why there is none; \p what
  /// begins the message.
  Result<Region *> find(uint64_t address, uint64_t bytes,
                        std::string_view what);
  Result<void> fill(uint64_t address, uint8_t byte, uint64_t bytes,
                    bool initialised);

  /// Live and recently freed allocations, by address.
  std::vector<const Region *> regions() const;
  /// Forgets all accesses, when the stamps run out.
  void forgetAccesses();

private:
  struct Arena {
    char *base = nullptr;
    uint64_t bytes = 0, used = 0;
    size_t live = 0;
  };
  Result<char *> reserve(uint64_t bytes);
  void freeArena(size_t index);

  std::map<uint64_t, std::unique_ptr<Region>> live;
  std::map<uint64_t, size_t> arenaOf; // by region base
  std::deque<std::unique_ptr<Region>> freed;
  static constexpr size_t noArena = ~size_t(0);
  std::vector<Arena> arenas;
  size_t current = noArena;            // where small allocations come from
  std::map<uint8_t, int> patternFiles; // by byte
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_HEAP_H
