//===- Math.cpp - Functions of f32 tiles that PTX has no instruction for --===//
#include "codegen/ops/Math.h"

#include "codegen/ops/ErfcCoefficients.inc"

#include "mlir/Dialect/Math/IR/Math.h"

#include <iterator>

using namespace tandem;
using namespace tandem::codegen;

/// log2(e), rounded to f32 where it is used.
static constexpr double log2e = 0x1.71547652b82fep+0;
static constexpr double ln2 = 0x1.62e42fefa39efp-1;

static Tile ex2(Tile x) { return x.k->approx(tile::ApproxKind::Ex2, x); }

/// The same, 0 instead of a subnormal.
static Tile ex2Flushed(Tile x) {
  return {tile::ApproxOp::create(x.k->ops(), x.type(), tile::ApproxKind::Ex2,
                                 x.value, /*flushes=*/true),
          x.k};
}

/// |x|, of which only the number counts, not the bits of a NaN.
static Tile magnitude(Tile x) {
  return {mlir::math::AbsFOp::create(x.k->ops(), x.value), x.k};
}

/// The product and the constant are rounded, so the exponent is off by at most
/// 2 u32 |x log2(e)|, which is 2 u32 |x| in e^x.
static Tile expUnnoted(Tile x) { return ex2(x * log2e); }

Tile codegen::exp(Tile x) {
  x.k->noteApprox("exp");
  return expUnnoted(x);
}

static Tile reciprocal(Tile x) { return x.k->approx(tile::ApproxKind::Rcp, x); }

/// With e = exp(-|x|) <= 1: 1 / (1 + e) for x >= 0 and e / (1 + e) for x < 0.
/// NaN is neither below 0 nor lost in |x|. A rounded addition, a reciprocal
/// within an ulp (the denominator lies in [1, 2]) and a product: 4 u32 beside
/// the exponential's, a third of a rounded division's instructions.
Tile codegen::sigmoid(Tile x) {
  RowBuilder &k = *x.k;
  k.noteApprox("sigmoid");
  Tile e = expUnnoted(-abs(x));
  Tile one = k.like(x, 1);
  Tile numerator = k.select(less(x, k.like(x, 0)), e, one);
  return numerator * reciprocal(e + one);
}

/// For a >= 0, tail(a) = erfc(a / sqrt(2)) / 2 = exp(-a^2 / 2) g(a), where g is
/// a polynomial times t = 1 / (a + K) (codegen/ops/evidence/erfc.py). The power
/// comes from \p z and \p scale with z^2 scale = a^2 log2(e) / 2: the square is
/// kept as h + rest and its product with the scale as y + e, so that the
/// exponent is exact to 2^-40. For z = a the relative error is at most 2^-20.34
/// where the result is at least 2^-126, for z = a / sqrt(2) 2^-20.25, with the
/// reciprocal and the power at their worst, in a sweep of every 101st f32
/// (codegen/ops/evidence/sweep_erfc.cpp).
/// Where \p isNarrow, z has at most 12 significant bits: h is exact and rest 0.
static Tile gaussianTail(Tile a, Tile z, double scale, bool isNarrow) {
  RowBuilder &k = *a.k;
  Tile t = reciprocal(a + tailK);
  Tile s = fma(t, k.like(a, tailA), k.like(a, tailB));
  Tile p = k.like(a, tailCoefficients[std::size(tailCoefficients) - 1]);
  for (size_t i = std::size(tailCoefficients) - 1; i-- > 0;)
    p = fma(p, s, k.like(a, tailCoefficients[i]));

  const float high = static_cast<float>(scale);
  Tile c = k.like(a, high);
  Tile cRest = k.like(a, scale - static_cast<double>(high));
  Tile h = z * z;
  Tile y = h * c;
  Tile e = fma(h, cRest, fma(h, c, -y));
  if (!isNarrow)
    e = fma(fma(z, z, -h), c, e);
  // A power below 2^-126 is worth less than the error that erfc may have there.
  Tile power = ex2Flushed(-y);
  power = fma(power, e * -ln2, power);
  return power * (t * p);
}

/// Beyond 20 the tail is 0 in f32, and a square that overflows would turn into
/// inf - inf.
Tile codegen::gaussianCdf(Tile x, bool isNarrow) {
  RowBuilder &k = *x.k;
  k.noteApprox("erfc");
  Tile a = magnitude(x);
  Tile limit = k.like(x, 20);
  // NaN stays.
  a = {mlir::arith::MinimumFOp::create(k.ops(), a.value, limit.value), &k};
  Tile tail = gaussianTail(a, a, log2e / 2, isNarrow);
  return k.select(less(x, k.like(x, 0)), tail, k.like(x, 1) - tail);
}

/// g changes by less than its argument does, so that the rounded sqrt(2) |x|
/// may serve it; the power takes x itself. Beyond 14 the tail is 0 in f32.
Tile codegen::erfc(Tile x) {
  RowBuilder &k = *x.k;
  k.noteApprox("erfc");
  Tile z = abs(x);
  Tile limit = k.like(x, 14);
  z = k.select(less(limit, z), limit, z);
  Tile tail = gaussianTail(z * 0x1.6a09e667f3bcdp+0, z, log2e, false) * 2;
  return k.select(less(x, k.like(x, 0)), k.like(x, 2) - tail, tail);
}

/// tanh(a) = a + a z p(z) with z = a^2 for a < 0.6: p interpolates at Chebyshev
/// nodes, within 0.25 u32 of the result. Above, (1 - e) / (1 + e) with
/// e = exp(-2 a) <= 0.302, of whose relative error at most
/// 2 e / (1 - e^2) < 0.67 reaches the result. |x| and its sign are treated
/// apart, so that -0 stays -0. Relative error at most 2^-21
/// (codegen/ops/evidence/sweep_tanh.cpp).
Tile codegen::tanh(Tile x) {
  static constexpr float coefficients[] = {-0x1.555554p-2f, 0x1.110ee0p-3f,
                                           -0x1.b955dcp-5f, 0x1.59e1c8p-6f,
                                           -0x1.9ada60p-8f};
  RowBuilder &k = *x.k;
  k.noteApprox("tanh");
  Tile a = abs(x);
  Tile z = a * a;
  Tile p = k.like(x, coefficients[std::size(coefficients) - 1]);
  for (size_t i = std::size(coefficients) - 1; i-- > 0;)
    p = fma(p, z, k.like(x, coefficients[i]));
  Tile near = fma(a * z, p, a);
  Tile e = ex2(a * (-2 * log2e));
  Tile one = k.like(x, 1);
  Tile far = (one - e) / (one + e);
  Tile size = k.select(less(a, k.like(x, 0.6)), near, far);

  mlir::Type i32 = k.ops().getI32Type();
  mlir::Type bits = x.type().clone(i32);
  mlir::Value sign = mlir::arith::AndIOp::create(
      k.ops(), mlir::arith::BitcastOp::create(k.ops(), bits, x.value),
      k.likeInt(x, i32, 0x80000000).value);
  mlir::Value whole = mlir::arith::OrIOp::create(
      k.ops(), mlir::arith::BitcastOp::create(k.ops(), bits, size.value), sign);
  return {mlir::arith::BitcastOp::create(k.ops(), x.type(), whole), &k};
}

Tile codegen::rsqrt(Tile x) {
  x.k->noteApprox("rsqrt.approx");
  return x.k->approx(tile::ApproxKind::Rsqrt, x);
}
