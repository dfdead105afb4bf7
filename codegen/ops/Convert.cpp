//===- Convert.cpp - Conversions between element types, as COPY does ------===//
//
// Float to float: exact, or one rounding to nearest-even. Integer to float: one
// rounding; types of 16 bits and less go through an f32 that is rounded to odd,
// so that the second rounding cannot see a tie that the integer did not have.
// Float to integer: truncates, saturates, NaN becomes 0. Integer to integer:
// saturates.
//
//===----------------------------------------------------------------------===//
#include "codegen/ops/RowBuilder.h"

#include <limits>

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

namespace {
class Converter {
public:
  Converter(RowBuilder &k) : k(k), b(k.ops()) {}

  Tile run(DType from, DType to, Tile value) {
    if (from == to)
      return value;
    if (isFloat(from))
      return isFloat(to) ? narrow(to, widen(from, value))
                         : toInteger(to, widen(from, value));
    Tile wide = extend(from, value);
    if (!isFloat(to))
      return truncate(to, clampInteger(to, wide));
    // Up to 16 bits an integer is exact in f32.
    bool isShort = from == DType::I8 || from == DType::U8;
    return narrow(to,
                  to == DType::F32 || isShort ? toF32(wide) : roundToOdd(wide));
  }

private:
  Type element(DType type) { return k.elementType(type); }
  RankedTensorType as(Tile value, Type type) {
    return cast<RankedTensorType>(value.type().clone(type));
  }

  Tile widen(DType from, Tile value) {
    if (from == DType::F32)
      return value;
    return {arith::ExtFOp::create(b, as(value, b.getF32Type()), value.value),
            &k};
  }

  Tile narrow(DType to, Tile value) {
    if (to == DType::F32)
      return value;
    return {arith::TruncFOp::create(b, as(value, element(to)), value.value),
            &k};
  }

  Tile extend(DType from, Tile value) {
    RankedTensorType type = as(value, b.getI64Type());
    if (from == DType::I64)
      return value;
    if (from == DType::U8)
      return {arith::ExtUIOp::create(b, type, value.value), &k};
    return {arith::ExtSIOp::create(b, type, value.value), &k};
  }

  Tile truncate(DType to, Tile wide) {
    if (to == DType::I64)
      return wide;
    return {arith::TruncIOp::create(b, as(wide, element(to)), wide.value), &k};
  }

  Tile toF32(Tile integer) {
    return {
        arith::SIToFPOp::create(b, as(integer, b.getF32Type()), integer.value),
        &k};
  }

  Tile compare(arith::CmpIPredicate predicate, Tile x, Tile y) {
    return {arith::CmpIOp::create(b, predicate, x.value, y.value), &k};
  }
  Tile i64Like(Tile shape, int64_t value) {
    return k.likeInt(shape, b.getI64Type(), static_cast<uint64_t>(value));
  }

  std::pair<int64_t, int64_t> limits(DType type) {
    switch (type) {
    case DType::I8:
      return {-128, 127};
    case DType::U8:
      return {0, 255};
    case DType::I32:
      return {std::numeric_limits<int32_t>::min(),
              std::numeric_limits<int32_t>::max()};
    default:
      return {std::numeric_limits<int64_t>::min(),
              std::numeric_limits<int64_t>::max()};
    }
  }

  Tile clampInteger(DType to, Tile wide) {
    if (to == DType::I64)
      return wide;
    Tile least = i64Like(wide, limits(to).first);
    Tile most = i64Like(wide, limits(to).second);
    wide =
        k.select(compare(arith::CmpIPredicate::slt, wide, least), least, wide);
    return k.select(compare(arith::CmpIPredicate::sgt, wide, most), most, wide);
  }

  /// The largest f32 below 2^63: what is above saturates by selection, because
  /// the conversion itself is undefined there.
  static constexpr float below2To63 = 0x1.fffffep62f;

  Tile toInteger(DType to, Tile x) {
    x = k.select(isNan(x), k.like(x, 0), x);
    Tile most = k.like(x, below2To63), least = k.like(x, -0x1p63);
    Tile isHuge = less(most, x);
    Tile inside = k.select(isHuge, most, x);
    inside = k.select(less(inside, least), least, inside);
    Tile whole = {
        arith::FPToSIOp::create(b, as(x, b.getI64Type()), inside.value), &k};
    whole = k.select(
        isHuge, i64Like(whole, std::numeric_limits<int64_t>::max()), whole);
    return truncate(to, clampInteger(to, whole));
  }

  /// Of the two f32 next to an integer that is none itself, the one with an odd
  /// significand.
  Tile roundToOdd(Tile integer) {
    Type i64 = b.getI64Type();
    Tile nearest = toF32(integer);
    Tile most = k.like(nearest, below2To63);
    Tile inside = k.select(less(most, nearest), most, nearest);
    Tile back = {arith::FPToSIOp::create(b, as(nearest, i64), inside.value),
                 &k};
    Tile difference = {arith::SubIOp::create(b, integer.value, back.value), &k};
    Tile zero = i64Like(integer, 0);
    Tile isInexact = compare(arith::CmpIPredicate::ne, difference, zero);
    Tile isAbove = compare(arith::CmpIPredicate::sgt, difference, zero);
    Tile isPositive = compare(arith::CmpIPredicate::sgt, integer, zero);
    // The integer's magnitude is above the f32's when both signs agree.
    Tile isLarger = compare(arith::CmpIPredicate::eq, isAbove, isPositive);
    return odd(nearest, isInexact, isLarger);
  }

public:
  /// \p nearest, or the neighbour that lies toward the exact value, which is
  /// further from 0 where \p isLarger.
  Tile odd(Tile nearest, Tile isInexact, Tile isLarger) {
    Type i32 = b.getI32Type();
    Tile bits = {arith::BitcastOp::create(b, as(nearest, i32), nearest.value),
                 &k};
    Tile one = k.likeInt(bits, i32, 1);
    Tile up = {arith::AddIOp::create(b, bits.value, one.value), &k};
    Tile down = {arith::SubIOp::create(b, bits.value, one.value), &k};
    Tile lowBit = {arith::AndIOp::create(b, bits.value, one.value), &k};
    Tile isEven = compare(arith::CmpIPredicate::ne, lowBit, one);
    Tile moves = {arith::AndIOp::create(b, isInexact.value, isEven.value), &k};
    bits = k.select(moves, k.select(isLarger, up, down), bits);
    return {arith::BitcastOp::create(b, nearest.type(), bits.value), &k};
  }

private:
  RowBuilder &k;
  ImplicitLocOpBuilder &b;
};
} // namespace

Tile RowBuilder::convert(DType from, DType to, Tile value) {
  return Converter(*this).run(from, to, value);
}

/// An infinite sum is what the narrower type rounds to as well.
Tile RowBuilder::toOdd(Tile nearest, Tile rest) {
  Tile zero = like(rest, 0);
  Tile isAbove = less(zero, rest);
  Tile isFinite =
      less(abs(nearest), like(nearest, std::numeric_limits<float>::infinity()));
  Value differs =
      arith::OrIOp::create(b, isAbove.value, less(rest, zero).value);
  Tile isInexact = {arith::AndIOp::create(b, differs, isFinite.value), this};
  Tile isPositive = less(like(nearest, 0), nearest);
  Tile isLarger = {arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         isAbove.value, isPositive.value),
                   this};
  return Converter(*this).odd(nearest, isInexact, isLarger);
}
