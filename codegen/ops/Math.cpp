//===- Math.cpp - Functions of f32 tiles that PTX has no instruction for --===//
#include "codegen/ops/Math.h"

#include "codegen/ops/ErfcCoefficients.inc"

#include <iterator>

using namespace tandem;
using namespace tandem::codegen;

/// log2(e), rounded to f32 where it is used.
static constexpr double log2e = 0x1.71547652b82fep+0;
static constexpr double ln2 = 0x1.62e42fefa39efp-1;

static Tile ex2(Tile x) { return x.k->approx(tile::ApproxKind::Ex2, x); }

/// The product and the constant are rounded, so the exponent is off by at most
/// 2 u32 |x log2(e)|, which is 2 u32 |x| in e^x.
static Tile expUnnoted(Tile x) { return ex2(x * log2e); }

Tile codegen::exp(Tile x) {
  x.k->noteApprox("exp");
  return expUnnoted(x);
}

/// With e = exp(-|x|) <= 1: 1 / (1 + e) for x >= 0 and e / (1 + e) for x < 0.
/// NaN is neither below 0 nor lost in |x|.
Tile codegen::sigmoid(Tile x) {
  RowBuilder &k = *x.k;
  k.noteApprox("sigmoid");
  Tile e = expUnnoted(-abs(x));
  Tile one = k.like(x, 1);
  Tile numerator = k.select(less(x, k.like(x, 0)), e, one);
  return numerator / (e + one);
}

/// tail(a) = erfc(a / sqrt(2)) / 2 = exp(-a^2 / 2) g(a) for a >= 0. The square
/// is kept as h + rest and its product with log2(e) / 2 as y + e, so that the
/// exponent is exact to 2^-40; g is a polynomial times t = 1 / (a + K)
/// (codegen/ops/evidence/erfc.py). Relative error at most 2^-20.62 over all f32
/// with a result of at least 2^-126 (codegen/ops/evidence/sweep_erfc.cpp).
static Tile gaussianTail(Tile a) {
  RowBuilder &k = *a.k;
  Tile t = k.like(a, 1) / (a + tailK);
  Tile s = fma(t, k.like(a, tailA), k.like(a, tailB));
  Tile p = k.like(a, tailCoefficients[std::size(tailCoefficients) - 1]);
  for (size_t i = std::size(tailCoefficients) - 1; i-- > 0;)
    p = fma(p, s, k.like(a, tailCoefficients[i]));

  const float high = static_cast<float>(log2e / 2);
  Tile c = k.like(a, high);
  Tile cRest = k.like(a, log2e / 2 - static_cast<double>(high));
  Tile h = a * a;
  Tile rest = fma(a, a, -h);
  Tile y = h * c;
  Tile e = fma(rest, c, fma(h, cRest, fma(h, c, -y)));
  Tile power = ex2(-y);
  power = fma(power, e * -ln2, power);
  return power * (t * p);
}

/// Beyond 20 the tail is 0 in f32, and a square that overflows would turn into
/// inf - inf.
Tile codegen::gaussianCdf(Tile x) {
  RowBuilder &k = *x.k;
  k.noteApprox("erfc");
  Tile a = abs(x);
  Tile limit = k.like(x, 20);
  Tile tail = gaussianTail(k.select(less(limit, a), limit, a));
  return k.select(less(x, k.like(x, 0)), tail, k.like(x, 1) - tail);
}

Tile codegen::rsqrt(Tile x) {
  x.k->noteApprox("rsqrt.approx");
  return x.k->approx(tile::ApproxKind::Rsqrt, x);
}
