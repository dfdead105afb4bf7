//===- sample_argmax.cpp - Lowering of insn.sample_argmax
//--------------------===//
#include "codegen/ops/RowBuilder.h"

using namespace tandem;
using namespace tandem::codegen;

using namespace mlir;

/// Each logit becomes a key that orders as unsigned: the f32 order, with -0 as
/// +0 and NaN above everything; below it the complement of the column, so that
/// among equal keys the lowest column is the largest.
static Tile orderedKey(RowBuilder &k, Tile x) {
  ImplicitLocOpBuilder &b = k.ops();
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  x = x + 0.0; // -0 becomes +0
  auto intType = cast<RankedTensorType>(x.type().clone(i32));
  Tile bits = {arith::BitcastOp::create(b, intType, x.value), &k};
  Tile sign = {
      arith::ShRSIOp::create(b, bits.value, k.likeInt(bits, i32, 31).value),
      &k};
  // Negative: all bits flip; otherwise only the sign does.
  Value flip = arith::OrIOp::create(b, sign.value,
                                    k.likeInt(bits, i32, 0x80000000).value);
  Tile ordered = {arith::XOrIOp::create(b, bits.value, flip), &k};
  ordered = k.select(isNan(x), k.likeInt(bits, i32, 0xffffffff), ordered);
  auto wide = cast<RankedTensorType>(x.type().clone(i64));
  Tile high = {arith::ExtUIOp::create(b, wide, ordered.value), &k};
  return {arith::ShLIOp::create(b, high.value, k.likeInt(high, i64, 32).value),
          &k};
}

static void emit(RowBuilder &k) {
  ImplicitLocOpBuilder &b = k.ops();
  Type i64 = b.getI64Type();
  Tile key = orderedKey(k, k.input32(0));
  Tile column = k.spaceColumns();
  k.unify(key, column);
  Tile lowBits = k.likeInt(column, i64, 0xffffffff);
  Value complement = arith::XOrIOp::create(b, column.value, lowBits.value);
  Tile packed = {arith::OrIOp::create(b, key.value, complement), &k};
  Tile best = k.reduceMaxUnsigned(packed);
  Value index = arith::XOrIOp::create(b, best.value,
                                      k.likeInt(best, i64, 0xffffffff).value);
  auto i32 = cast<RankedTensorType>(best.type().clone(b.getI32Type()));
  k.resultRaw({arith::TruncIOp::create(b, i32, index), &k});
}

OpLowering codegen::lowering_sample_argmax() { return {emit}; }
