//===- Checker.h - Every access to memory goes through here -----*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_CHECKER_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_CHECKER_H

#include "codegen/device/emulator/Exec.h"

namespace tandem::emulator {

enum class AccessKind : uint8_t { Read, Write, Atomic };

/// The outcome of a checked access by a warp.
struct Accessible {
  /// Lanes whose access is allowed; the others read 0 and write nothing.
  uint32_t lanes = 0;
  /// Host address of lane 0 when all 32 lanes are consecutive, else null.
  char *contiguous = nullptr;
  /// Host address by lane, when not contiguous.
  char *host[warpSize];
};

/// Checks an access of \p size bytes a lane at \p address in \p space, records
/// it and says where the bytes are. \p scope is that of atomic, volatile,
/// relaxed and stronger accesses, which do not race with each other within it;
/// with Inst::order they also synchronise.
void checkAccess(Exec &x, const Inst &inst, Space space,
                 const uint64_t *address, unsigned size, AccessKind kind,
                 Scope scope, Accessible &out);

/// The addresses of the active lanes of a memory instruction: base + offset.
inline void addressesOf(Exec &x, const Inst &inst, uint64_t *address) {
  if (inst.wideAddress) {
    const uint64_t *a = x.lanes<uint64_t>(inst.a);
    for (int l = 0; l < warpSize; ++l)
      address[l] = a[l] + static_cast<uint64_t>(inst.imm);
  } else {
    const uint32_t *a = x.lanes<uint32_t>(inst.a);
    for (int l = 0; l < warpSize; ++l)
      address[l] = uint32_t(a[l] + static_cast<uint32_t>(inst.imm));
  }
}

/// A shared-memory access of one lane at an offset, outside the lane loop of an
/// instruction (cp.async completion).
void recordShared(Exec &x, const Inst &inst, unsigned lane, uint64_t offset,
                  unsigned size, AccessKind kind);

/// An access of one lane inside \p region, as checkAccess records it.
void recordAccess(Exec &x, const Inst &inst, const Region &region,
                  uint64_t offset, unsigned size, unsigned lane,
                  AccessKind kind, Scope scope);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_CHECKER_H
