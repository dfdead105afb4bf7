//===- AsyncPlan.cpp - Dynamic shared memory of a kernel ------------------===//
#include "codegen/lower/AsyncPlan.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;

/// Shared memory of a CTA on sm_90.
static constexpr int64_t sharedLimit = 227 * 1024;
/// The pattern of 16-byte chunks repeats every 8 rows of 128 bytes.
static constexpr int64_t patternBytes =
    tile::sharedPatternRows * tile::sharedRowBytes;
static constexpr int64_t barrierBytes = 8;

int64_t tandem::lower::boxesOfGroup(tile::AsyncStoreOp store) {
  RankedTensorType type = store.getValue().getType();
  return type.getDimSize(0) / (16 * tile::layoutOf(type).numWarps());
}

/// The region of a partition that \p op runs in, and its warps.
static std::pair<Region *, int> groupOf(Operation *op) {
  Region *region = op->getParentRegion();
  while (!isa<tile::PartitionOp>(region->getParentOp()))
    region = region->getParentOp()->getParentRegion();
  auto partition = cast<tile::PartitionOp>(region->getParentOp());
  return {region, partition.getWarps()[region->getRegionNumber()]};
}

LogicalResult AsyncPlan::build(Operation *kernel, int64_t staticBytes) {
  auto take = [&](int64_t size, int64_t align) {
    const int64_t at = llvm::alignTo(bytes, align);
    bytes = at + size;
    return at;
  };
  kernel->walk([&](tile::RingOp op) {
    Ring &ring = rings[op];
    ring.type = op.getRing().getType();
    ring.stages =
        take(ring.type.getStages() * ring.type.getStageBytes(), patternBytes);
  });
  // Boxes of a region take turns in two buffers, so that one is converted while
  // the other is read out; an odd number of them would meet itself in the next
  // round of a loop, and has one buffer.
  llvm::MapVector<Region *, SmallVector<tile::AsyncStoreOp>> byRegion;
  WalkResult placed = kernel->walk([&](tile::AsyncStoreOp op) {
    if (!op->getParentOfType<tile::PartitionOp>()) {
      op.emitOpError() << "stands in a region of a partition";
      return WalkResult::interrupt();
    }
    byRegion[groupOf(op).first].push_back(op);
    return WalkResult::advance();
  });
  if (placed.wasInterrupted())
    return failure();
  for (auto &[region, ops] : byRegion) {
    int64_t boxes = 0;
    for (tile::AsyncStoreOp op : ops)
      boxes += boxesOfGroup(op);
    const int buffers = boxes % 2 ? 1 : 2;
    const int groups = groupOf(ops.front()).second / warpsPerGroup;
    const int64_t base = take(groups * buffers * storeBytes, patternBytes);
    int64_t next = 0;
    for (tile::AsyncStoreOp op : ops) {
      stores[op] = {base, next, buffers};
      next += boxesOfGroup(op);
    }
  }
  for (auto &[op, ring] : rings) {
    const int64_t size = ring.type.getStages() * barrierBytes;
    ring.full = take(size, barrierBytes);
    ring.empty = take(size, barrierBytes);
    for (Operation *user : op->getUsers())
      if (isa<tile::ReleaseOp>(user) &&
          user->getParentOfType<tile::PartitionOp>())
        ring.releasingWarps = groupOf(user).second;
    if (!ring.releasingWarps)
      return op->emitOpError() << "has a region that releases its turns";
  }
  if (bytes + staticBytes > sharedLimit)
    return kernel->emitOpError()
           << "takes " << bytes + staticBytes
           << " bytes of shared memory, but a CTA has " << sharedLimit;
  return success();
}
