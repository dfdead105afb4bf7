//===- sample_argmax.cpp - Lowering of insn.sample_argmax
//--------------------===//
#include "codegen/ops/RowBuilder.h"

using namespace tandem;
using namespace tandem::codegen;

using namespace mlir;

/// The largest logit first, NaN above everything; then, among the columns that
/// hold it, the one with the largest complement, which is the lowest. -0 equals
/// +0, and where the largest is NaN, only NaN answers to it.
static void emit(RowBuilder &k) {
  ImplicitLocOpBuilder &b = k.ops();
  Type i32 = b.getI32Type();
  Tile x = k.input32(0);
  Tile largest = k.reduceMax(x);
  k.unify(x, largest);
  Value isLargest = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x.value,
                                          largest.value);
  isLargest = arith::OrIOp::create(b, isLargest, isNan(x).value);
  Tile column = k.spaceColumns();
  auto narrow = cast<RankedTensorType>(column.type().clone(i32));
  column.value = arith::TruncIOp::create(b, narrow, column.value);
  column.value =
      arith::XOrIOp::create(b, column.value, k.likeInt(column, i32, ~0u).value);
  Tile best = k.reduceMaxUnsigned(
      k.select({isLargest, &k}, column, k.likeInt(column, i32, 0)));
  k.resultRaw(
      {arith::XOrIOp::create(b, best.value, k.likeInt(best, i32, ~0u).value),
       &k});
}

OpLowering codegen::lowering_sample_argmax() { return {emit}; }
