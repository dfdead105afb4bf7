//===- SinCos.cpp - Sine and cosine at any angle --------------------------===//
//
// Reduction (Payne and Hanek, "Radian reduction for trigonometric functions",
// 1983). With |a| = m 2^(e-150), m of 24 bits, and F = 2/pi, a is
// m F 2^(e-152) turns. Bits of F 2^(e-152) above the binary point times m are
// whole turns and do not count, so 96 bits behind it are enough: they are cut
// from the table F preceded by 32 zeros at bit s = e - 120, which is 6 to 134
// for |a| >= 1/2. The product mod 1 is kept to 64 bits, g, off by less than
// 2^-63.9 of a turn. No f32 comes closer to a multiple of pi/2 than 2^-34 of a
// turn (as is expected of
// 2^31 random remainders; sweep_sincos.cpp prints the nearest), so that the
// remainder r of g to the nearest quarter is right to 2^-29 of itself.
//
// Below 1/2 nothing is reduced. The series stop at r^13 and r^12: with
// |r| <= pi/4 the next terms are below 2^-45 of sin and 2^-41 of cos. All in
// f64, rounded once to f32, so that both are within 0.6 ulp
// (codegen/ops/evidence/sweep_sincos.cpp). An infinite or NaN angle gives NaN.
//
//===----------------------------------------------------------------------===//
#include "codegen/ops/Math.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

/// 2/pi in 32-bit digits, after one digit of zeros.
static constexpr uint32_t twoOverPi[] = {0,          0xa2f9836e, 0x4e441529,
                                         0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                         0x3c439041, 0xfe5163ab};
/// pi / 2^63: radians of a 2^-64th of a turn.
static constexpr double radians = 0x1.921fb54442d18p-62;

namespace {
/// Integer and f64 arithmetic on tiles of one shape.
class Wide {
public:
  explicit Wide(Tile shape) : shape(shape), k(*shape.k), b(k.ops()) {}

  Value i64(uint64_t value) {
    return k.likeInt(shape, b.getI64Type(), value).value;
  }
  Value i32(uint32_t value) {
    return k.likeInt(shape, b.getI32Type(), value).value;
  }
  Value f64(double value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(as(b.getF64Type()),
                                  Attribute(b.getF64FloatAttr(value))));
  }
  RankedTensorType as(Type element) {
    return cast<RankedTensorType>(shape.type().clone(element));
  }
  template <typename Op>
  Value make(Value x, Value y) {
    return Op::create(b, x, y);
  }
  Value bitAnd(Value x, Value y) { return make<arith::AndIOp>(x, y); }
  Value bitOr(Value x, Value y) { return make<arith::OrIOp>(x, y); }
  Value bitXor(Value x, Value y) { return make<arith::XOrIOp>(x, y); }
  Value add(Value x, Value y) { return make<arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return make<arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) { return make<arith::MulIOp>(x, y); }
  Value left(Value x, Value y) { return make<arith::ShLIOp>(x, y); }
  Value right(Value x, Value y) { return make<arith::ShRUIOp>(x, y); }
  Value equal(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
  }
  Value below(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value toI64(Value i32) {
    return arith::ExtUIOp::create(b, as(b.getI64Type()), i32);
  }
  Value toI32(Value i64) {
    return arith::TruncIOp::create(b, as(b.getI32Type()), i64);
  }
  Value bits(Value f32) {
    return arith::BitcastOp::create(b, as(b.getI32Type()), f32);
  }
  Value fromBits(Value i32) {
    return arith::BitcastOp::create(b, as(b.getF32Type()), i32);
  }

  Tile shape;
  RowBuilder &k;
  ImplicitLocOpBuilder &b;
};
} // namespace

/// The angle \p bits as a 64-bit fraction of a turn; |a| >= 1/2.
static Value turns(Wide &w, Value exponent, Value bits) {
  Value place = w.sub(exponent, w.i32(120));
  Value digit = w.right(place, w.i32(5));
  Value shift = w.toI64(w.bitAnd(place, w.i32(31)));
  auto pair = [](size_t i) {
    return uint64_t(twoOverPi[i]) << 32 | twoOverPi[i + 1];
  };
  Value high = w.i64(pair(4)), low = w.i64(pair(6));
  for (uint32_t i = 4; i-- > 0;) {
    Value isHere = w.equal(digit, w.i32(i));
    high = w.select(isHere, w.i64(pair(i)), high);
    low = w.select(isHere, w.i64(pair(i + 2)), low);
  }
  // 96 bits from `shift` on; a shift by 64 - 0 is none that hardware has.
  Value carried = w.right(w.right(low, w.i64(1)), w.sub(w.i64(63), shift));
  high = w.bitOr(w.left(high, shift), carried);
  low = w.right(w.left(low, shift), w.i64(32));

  Value m = w.toI64(w.bitOr(w.bitAnd(bits, w.i32(0x7fffff)), w.i32(0x800000)));
  Value mask = w.i64(0xffffffff), word = w.i64(32);
  Value middle =
      w.add(w.mul(m, w.bitAnd(high, mask)), w.right(w.mul(m, low), word));
  Value top = w.add(w.mul(m, w.right(high, word)), w.right(middle, word));
  return w.bitOr(w.left(top, word), w.bitAnd(middle, mask));
}

/// c[0] + x (c[1] + x (c[2] + ...))
static Value polynomial(Wide &w, Value x, ArrayRef<double> c) {
  Value sum = w.f64(c.back());
  for (size_t i = c.size() - 1; i-- > 0;)
    sum = w.fma(sum, x, w.f64(c[i]));
  return sum;
}

std::pair<Tile, Tile> codegen::sinCos(Tile angle) {
  RowBuilder &k = *angle.k;
  k.noteApprox("sin");
  k.noteApprox("cos");
  Wide w(angle);
  ImplicitLocOpBuilder &b = w.b;
  RankedTensorType f64 = w.as(b.getF64Type()), f32 = w.as(b.getF32Type());
  Value bits = w.bits(angle.value);
  Value exponent = w.bitAnd(w.right(bits, w.i32(23)), w.i32(255));
  Value isSmall = w.below(exponent, w.i32(126));

  Value g = turns(w, exponent, bits);
  Value quarter = w.right(w.add(g, w.i64(uint64_t(1) << 61)), w.i64(62));
  Value rest = w.sub(g, w.left(quarter, w.i64(62)));
  Value r = arith::MulFOp::create(b, arith::SIToFPOp::create(b, f64, rest),
                                  w.f64(radians));
  // |a| itself where it is small; NaN for an infinity less itself.
  Tile magnitude = abs(angle);
  Value isFinite = w.below(exponent, w.i32(255));
  Value direct =
      w.select(isFinite, magnitude.value, (magnitude - magnitude).value);
  direct = arith::ExtFOp::create(b, f64, direct);
  Value isDirect =
      arith::OrIOp::create(b, isSmall, w.equal(exponent, w.i32(255)));
  r = w.select(isDirect, direct, r);
  Value q = w.select(isDirect, w.i32(0), w.toI32(quarter));

  Value square = arith::MulFOp::create(b, r, r);
  Value sine = polynomial(w, square,
                          {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                           -1.0 / 39916800, 1.0 / 6227020800});
  sine = w.fma(arith::MulFOp::create(b, sine, square), r, r);
  Value cosine = polynomial(w, square,
                            {1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320,
                             -1.0 / 3628800, 1.0 / 479001600});
  sine = w.bits(arith::TruncFOp::create(b, f32, sine));
  cosine = w.bits(arith::TruncFOp::create(b, f32, cosine));

  // A quarter turn swaps them; half a turn flips both, a negative angle sin.
  Value isOdd = w.equal(w.bitAnd(q, w.i32(1)), w.i32(1));
  auto signOf = [&](Value quarters) {
    return w.left(w.bitAnd(quarters, w.i32(2)), w.i32(30));
  };
  Value sinSign = w.bitXor(signOf(q), w.bitAnd(bits, w.i32(0x80000000)));
  Value cosSign = signOf(w.add(q, w.i32(1)));
  Value sin = w.bitXor(w.select(isOdd, cosine, sine), sinSign);
  Value cos = w.bitXor(w.select(isOdd, sine, cosine), cosSign);
  return {Tile{w.fromBits(sin), &k}, Tile{w.fromBits(cos), &k}};
}
