//===- Scalar.h - A number that knows how wrong it may be -------*- C++ -*-===//
//
// References are templated on their scalar. `double` gives the value; Bounded
// also carries how far a correct f32 kernel may be from it (Wilkinson's running
// error analysis). Only refops/Primitives.h computes with either.
//
// An error that is not finite means "no verdict": an f32 intermediate may or
// may not have overflowed. It spreads through every operation, except into a
// NaN that is certain. Infinities and NaN that are certain have the error 0.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_SCALAR_H
#define TANDEM_REFOPS_SCALAR_H

#include "refops/core/DType.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tandem::refops {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// From here on a magnitude rounds to an f32 infinity: the largest finite value
/// and half a spacing.
inline constexpr double f32Overflow = 0x1.ffffffp127;

/// The smallest normal f32.
inline constexpr double f32SmallestNormal = 0x1p-126;

struct Bounded {
  double value = 0;
  double error = 0;

  Bounded() = default;
  Bounded(double exact) : value(exact) {}
  Bounded(double value, double error) : value(value), error(error) {}

  bool hasVerdict() const { return error < infinity; }
  /// NaN whatever the kernel's roundings were.
  bool isCertainNan() const { return std::isnan(value) && error == 0; }
  /// The largest magnitude that the kernel's number may have.
  double largest() const { return std::fabs(value) + error; }
};

inline Bounded noVerdict(double value) { return {value, infinity}; }

inline double valueOf(double x) { return x; }
inline double valueOf(const Bounded &x) { return x.value; }
inline double errorOf(double) { return 0; }
inline double errorOf(const Bounded &x) { return x.error; }

/// Rounds once to nearest-even; f32 without the call.
inline double roundedTo(DType type, double x) {
  if (type == DType::F32)
    return static_cast<float>(x);
  return type == DType::F64 ? x : tandem::roundTo(type, x);
}

/// The rounded hull: every number within the error rounds into the result's
/// interval. Without an error the result has none.
inline Bounded roundedTo(DType type, const Bounded &x) {
  const double value = roundedTo(type, x.value);
  if (x.error == 0)
    return {value, 0};
  if (!x.hasVerdict() || std::isnan(x.value))
    return noVerdict(value);
  // Outward, because the ends are themselves rounded to double.
  const double low =
      roundedTo(type, std::nextafter(x.value - x.error, -infinity));
  const double high =
      roundedTo(type, std::nextafter(x.value + x.error, infinity));
  const double above = high == value ? 0 : high - value;
  const double below = low == value ? 0 : value - low;
  const double error = std::max(above, below);
  return {value, error < infinity ? error : infinity};
}

} // namespace tandem::refops

#endif // TANDEM_REFOPS_SCALAR_H
