//===- Reductions.cpp - Sums and their errors -----------------------------===//
#include "refops/Reductions.h"

#include <vector>

using namespace tandem;
using namespace tandem::refops;

double tandem::refops::smallestNormal(DType type) {
  switch (type) {
  case DType::F16:
  case DType::F8E5M2:
    return 0x1p-14;
  case DType::F8E4M3:
    return 0x1p-6;
  default:
    return f32SmallestNormal;
  }
}

double tandem::refops::sum(std::span<const double> x, double,
                           const StepNumerics &) {
  double total = 0;
  for (double v : x)
    total += v;
  return total;
}

double tandem::refops::dot(std::span<const double> a, std::span<const double> b,
                           DType, double, const StepNumerics &) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i)
    total += a[i] * b[i];
  return total;
}

double tandem::refops::squaresAround(std::span<const double> x, double centre,
                                     double, const StepNumerics &) {
  double total = 0;
  for (double v : x)
    total += (v - centre) * (v - centre);
  return total;
}

bool tandem::refops::squaresAreInRange(std::span<const Bounded> row) {
  double squares = 0;
  for (const Bounded &v : row) {
    if (v.isCertainNan())
      return true;
    if (std::isfinite(v.value))
      squares += v.largest() * v.largest();
  }
  return squares < largestSquares;
}

Bounded tandem::refops::finishSum(double value, double magnitude, double error,
                                  int64_t count, bool overflowIsCertain) {
  error += static_cast<double>(count) * 0x1p-53 * magnitude;
  const double mass = magnitude + error;
  if (mass < f32Overflow)
    return {value, error};
  // The numbers of the other sign add up to at most half of what cancels.
  const double opposite = (mass - std::fabs(value)) / 2 + error;
  if (overflowIsCertain && std::fabs(value) - error >= f32Overflow &&
      opposite < f32Overflow)
    return {std::copysign(infinity, value), 0};
  return noVerdict(value);
}

/// A sum whose value is not finite: certain when infinities or NaN of the data
/// make it so, and the finite rest cannot overflow against them.
static Bounded nonFiniteSum(double value, double finiteMass, bool hasNan,
                            bool hasDoubt) {
  if (hasNan)
    return {std::numeric_limits<double>::quiet_NaN(), 0};
  if (hasDoubt)
    return noVerdict(value);
  if (std::isnan(value) || finiteMass < f32Overflow)
    return {value, 0};
  return noVerdict(value);
}

Bounded tandem::refops::sum(std::span<const Bounded> x, double depth,
                            const StepNumerics &n) {
  double value = 0, magnitude = 0, operands = 0;
  for (const Bounded &v : x) {
    value += v.value;
    magnitude += std::fabs(v.value);
    operands += v.error;
  }
  if (std::isfinite(value)) {
    const double mass = magnitude + operands;
    const double rounding = depth * n.unit * mass * (1 + depth * n.unit);
    return finishSum(value, magnitude, operands + rounding,
                     static_cast<int64_t>(x.size()), true);
  }
  double finiteMass = 0;
  bool hasNan = false, hasDoubt = false;
  for (const Bounded &v : x) {
    hasNan |= v.isCertainNan();
    hasDoubt |= !v.hasVerdict();
    if (std::isfinite(v.value))
      finiteMass += v.largest();
  }
  return nonFiniteSum(value, finiteMass, hasNan, hasDoubt);
}

static Bounded nonFiniteDot(double value, std::span<const Bounded> a,
                            std::span<const Bounded> b) {
  double finiteMass = 0;
  bool hasNan = false, hasDoubt = false;
  for (size_t i = 0; i < a.size(); ++i) {
    const double product = a[i].value * b[i].value;
    if (std::isfinite(product)) {
      finiteMass += a[i].largest() * b[i].largest();
      hasDoubt |= !a[i].hasVerdict() || !b[i].hasVerdict();
      continue;
    }
    const Bounded p = detail::mulNonFinite(product, a[i], b[i]);
    hasNan |= p.isCertainNan();
    hasDoubt |= !p.hasVerdict();
  }
  return nonFiniteSum(value, finiteMass, hasNan, hasDoubt);
}

Bounded tandem::refops::dot(std::span<const Bounded> a,
                            std::span<const Bounded> b, DType dtype,
                            double depth, const StepNumerics &n) {
  const size_t k = a.size();
  const double normal = smallestNormal(dtype);
  std::vector<double> columns(6 * k);
  double *va = columns.data(), *vb = va + k, *ea = vb + k, *eb = ea + k,
         *ma = eb + k, *mb = ma + k;
  for (size_t i = 0; i < k; ++i) {
    va[i] = a[i].value, vb[i] = b[i].value;
    ea[i] = a[i].error, eb[i] = b[i].error;
    ma[i] = alignedMagnitude(a[i], normal);
    mb[i] = alignedMagnitude(b[i], normal);
  }
  DotSums<1> sums;
  sums.accumulate<true, true>({va, ea, ma}, {vb, eb, mb},
                              static_cast<int64_t>(k), n);
  if (!std::isfinite(sums.value[0]))
    return nonFiniteDot(sums.value[0], a, b);
  return sums.finish(0, static_cast<int64_t>(k), depth, n);
}

/// An instruction of c products loses at most (c + 1) 2^-F of its largest
/// addend and 2^-R of its result, neither larger than the sum of the magnitudes
/// that have passed through it; so does an f32 addition. Each magnitude counts
/// in
/// \p depth of them.
Bounded tandem::refops::dotInAnyOrder(std::span<const Bounded> a,
                                      std::span<const Bounded> b, DType dtype,
                                      double depth, const StepNumerics &n) {
  if (n.dot != StepNumerics::Dot::TensorCore)
    return dot(a, b, dtype, depth, n);
  const double normal = smallestNormal(dtype);
  double value = 0, magnitude = 0, operands = 0, aligned = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double product = a[i].value * b[i].value;
    value += product;
    magnitude += std::fabs(product);
    operands +=
        a[i].largest() * b[i].error + std::fabs(b[i].value) * a[i].error;
    aligned += alignedMagnitude(a[i], normal) * alignedMagnitude(b[i], normal);
  }
  if (!std::isfinite(value))
    return nonFiniteDot(value, a, b);
  const double each = (n.dotChunk + 1) * n.addendUnit + n.resultUnit;
  const double lost = depth * each * (1 + depth * each) * aligned +
                      static_cast<double>(a.size()) * 0x1p-149;
  return finishSum(value, magnitude, operands + (aligned > 0 ? lost : 0),
                   static_cast<int64_t>(a.size()), false);
}

Bounded tandem::refops::squaresAround(std::span<const Bounded> x,
                                      const Bounded &centre, double depth,
                                      const StepNumerics &n) {
  double value = 0, deviations = 0, error = 0;
  bool hasNan = centre.isCertainNan(), hasDoubt = !centre.hasVerdict();
  for (const Bounded &v : x) {
    const double d = v.value - centre.value;
    const double own =
        v.error + n.unit * (std::fabs(d) + v.error + centre.error);
    value += d * d;
    deviations += d;
    error += (2 * (std::fabs(d) + centre.error) + own) * own;
    hasNan |= v.isCertainNan();
    hasDoubt |= !v.hasVerdict();
  }
  if (!std::isfinite(value))
    return nonFiniteSum(value, 0, hasNan, hasDoubt);
  const double count = static_cast<double>(x.size());
  error += centre.error * (2 * std::fabs(deviations) + count * centre.error);
  const double mass = value + error;
  const double roundings = depth + 1; // the square, then the additions
  if (mass > 0)
    error +=
        roundings * n.unit * mass * (1 + roundings * n.unit) + count * n.floor;
  return finishSum(value, value, error, static_cast<int64_t>(x.size()), true);
}
