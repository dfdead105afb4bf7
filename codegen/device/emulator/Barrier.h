//===- Barrier.h - CTA barriers, and why they do not complete ---*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_BARRIER_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_BARRIER_H

#include "codegen/device/emulator/Exec.h"

namespace tandem::emulator {

/// Inst::mode of a Flow::Barrier.
enum class BarrierMode : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr };

/// The active lanes arrive. They wait unless the mode is Arrive; the barrier
/// may complete at once.
void arriveAtBarrier(Exec &x, const Inst &inst);

/// Lanes exited: barriers that wait for "all threads" may complete.
void completeAfterExit(Cta &cta);

/// No warp can run: one finding that says who waits where.
void reportDeadlock(Cta &cta);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_BARRIER_H
