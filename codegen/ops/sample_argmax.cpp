//===- sample_argmax.cpp - Lowering of insn.sample_argmax
//--------------------===//
#include "codegen/ops/RowBuilder.h"

using namespace tandem;
using namespace tandem::codegen;

using namespace mlir;

static Value invert(RowBuilder &k, Tile x) {
  return arith::XOrIOp::create(k.ops(), x.value,
                               k.likeInt(x, x.element(), ~uint64_t(0)).value);
}

/// One number for a logit and its column, whose order is the argmax's: the
/// logit's bits ordered as integers, with NaN above all and -0 equal to +0;
/// then the column's complement.
static Tile keyOf(RowBuilder &k, Tile x, Tile column) {
  ImplicitLocOpBuilder &b = k.ops();
  Type i64 = b.getI64Type();
  auto narrow = cast<RankedTensorType>(x.type().clone(b.getI32Type()));
  Tile bits = {arith::BitcastOp::create(b, narrow, (x + 0.0).value), &k};
  Tile sign = {arith::ShRSIOp::create(
                   b, bits.value, k.likeInt(bits, b.getI32Type(), 31).value),
               &k};
  Value flips = arith::OrIOp::create(
      b, sign.value, k.likeInt(bits, b.getI32Type(), 0x80000000).value);
  Tile ordered = {arith::XOrIOp::create(b, bits.value, flips), &k};
  ordered =
      k.select(isNan(x), k.likeInt(ordered, b.getI32Type(), ~0u), ordered);
  auto wide = cast<RankedTensorType>(ordered.type().clone(i64));
  Tile key = {arith::ExtUIOp::create(b, wide, ordered.value), &k};
  key.value =
      arith::ShLIOp::create(b, key.value, k.likeInt(key, i64, 32).value);
  Tile low = {arith::XOrIOp::create(b, column.value,
                                    k.likeInt(column, i64, 0xffffffff).value),
              &k};
  k.unify(key, low);
  return {arith::OrIOp::create(b, key.value, low.value), &k};
}

/// Behind a product, a row's columns lie in many CTAs: each leaves the largest
/// key, and the largest of these has the answer.
static void mergeParts(RowBuilder &k) {
  ImplicitLocOpBuilder &b = k.ops();
  Tile best = k.reduceMaxUnsigned(k.parts());
  auto narrow = cast<RankedTensorType>(best.type().clone(b.getI32Type()));
  Tile low = {arith::TruncIOp::create(b, narrow, best.value), &k};
  k.resultRaw({invert(k, low), &k});
}

/// What is greater than the result, or NaN, is the largest of a row: one
/// comparison for each column. The float below \p largest, for 0 that of either
/// sign; infinity below NaN; NaN below -infinity, which all columns then are.
static Tile below(RowBuilder &k, Tile largest) {
  ImplicitLocOpBuilder &b = k.ops();
  Type i32 = b.getI32Type();
  auto bitsType = cast<RankedTensorType>(largest.type().clone(i32));
  Value bits = arith::BitcastOp::create(b, bitsType, largest.value);
  auto number = [&](uint32_t value) {
    return k.likeInt(largest, i32, value).value;
  };
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits, number(0));
  Value step = arith::SelectOp::create(b, isNegative, number(1), number(~0u));
  Value next = arith::AddIOp::create(b, bits, step);
  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                       largest.value, k.like(largest, 0).value);
  next = arith::SelectOp::create(b, isZero, number(0x80000001), next);
  next = arith::SelectOp::create(b, isNan(largest).value, number(0x7f800000),
                                 next);
  return {arith::BitcastOp::create(b, largest.type(), next), &k};
}

/// The largest logit first, NaN above everything; then, among the columns that
/// hold it, the one with the largest complement, which is the lowest. -0 equals
/// +0, and where the largest is NaN, only NaN answers to it.
static void emit(RowBuilder &k) {
  ImplicitLocOpBuilder &b = k.ops();
  Type i32 = b.getI32Type();
  if (k.plan().plan.merges)
    return mergeParts(k);
  Tile x = k.input32(0);
  if (k.plan().plan.leavesParts())
    return k.leavePart(keyOf(k, x, k.spaceColumns()));
  Tile less = below(k, k.reduceMax(x));
  k.unify(x, less);
  Value isLargest =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, x.value, less.value);
  Tile column = k.spaceColumns();
  auto narrow = cast<RankedTensorType>(column.type().clone(i32));
  column.value = arith::TruncIOp::create(b, narrow, column.value);
  column.value = invert(k, column);
  Tile best = k.reduceMaxUnsigned(
      k.select({isLargest, &k}, column, k.likeInt(column, i32, 0)));
  k.resultRaw({invert(k, best), &k});
}

OpLowering codegen::lowering_sample_argmax() { return {emit}; }
