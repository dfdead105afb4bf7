//===- Wgmma.cpp - Products of tiles in shared memory ---------------------===//
//
// Four warps multiply 64 rows by all columns, 32 bytes of k at a time. Their
// accumulator stays one value of the llvm dialect, a struct, until it is
// awaited: each instruction adds to what the one before it left.
//
//===----------------------------------------------------------------------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;

/// Bytes of k in one instruction, whatever the type.
static constexpr int64_t stepBytes = 32;

/// PTX ISA, "Matrix descriptor": bits 0-13 address / 16; 16-29 the leading
/// dim's offset, unused with a pattern along k and 1 then; 32-45 bytes between
/// groups of 8 rows / 16; 62-63 the pattern, 1 for 128 bytes.
static constexpr uint64_t descriptorBits =
    uint64_t(1) << 16 |
    uint64_t(tile::sharedPatternRows * tile::sharedRowBytes / 16) << 32 |
    uint64_t(1) << 62;

Value Emitter::descriptor(Value byteOffset) {
  Value address = add(dynamicAddress(), byteOffset);
  address = LLVM::LShrOp::create(b, loc, address, constant(32, 4));
  return LLVM::OrOp::create(b, loc, toI64(address),
                            constant(64, int64_t(descriptorBits)));
}

/// Equal in all lanes of a warp, and the shuffle says so to ptxas: descriptors
/// then stay in uniform registers, and no product waits for a move to them.
Value Emitter::groupOfWarps() {
  if (group.ofWarps)
    return group.ofWarps;
  Value thread = threadId();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(thread);
  auto number = [&](int32_t value) {
    return LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                    b.getI32IntegerAttr(value));
  };
  Value mine = LLVM::LShrOp::create(
      b, loc, thread,
      number(llvm::Log2_32(warpsPerGroup * tile::lanesPerWarp)));
  group.ofWarps =
      NVVM::ShflOp::create(b, loc, mine.getType(), number(-1), mine, number(0),
                           number(31), NVVM::ShflKind::idx, UnitAttr());
  return group.ofWarps;
}

LogicalResult Emitter::emitAsyncDot(tile::AsyncDotOp op) {
  tile::SharedType a = op.getA().getType(), bT = op.getB().getType();
  const tile::LinearLayout &layout =
      tile::layoutOf(op.getResult().getType().getTile());
  const int64_t slabRows = 16 * layout.numWarps();
  Value first = multiply(groupOfWarps(), storeRows * tile::sharedRowBytes);
  Value descA = descriptor(add(get(op.getA())[0], first));
  Value descB = descriptor(get(op.getB())[0]);
  auto at = [&](Value desc, int64_t bytes) {
    return bytes ? add(desc, constant(64, bytes / 16)) : desc;
  };
  Registers sums;
  if (op.getAcc())
    sums = get(op.getAcc());
  Type sum = registerType(op.getResult().getType());
  const auto type =
      a.getElement().isF16() ? NVVM::WGMMATypes::f16 : NVVM::WGMMATypes::bf16;
  const int64_t k = stepBytes * 8 / a.getElement().getIntOrFloatBitWidth();
  auto shape =
      NVVM::MMAShapeAttr::get(b.getContext(), 64, int(bT.getRows()), int(k));
  NVVM::WgmmaFenceAlignedOp::create(b, loc);
  for (int64_t step = 0; step < tile::sharedRowBytes; step += stepBytes)
    for (int64_t slab = 0; slab < layout.repeat[0]; ++slab) {
      const bool isFirst = !op.getAcc() && step == 0;
      if (isFirst)
        sums.push_back(LLVM::UndefOp::create(b, loc, sum));
      sums[slab] = NVVM::WgmmaMmaAsyncOp::create(
          b, loc, sum, sums[slab],
          at(descA, step + slab * slabRows * tile::sharedRowBytes),
          at(descB, step), shape, type, type, NVVM::WGMMATypes::f32,
          isFirst ? NVVM::WGMMAScaleOut::zero : NVVM::WGMMAScaleOut::one,
          NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one,
          NVVM::MMALayout::row, NVVM::MMALayout::col,
          NVVM::MMAIntOverflowAttr());
    }
  NVVM::WgmmaGroupSyncAlignedOp::create(b, loc);
  set(op.getResult(), std::move(sums));
  return success();
}

/// Registers of the struct are those of the layout: 4 an 8-column block, blocks
/// along the columns, slabs along the rows.
LogicalResult Emitter::emitAwait(tile::AwaitOp op) {
  NVVM::WgmmaWaitGroupSyncOp::create(b, loc, 0);
  Registers registers;
  for (Value sum : get(op.getValue())) {
    auto parts = cast<LLVM::LLVMStructType>(sum.getType()).getBody();
    for (size_t i = 0; i < parts.size(); ++i)
      registers.push_back(
          LLVM::ExtractValueOp::create(b, loc, sum, int64_t(i)));
  }
  set(op.getResult(), std::move(registers));
  return success();
}

LogicalResult Emitter::emitColumns(tile::ColumnsOp op) {
  const tile::LinearLayout &from = tile::layoutOf(op.getValue().getType());
  const tile::LinearLayout &to = tile::layoutOf(op.getType());
  const Registers &all = get(op.getValue());
  const int64_t each = from.numLinearRegisters();
  const int64_t first = op.getStart() / from.linearShape()[tile::colDim];
  Registers registers;
  for (int64_t row = 0; row < to.repeat[0]; ++row)
    for (int64_t i = 0; i < to.repeat[1] * each; ++i)
      registers.push_back(all[(row * from.repeat[1] + first) * each + i]);
  set(op.getResult(), std::move(registers));
  return success();
}
