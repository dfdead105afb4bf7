//===- Hazards.h - Asynchronous accesses that nothing orders ----*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_HAZARDS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_HAZARDS_H

#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/async/State.h"

#include <span>

namespace tandem::emulator {

/// Threads that start an operation together: it comes after what any of them
/// comes after.
struct Starter {
  Warp *warp = nullptr;
  unsigned lane = 0;
};

/// A new operation of \p kind by the first starter.
AsyncOp &startOp(Exec &x, const Inst &inst, unsigned lane, AsyncKind kind,
                 uint64_t agent, uint32_t number);

/// Records that \p op accesses [offset, offset + bytes) of the shared memory of
/// \p owner from now on until it completes, and reports what it conflicts with:
/// other accesses that it is not ordered after, and ordinary writes that the
/// async proxy does not see yet.
void asyncAccess(Exec &x, const Inst &inst, std::span<const Starter> starters,
                 Cta &owner, uint64_t offset, uint64_t bytes,
                 const AsyncOp &op);

/// Reports the first byte of what an operation reads that was never written.
void checkSourceWritten(Exec &x, const Inst &inst, unsigned lane, Cta &owner,
                        uint64_t offset, uint64_t bytes);
/// Whether a copy that has not arrived writes there.
bool isCopyUnderWay(const Exec &x, const Region &region, uint64_t offset,
                    uint64_t bytes);

/// The same for global memory that an operation reads: bounds, values, and
/// ordinary writes of this launch. False when it is outside.
bool asyncReadsGlobal(Exec &x, const Inst &inst, unsigned lane,
                      uint64_t address, uint64_t bytes);
/// Writes are recorded as the starting thread's; a reduction's as those of
/// relaxed atomics.
bool asyncWritesGlobal(Exec &x, const Inst &inst, unsigned lane,
                       uint64_t address, uint64_t bytes, bool isReduction);

/// An ordinary access of \p lanes to the shared memory of \p owner: does it
/// conflict with an asynchronous one, or write over an mbarrier?
void checkAgainstAsync(Exec &x, const Inst &inst, Cta &owner,
                       const uint64_t *offset, uint32_t lanes, unsigned size,
                       AccessKind kind);

/// fence.proxy.async: what the active lanes know becomes visible to the async
/// proxy.
void fenceAsyncProxy(Exec &x);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_HAZARDS_H
