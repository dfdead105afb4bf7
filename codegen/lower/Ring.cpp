//===- Ring.cpp - Stages in shared memory, their barriers and copies ------===//
//
// Turn t uses stage t mod S. The stage's full and empty barriers complete one
// phase a turn: a reader of turn t waits for phase t / S of the full barrier, a
// writer for phase t / S - 1 of the empty one. Barriers are waited for by the
// parity of that number; waiting for the phase before the first one passes.
//
// Arrivals at another CTA's barrier have CTA scope: a release at cluster scope
// is a GPU-wide fence in every step of k. What it protects is a read of shared
// memory by the tensor core that wgmma.wait_group has already completed.
//
//===----------------------------------------------------------------------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;

/// Suffix of the symbol of a kernel's dynamic shared memory.
static constexpr llvm::StringLiteral dynamicSuffix = "_dynamic";
static constexpr int64_t dynamicAlign = 1024;

/// The policies that createpolicy.fractional gives for all of what is read.
static constexpr int64_t evictFirst = 0x12F0000000000000;
static constexpr int64_t evictLast = 0x14F0000000000000;

void Emitter::declareDynamic() {
  auto none = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  LLVM::GlobalOp::create(b, loc, none, /*isConstant=*/false,
                         LLVM::Linkage::External,
                         (kernel.getName() + dynamicSuffix).str(), Attribute(),
                         dynamicAlign, /*addrSpace=*/3);
}

Value Emitter::dynamicBase() {
  if (!dynamic) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(prologue);
    dynamic = LLVM::AddressOfOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext(), 3),
        (kernel.getName() + dynamicSuffix).str());
  }
  return dynamic;
}

Value Emitter::dynamicAddress() {
  if (!dynamicInt) {
    Value base = dynamicBase();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologue->getTerminator());
    dynamicInt = LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), base);
  }
  return dynamicInt;
}

Value Emitter::dynamicPointer(Value byteOffset) {
  Value base = dynamicBase();
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             ValueRange{byteOffset});
}

Value Emitter::multiply(Value a, int64_t by) {
  return by == 1 ? a : LLVM::MulOp::create(b, loc, a, constant(32, by));
}

Value Emitter::clusterRank() {
  Value id = NVVM::BlockIdXOp::create(b, loc, b.getI32Type());
  return LLVM::URemOp::create(b, loc, id, constant(32, cluster));
}

/// Thread 0 makes the barriers of all rings, and their tensor maps are on
/// their way when the first copy needs them.
void Emitter::initialiseRings() {
  Value isFirst = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq,
                                       threadId(), constant(32, 0));
  guarded(isFirst, {}, [&]() -> Registers {
    for (BlockArgument argument : kernel.getArguments())
      if (isa<tile::MapType>(argument.getType()))
        NVVM::PrefetchOp::create(b, loc, NVVM::PrefetchCacheLevelAttr(),
                                 NVVM::CacheEvictionPriorityAttr(),
                                 scalar(argument), Value(), /*tensormap=*/true,
                                 /*uniform=*/false, /*in_param_space=*/true);
    for (const auto &[op, ring] : asyncPlan.allRings())
      for (int64_t stage = 0; stage < ring.type.getStages(); ++stage) {
        auto make = [&](int64_t barriers, int64_t count) {
          NVVM::MBarrierInitOp::create(
              b, loc, dynamicPointer(constant(32, barriers + 8 * stage)),
              constant(32, count), Value());
        };
        make(ring.full, 1);
        make(ring.empty, int64_t(ring.releasingWarps) * cluster);
      }
    NVVM::FenceMbarrierInitOp::create(b, loc);
    return {};
  });
  if (cluster == 1)
    return barrier();
  // Relaxed: the fence has ordered the barriers; the plain form would add a
  // GPU-wide one.
  NVVM::ClusterArriveRelaxedOp::create(b, loc, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, loc, b.getUnitAttr());
}

Emitter::Turn Emitter::turnOf(const AsyncPlan::Ring &ring, Value turn) {
  Value stages = constant(32, ring.type.getStages());
  Value stage = LLVM::URemOp::create(b, loc, turn, stages);
  Value round = LLVM::UDivOp::create(b, loc, turn, stages);
  return {stage, andBits(round, constant(32, 1))};
}

Value Emitter::barrierOffset(int64_t barriers, Value stage) {
  return add(multiply(stage, 8), constant(32, barriers));
}

/// try_wait suspends the thread for a while; until the phase has ended.
void Emitter::waitParity(Value barrier, Value parity) {
  Block *again = newBlock(), *after = newBlock();
  branchTo(again);
  b.setInsertionPointToStart(again);
  Value isDone = NVVM::MBarrierTryWaitOp::create(b, loc, b.getI1Type(), barrier,
                                                 parity, Value());
  LLVM::CondBrOp::create(b, loc, isDone, after, ValueRange{}, again,
                         ValueRange{});
  b.setInsertionPointToStart(after);
}

void Emitter::setParts(ValueRange parts, const AsyncPlan::Ring &ring,
                       Value stage, Value full) {
  Value first = add(multiply(stage, ring.type.getStageBytes()),
                    constant(32, ring.stages));
  for (auto [index, part] : llvm::enumerate(parts)) {
    const int64_t offset = ring.type.getPartOffset(index);
    set(part, {offset ? add(first, constant(32, offset)) : first, full});
  }
}

LogicalResult Emitter::emitAcquire(tile::AcquireOp op) {
  const AsyncPlan::Ring &ring = asyncPlan.ringOf(op.getRing());
  Turn turn = turnOf(ring, scalar(op.getTurn()));
  Value free = LLVM::XOrOp::create(b, loc, turn.parity, constant(32, 1));
  waitParity(dynamicPointer(barrierOffset(ring.empty, turn.stage)), free);
  Value full = barrierOffset(ring.full, turn.stage);
  NVVM::MBarrierArriveExpectTxOp::create(
      b, loc, Type(), dynamicPointer(full),
      constant(32, ring.type.getStageBytes()), NVVM::MemScopeKind::CTA,
      /*relaxed=*/false, Value());
  setParts(op.getParts(), ring, turn.stage, full);
  return success();
}

LogicalResult Emitter::emitReceive(tile::ReceiveOp op) {
  const AsyncPlan::Ring &ring = asyncPlan.ringOf(op.getRing());
  Turn turn = turnOf(ring, scalar(op.getTurn()));
  Value full = barrierOffset(ring.full, turn.stage);
  waitParity(dynamicPointer(full), turn.parity);
  setParts(op.getParts(), ring, turn.stage, full);
  return success();
}

/// One lane of each warp for each CTA of the cluster: all of them wait for the
/// readers of what they copy to all.
LogicalResult Emitter::emitRelease(tile::ReleaseOp op) {
  const AsyncPlan::Ring &ring = asyncPlan.ringOf(op.getRing());
  NVVM::WgmmaWaitGroupSyncOp::create(b, loc, op.getPending());
  Turn turn = turnOf(ring, scalar(op.getTurn()));
  Value lane = andBits(threadId(), constant(32, tile::lanesPerWarp - 1));
  Value signals = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, lane,
                                       constant(32, cluster));
  guarded(signals, {}, [&]() -> Registers {
    Value empty = dynamicPointer(barrierOffset(ring.empty, turn.stage));
    if (cluster == 1) {
      NVVM::MBarrierArriveOp::create(b, loc, b.getI64Type(), empty, Value());
      return {};
    }
    Value far = NVVM::MapaOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext(), 7), empty, lane);
    NVVM::MBarrierArriveOp::create(b, loc, Type(), far, Value());
    return {};
  });
  return success();
}

LogicalResult Emitter::emitAsyncCopy(tile::AsyncCopyOp op) {
  const Registers &stage = get(op.getStage());
  Value offset = stage[0], full = dynamicPointer(stage[1]);
  Value row = scalar(op.getRow()), mask;
  const int64_t rows = op.getMap().getType().getRows();
  if (op.getMulticast() && cluster > 1) {
    Value first = multiply(clusterRank(), rows);
    row = add(row, first);
    offset = add(offset, multiply(first, tile::sharedRowBytes));
    mask = constant(16, (int64_t(1) << cluster) - 1);
  }
  Value hint;
  if (!op.getCache().empty())
    hint =
        constant(64, op.getCache() == "evict_first" ? evictFirst : evictLast);
  // The cluster's window of shared memory holds this CTA's.
  Value to = LLVM::AddrSpaceCastOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 7),
      dynamicPointer(offset));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, loc, to, scalar(op.getMap()), ValueRange{scalar(op.getCol()), row},
      full, ValueRange{}, mask, hint, NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), Value());
  return success();
}
