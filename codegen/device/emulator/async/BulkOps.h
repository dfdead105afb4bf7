//===- BulkOps.h - What decoded bulk copies do ------------------*- C++ -*-===//
//
// Slots of a decoded copy, from Inst::list on: three addresses of (register,
// offset, wide), the size, the multicast mask, then the coordinates.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_BULKOPS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_BULKOPS_H

#include "codegen/device/emulator/async/BulkCopy.h"

namespace tandem::emulator {

// Inst::mode: a BulkReduce. Inst::extra: a MapType. Inst::count: dims.
enum SlotIndex : uint32_t {
  sharedAt = 0,  // in shared memory: the target of loads, the source of stores
  otherAt = 3,   // the tensor map, or the other end of the copy
  barrierAt = 6, // the mbarrier
  sizeAt = 9,
  maskAt = 10,
  coordinatesAt = 11,
};

/// A box of a tensor map into shared memory.
void loadTensor(Exec &x, const Inst &i);
/// And back: a store or a reduction, in the lane's bulk group.
void storeTensor(Exec &x, const Inst &i);
void prefetchTensor(Exec &x, const Inst &i);
/// Global to shared memory.
void loadBytes(Exec &x, const Inst &i);
/// Own shared memory to that of a CTA of the cluster, perhaps a reduction.
void sendBytes(Exec &x, const Inst &i);
/// Shared to global memory.
void storeBytes(Exec &x, const Inst &i);
void prefetchBytes(Exec &x, const Inst &i);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_BULKOPS_H
