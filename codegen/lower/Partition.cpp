//===- Partition.cpp - Groups of warps that do different things -----------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;

static constexpr int64_t registerFile = 65536;

/// Whether the region's values are the same in all threads, so that one can do
/// its work.
static bool holdsNoTile(Region &region) {
  return !region
              .walk([](Operation *op) {
                for (Type type : op->getResultTypes())
                  if (tile::isTile(type) || isa<tile::PendingType>(type))
                    return WalkResult::interrupt();
                return WalkResult::advance();
              })
              .wasInterrupted();
}

LogicalResult Emitter::emitPartition(tile::PartitionOp op) {
  if (smVersion < 90)
    return op.emitOpError() << "needs sm_90a";
  initialiseRings();
  // Equal in all lanes, and the shuffle says so to ptxas.
  Value warp = LLVM::LShrOp::create(b, loc, threadId(), constant(32, 5));
  warp = NVVM::ShflOp::create(b, loc, warp.getType(), constant(32, -1), warp,
                              constant(32, 0), constant(32, 31),
                              NVVM::ShflKind::idx, UnitAttr());
  Block *done = newBlock();
  int first = 0;
  for (Region &region : op.getGroups()) {
    const unsigned index = region.getRegionNumber();
    const int warps = op.getWarps()[index];
    Block *inside = newBlock();
    if (first + warps == numWarps) {
      branchTo(inside);
      b.setInsertionPointToStart(inside);
      if (failed(emitGroup(op, region, first, warp, done)))
        return failure();
      break;
    }
    Block *next = newBlock();
    Value isMine = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, warp,
                                        constant(32, first + warps));
    LLVM::CondBrOp::create(b, loc, isMine, inside, ValueRange{}, next,
                           ValueRange{});
    b.setInsertionPointToStart(inside);
    if (failed(emitGroup(op, region, first, warp, done)))
      return failure();
    b.setInsertionPointToStart(next);
    first += warps;
  }
  done->moveBefore(&function.getBody(), function.getBody().end());
  b.setInsertionPointToStart(done);
  // No CTA leaves while another may signal its barriers or fill its stages.
  if (cluster > 1) {
    NVVM::ClusterArriveRelaxedOp::create(b, loc, UnitAttr());
    NVVM::ClusterWaitOp::create(b, loc, UnitAttr());
  }
  return success();
}

LogicalResult Emitter::emitGroup(tile::PartitionOp op, Region &region,
                                 int first, Value warp, Block *done) {
  const unsigned index = region.getRegionNumber();
  const int registers = op.getRegisters()[index];
  // What a thread has at launch: an equal share.
  const int64_t share = llvm::alignDown(
      registerFile / (int64_t(numWarps) * tile::lanesPerWarp), 8);
  NVVM::SetMaxRegisterOp::create(b, loc, uint32_t(registers),
                                 registers > share
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
  if (holdsNoTile(region)) {
    auto enterIf = [&](Value condition) {
      Block *inside = newBlock();
      LLVM::CondBrOp::create(b, loc, condition, inside, ValueRange{}, done,
                             ValueRange{});
      b.setInsertionPointToStart(inside);
    };
    enterIf(LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, warp,
                                 constant(32, first)));
    enterIf(NVVM::ElectSyncOp::create(b, loc, b.getI1Type(), Value()));
  }
  // Threads are numbered from the group's first one.
  GroupState outer = std::move(group);
  group = GroupState();
  group.index = int(index);
  group.firstWarp = first;
  group.warps = op.getWarps()[index];
  if (failed(emitBlock(region.front())))
    return failure();
  bool stores = false;
  region.walk([&](tile::AsyncStoreOp) { stores = true; });
  if (stores)
    NVVM::CpAsyncBulkWaitGroupOp::create(b, loc, 0, b.getUnitAttr());
  branchTo(done);
  group = std::move(outer);
  return success();
}

void Emitter::barrier() {
  if (group.warps == 0) {
    NVVM::Barrier0Op::create(b, loc);
    return;
  }
  NVVM::BarrierOp::create(b, loc, Type(), constant(32, group.index + 1),
                          constant(32, group.warps * tile::lanesPerWarp),
                          NVVM::BarrierReductionAttr(), Value());
}
