//===- BulkCopy.h - Bulk copies and their groups ----------------*- C++ -*-===//
//
// A copy that an mbarrier counts arrives when somebody waits for its phase; one
// of a bulk group reads its source at the wait for that, and writes its target
// at the wait for the group, or when the block ends. In a seeded schedule it
// may do so at any time before.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_BULKCOPY_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_BULKCOPY_H

#include "codegen/device/emulator/async/Hazards.h"

namespace tandem::emulator {

enum class BulkReduce : uint8_t { None, Add, Min, Max, Inc, Dec, And, Or, Xor };

/// target[i] = target[i] op source[i]; a copy without an operation.
void reduceElements(BulkReduce op, MapType type, char *target,
                    const char *source, uint64_t count);

/// The operation that modifiers name.
BulkReduce reduceNamed(const std::vector<std::string_view> &parts);
/// The element type of a reduction; bytes of none.
MapType elementNamed(std::string_view name);

/// A copy that arrives at \p barrier of \p owner.
void addCopy(Exec &x, const Inst &inst, unsigned lane, Cta &owner,
             Mbarrier &barrier, BulkCopy copy);
/// A copy of the lane's open bulk group; `copy.readOp` is set.
void addToGroup(Exec &x, const Inst &inst, unsigned lane, BulkCopy copy);
/// The groups of a lane, with agents.
BulkGroups &groupsOf(Exec &x, unsigned lane);

void commitBulkGroup(Exec &x, const Inst &inst);
/// inst.imm groups may stay; inst.flags: only their sources have to be read.
void waitBulkGroup(Exec &x, const Inst &inst);

/// One operation of the cluster, chosen at random; false when there is none.
bool completeOne(Cluster &cluster);
/// The CTA has ended: what nobody waited for completes, and is reported where
/// it used the CTA's shared memory.
void finishAsync(Cta &cta);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_BULKCOPY_H
