//===- AsyncStore.cpp - Tiles to global memory through shared memory ------===//
//
// For each box of 64 rows of a group of four warps: wait until the buffer's
// last box has been read out, write the box with stmatrix, make it visible to
// the copy engine, and let one thread start the copy.
//
//===----------------------------------------------------------------------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;

/// Columns of one stmatrix of four 8x8 matrices, and their bytes.
static constexpr int64_t matrixCols = 16;
static constexpr int64_t matrixBytes = 32;
/// Named barriers of the groups of four warps; regions have the ones before.
static constexpr int firstGroupBarrier = 8;

/// Where this lane writes within a box: lane l has row l mod 16 of its warp's
/// 16, and 16-byte chunk l / 16, in the pattern of rows.
Value Emitter::matrixOffset() {
  Value lane = andBits(threadId(), constant(32, 31));
  Value row = andBits(lane, constant(32, 15));
  Value chunk = LLVM::LShrOp::create(b, loc, lane, constant(32, 4));
  chunk = LLVM::XOrOp::create(b, loc, chunk, andBits(lane, constant(32, 7)));
  Value warp = LLVM::LShrOp::create(b, loc, threadId(), constant(32, 5));
  warp = andBits(warp, constant(32, warpsPerGroup - 1));
  Value offset = add(multiply(row, tile::sharedRowBytes), multiply(chunk, 16));
  return add(offset, multiply(warp, 16 * tile::sharedRowBytes));
}

LogicalResult Emitter::emitAsyncStore(tile::AsyncStoreOp op) {
  RankedTensorType type = op.getValue().getType();
  const tile::LinearLayout &layout = tile::layoutOf(type);
  const AsyncPlan::Store &store = asyncPlan.storeOf(op);
  const Registers &all = get(op.getValue());
  const int64_t boxes = boxesOfGroup(op);
  const int64_t each = int64_t(all.size()) / boxes;
  Value group = groupOfWarps();
  Value threads = constant(32, warpsPerGroup * tile::lanesPerWarp);
  Value barrierId = add(group, constant(32, firstGroupBarrier));
  auto meet = [&] {
    NVVM::BarrierOp::create(b, loc, Type(), barrierId, threads,
                            NVVM::BarrierReductionAttr(), Value());
  };
  Value inBox = matrixOffset();
  Value isLeader = LLVM::ICmpOp::create(
      b, loc, LLVM::ICmpPredicate::eq,
      andBits(threadId(), constant(32, warpsPerGroup * tile::lanesPerWarp - 1)),
      constant(32, 0));
  Value buffers = add(multiply(group, store.buffers * storeBytes),
                      constant(32, store.base));
  auto pairType = VectorType::get({2}, type.getElementType());
  auto word = [&](int64_t at) -> Value {
    Value pair = LLVM::PoisonOp::create(b, loc, pairType);
    for (int half : {0, 1})
      pair = LLVM::InsertElementOp::create(b, loc, pair, all[at + half],
                                           constant(32, half));
    return LLVM::BitcastOp::create(b, loc, b.getI32Type(), pair);
  };
  for (int64_t box = 0; box < boxes; ++box) {
    const int64_t turn = (store.first + box) % store.buffers;
    Value buffer =
        turn ? add(buffers, constant(32, turn * storeBytes)) : buffers;
    // Only the leader has copies to wait for.
    NVVM::CpAsyncBulkWaitGroupOp::create(b, loc, store.buffers - 1,
                                         b.getUnitAttr());
    meet();
    for (int64_t col = 0; col < type.getDimSize(1); col += matrixCols) {
      SmallVector<Value> words;
      const int64_t first = box * each + col / 2;
      for (int64_t i = 0; i < 8; i += 2)
        words.push_back(word(first + i));
      Value at = inBox;
      if (col)
        at = LLVM::XOrOp::create(b, loc, at,
                                 constant(32, col / matrixCols * matrixBytes));
      NVVM::StMatrixOp::create(
          b, loc, dynamicPointer(add(buffer, at)), words, NVVM::MMALayout::row,
          NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
          NVVM::LdStMatrixEltType::B16);
    }
    NVVM::FenceProxyOp::create(
        b, loc, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(b.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    meet();
    guarded(isLeader, {}, [&]() -> Registers {
      Value row = add(scalar(op.getRow()), multiply(group, storeRows));
      if (box)
        row = add(row, constant(32, box * 16 * layout.numWarps()));
      NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
          b, loc, scalar(op.getMap()), dynamicPointer(buffer),
          ValueRange{scalar(op.getCol()), row}, Value(),
          NVVM::TMAStoreMode::TILE, Value());
      NVVM::CpAsyncBulkCommitGroupOp::create(b, loc);
      return {};
    });
  }
  return success();
}
