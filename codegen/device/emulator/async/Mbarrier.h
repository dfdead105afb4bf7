//===- Mbarrier.h - Barriers in shared memory -------------------*- C++ -*-===//
//
// The counts are kept aside, and their image in the 8 bytes of shared memory: a
// kernel that writes over an mbarrier is found at the write, or at the next use
// when something else wrote there.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_MBARRIER_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_MBARRIER_H

#include "codegen/device/emulator/async/State.h"

namespace tandem::emulator {

/// The live mbarrier at \p address of \p space for lane \p lane of the warp in
/// execution, and its CTA; reports and gives null when there is none, when it
/// was overwritten, or when the lane cannot know that it was initialised.
Mbarrier *findMbarrier(Exec &x, const Inst &inst, unsigned lane, Space space,
                       uint64_t address, Cta *&owner);
/// The one at an offset of \p owner, without a word; null if there is none.
Mbarrier *mbarrierAt(Cta &owner, uint64_t offset);

/// Makes one; \p count arrivals a phase.
void initMbarrier(Exec &x, const Inst &inst, unsigned lane, uint64_t offset,
                  uint32_t count);
void invalidateMbarrier(Exec &x, const Inst &inst, unsigned lane,
                        Mbarrier &barrier);

/// \p count arrivals; with \p drops also in the phases to come.
void arriveAt(Exec &x, const Inst &inst, unsigned lane, Cta &owner,
              Mbarrier &barrier, uint32_t count, bool drops);
/// What an arrival by lane \p lane orders; before arriveAt.
void releaseAt(Exec &x, unsigned lane, Cta &owner, Mbarrier &barrier,
               Scope scope, bool isRelaxed);
/// Expects \p bytes more (or less, when some are complete).
void addBytes(Exec &x, const Inst &inst, unsigned lane, Cta &owner,
              Mbarrier &barrier, int64_t bytes);

/// Copies that complete at the barrier arrive, one after the other, if they can
/// complete the phase. All of them with \p all.
void completeCopies(Cluster &cluster, Cta &owner, Mbarrier &barrier, bool all);
/// One copy, any of them.
void completeCopy(Cluster &cluster, Cta &owner, Mbarrier &barrier, size_t i);

/// `the mbarrier at byte 8 of shared memory (phase 3 misses 1 of 2 arrivals and
/// 4096 bytes)`.
std::string describe(const Mbarrier &barrier);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_MBARRIER_H
