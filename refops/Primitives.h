//===- Primitives.h - The operations that references are written in -*- C++
//-*-===//
//
// Each is overloaded for double, where it is the plain operation, and for
// Bounded, where it also adds what one f32 operation of the step's contract may
// get wrong. References never loop over a bare `+`.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_PRIMITIVES_H
#define TANDEM_REFOPS_PRIMITIVES_H

#include "refops/Scalar.h"
#include "refops/StepNumerics.h"

#include <span>

namespace tandem::refops {

//===----------------------------------------------------------------------===//
// double: the value
//===----------------------------------------------------------------------===//

inline double add(double a, double b, const StepNumerics &) { return a + b; }
inline double sub(double a, double b, const StepNumerics &) { return a - b; }
inline double mul(double a, double b, const StepNumerics &) { return a * b; }
/// a b + c with one rounding or with two.
inline double mulAdd(double a, double b, double c, const StepNumerics &) {
  return a * b + c;
}
inline double div(double a, double b, const StepNumerics &) { return a / b; }
inline double sqrt(double x, const StepNumerics &) { return std::sqrt(x); }
inline double rsqrt(double x, const StepNumerics &) { return 1 / std::sqrt(x); }
inline double exp(double x, const StepNumerics &) { return std::exp(x); }
inline double erfc(double x, const StepNumerics &) { return std::erfc(x); }
inline double tanh(double x, const StepNumerics &) { return std::tanh(x); }
inline double sin(double x, const StepNumerics &) { return std::sin(x); }
inline double cos(double x, const StepNumerics &) { return std::cos(x); }

/// 1 / (1 + exp(-x)) on the right, exp(x) / (1 + exp(x)) on the left: neither
/// side overflows, and the left one keeps its relative accuracy.
inline double sigmoid(double x, const StepNumerics &) {
  if (x >= 0)
    return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

/// NaN wins.
inline double maximum(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

/// SEMANTICS: results below 2^-126 carry an absolute bound of 2^-126 where the
/// op says so. With \p areExact inputs that is all of the error.
inline double tinyIsLoose(double y, bool) { return y; }

/// The licence of the norms: beyond this sum of squares there is no verdict
/// (SEMANTICS, "Conventions").
inline constexpr double largestSquares = 0x1p127;

/// Whether the finite part of \p row keeps to it; a row with a certain NaN is
/// NaN in any case.
inline bool squaresAreInRange(std::span<const double>) { return true; }
bool squaresAreInRange(std::span<const Bounded> row);

inline double withoutVerdict(double x) { return x; }

/// x - m where m is the maximum of a row of which x is one, whatever the kernel
/// found it to be: a softmax does not change when all of a row is shifted, so
/// the error of m only enters the size of the rounding.
inline double belowMaximum(double x, double m, const StepNumerics &) {
  return x - m;
}

/// Attention's exp(s - m) for \p shifted = s - m, in sums that the kernel
/// rescales by exp(m_old - m_new) up to \p rescales times. The arguments of
/// these add up to s - m, so their errors do, too.
inline double weight(double shifted, double, const StepNumerics &) {
  return std::exp(shifted);
}

/// A weight as it is multiplied with values of \p type: rounded to it when it
/// has 16 bits, relative to the kernel's running maximum, so the value here is
/// not.
inline double roundedWeight(double w, DType, const StepNumerics &) { return w; }

/// A score that kernels may hold in units of log(2) meanwhile: no verdict where
/// that may overflow.
inline double inUnitsOfLog2(double s) { return s; }

/// A maximum that kernels may have held in units of log(2).
inline double fromUnitsOfLog2(double m, const StepNumerics &) { return m; }

/// (q - zero) * scale, exact but for a zero-point that is no integer.
inline double dequantised(double q, double zero, double scale,
                          const StepNumerics &) {
  return (q - zero) * scale;
}

/// The value of the first, the error of the second: another formulation of the
/// same function that the contract licenses.
inline double withErrorOf(double y, double) { return y; }

/// The constant as a kernel holds it: rounded to f32.
template <typename T>
T constant(double c, const StepNumerics &numerics);
template <>
inline double constant(double c, const StepNumerics &) {
  return c;
}

/// One f32 addition or multiplication, by definition of the op: rounded to
/// nearest-even, so exact data give exact bits. Double's 53 bits are enough
/// (2 * 24 + 2) for the second rounding to be innocent.
inline double addF32(double a, double b) {
  return roundedTo(DType::F32, a + b);
}
inline double mulF32(double a, double b) {
  return roundedTo(DType::F32, a * b);
}

double sum(std::span<const double> x, double depth, const StepNumerics &);
double dot(std::span<const double> a, std::span<const double> b, DType dtype,
           double depth, const StepNumerics &);
inline double dotInAnyOrder(std::span<const double> a,
                            std::span<const double> b, DType dtype,
                            double depth, const StepNumerics &n) {
  return dot(a, b, dtype, depth, n);
}
/// Sum of (x[i] - centre)^2, where centre is the mean of x.
double squaresAround(std::span<const double> x, double centre, double depth,
                     const StepNumerics &);

//===----------------------------------------------------------------------===//
// Bounded: the value and the error
//===----------------------------------------------------------------------===//

namespace detail {

/// a op b where the value is an infinity or NaN. \p certain says whether it
/// would be that for every number within the operands' errors.
Bounded nonFinite(double value, const Bounded &a, const Bounded &b,
                  bool certain);
Bounded mulNonFinite(double value, const Bounded &a, const Bounded &b);
Bounded divideByNearZero(double value, const Bounded &a, const Bounded &b);

/// One f32 rounding of a number that is finite in double.
inline Bounded rounded(double value, double error, const StepNumerics &n) {
  const double largest = std::fabs(value) + error;
  if (largest == 0) // exact in f32, too
    return {value, 0};
  if (largest < f32Overflow)
    return {value, error + std::max(n.unit * largest, n.floor)};
  if (std::fabs(value) - error >= f32Overflow)
    return {std::copysign(infinity, value), 0};
  return noVerdict(value);
}

/// A function's result whose error is \p error beside its own rounding.
inline Bounded approximated(double value, double error, const ApproxError *own,
                            double argument, const StepNumerics &n) {
  if (!own)
    return rounded(value, error, n);
  const double relative = own->relative + own->argument * argument + 0x1p-50;
  const double total =
      error + relative * (std::fabs(value) + error) + own->absolute;
  if (std::fabs(value) + total < f32Overflow)
    return {value, total};
  if (std::fabs(value) - total >= f32Overflow)
    return {std::copysign(infinity, value), 0};
  return noVerdict(value);
}

} // namespace detail

inline Bounded add(const Bounded &a, const Bounded &b, const StepNumerics &n) {
  const double value = a.value + b.value;
  if (!std::isfinite(value))
    return detail::nonFinite(value, a, b, true);
  return detail::rounded(value, a.error + b.error, n);
}

inline Bounded sub(const Bounded &a, const Bounded &b, const StepNumerics &n) {
  return add(a, Bounded(-b.value, b.error), n);
}

inline Bounded mul(const Bounded &a, const Bounded &b, const StepNumerics &n) {
  const double value = a.value * b.value;
  if (!std::isfinite(value))
    return detail::mulNonFinite(value, a, b);
  return detail::rounded(
      value, a.largest() * b.error + std::fabs(b.value) * a.error, n);
}

Bounded mulAdd(const Bounded &a, const Bounded &b, const Bounded &c,
               const StepNumerics &n);
Bounded div(const Bounded &a, const Bounded &b, const StepNumerics &n);
Bounded sqrt(const Bounded &x, const StepNumerics &n);
Bounded rsqrt(const Bounded &x, const StepNumerics &n);
Bounded exp(const Bounded &x, const StepNumerics &n);
Bounded sigmoid(const Bounded &x, const StepNumerics &n);
Bounded erfc(const Bounded &x, const StepNumerics &n);
Bounded tanh(const Bounded &x, const StepNumerics &n);
Bounded sin(const Bounded &x, const StepNumerics &n);
Bounded cos(const Bounded &x, const StepNumerics &n);

inline Bounded maximum(const Bounded &a, const Bounded &b) {
  // |max(a', b') - max(a, b)| <= max(|a' - a|, |b' - b|); no rounding. A
  // certain NaN wins whatever the other may be.
  if (a.isCertainNan() || b.isCertainNan())
    return a.isCertainNan() ? a : b;
  const double value = maximum(a.value, b.value);
  const double error = std::max(a.error, b.error);
  return {value, value == infinity && error < infinity ? 0 : error};
}

inline Bounded operator-(const Bounded &x) { return {-x.value, x.error}; }

inline Bounded withoutVerdict(const Bounded &x) { return noVerdict(x.value); }

inline Bounded tinyIsLoose(const Bounded &y, bool areExact) {
  if (y.error == 0 || !(y.largest() < infinity) ||
      std::fabs(y.value) >= f32SmallestNormal)
    return y;
  return {y.value,
          areExact ? f32SmallestNormal : std::max(y.error, f32SmallestNormal)};
}

Bounded belowMaximum(const Bounded &x, const Bounded &m, const StepNumerics &n);
Bounded weight(const Bounded &shifted, double rescales, const StepNumerics &n);
Bounded roundedWeight(const Bounded &w, DType type, const StepNumerics &n);
Bounded inUnitsOfLog2(const Bounded &s);
Bounded fromUnitsOfLog2(const Bounded &m, const StepNumerics &n);
Bounded dequantised(const Bounded &q, const Bounded &zero, const Bounded &scale,
                    const StepNumerics &n);

inline Bounded withErrorOf(const Bounded &y, const Bounded &other) {
  return {y.value, other.error + std::fabs(y.value - other.value)};
}

template <>
inline Bounded constant(double c, const StepNumerics &n) {
  return {c, n.unit * std::fabs(c)};
}

Bounded addF32(const Bounded &a, const Bounded &b);
Bounded mulF32(const Bounded &a, const Bounded &b);

/// Any tree in which no number passes through more than \p depth additions.
Bounded sum(std::span<const Bounded> x, double depth, const StepNumerics &n);

/// Products of f32 accumulated as the contract says: fused multiply-adds in
/// any tree of \p depth, or tensor-core instructions over ascending k.
/// \p dtype is the operands' type (its subnormals are not normalised).
Bounded dot(std::span<const Bounded> a, std::span<const Bounded> b, DType dtype,
            double depth, const StepNumerics &n);

/// The same where tensor-core instructions may take the products in any order,
/// some of them in parallel, as long as no product passes through more than
/// \p depth of them and of f32 additions.
Bounded dotInAnyOrder(std::span<const Bounded> a, std::span<const Bounded> b,
                      DType dtype, double depth, const StepNumerics &n);

/// Around the kernel's own mean c' = c + d the sum is S(c) + n d^2, because the
/// deviations from the true mean cancel: the mean's error enters squared.
Bounded squaresAround(std::span<const Bounded> x, const Bounded &centre,
                      double depth, const StepNumerics &n);

} // namespace tandem::refops

#endif // TANDEM_REFOPS_PRIMITIVES_H
