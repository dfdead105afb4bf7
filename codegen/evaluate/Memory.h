//===- Memory.h - Allocations of the tile device ----------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_EVALUATE_MEMORY_H
#define TANDEM_CODEGEN_EVALUATE_MEMORY_H

#include "refops/core/Result.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tandem::evaluate {

/// Host memory whose addresses are device addresses; each access is checked
/// against the allocation that holds it.
class Memory {
public:
  Result<uint64_t> allocate(uint64_t bytes, std::string_view name);
  Result<void> release(uint64_t address);
  /// The host address of \p bytes at \p address, which lie in one allocation;
  /// null otherwise.
  std::byte *find(uint64_t address, uint64_t bytes);
  /// `x, 64 bytes at 0x..., 8 bytes after its end`; empty if none is near.
  std::string nearest(uint64_t address) const;
  Result<std::byte *> expect(uint64_t address, uint64_t bytes,
                             std::string_view what);

private:
  struct Free {
    void operator()(std::byte *block) const { std::free(block); }
  };
  struct Allocation {
    uint64_t bytes = 0;
    std::string name;
    std::unique_ptr<std::byte, Free> block;
  };
  std::map<uint64_t, Allocation> allocations;
  const std::pair<const uint64_t, Allocation> *last = nullptr;
};

} // namespace tandem::evaluate

#endif // TANDEM_CODEGEN_EVALUATE_MEMORY_H
