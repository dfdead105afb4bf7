//===- Primitives.cpp - Elementwise operations with their errors ----------===//
#include "refops/Primitives.h"

using namespace tandem;
using namespace tandem::refops;

Bounded detail::nonFinite(double value, const Bounded &a, const Bounded &b,
                          bool certain) {
  if (a.isCertainNan() || b.isCertainNan())
    return {std::numeric_limits<double>::quiet_NaN(), 0};
  if (!certain || !a.hasVerdict() || !b.hasVerdict())
    return noVerdict(value);
  return {value, 0};
}

/// Whether the sign, or being zero, is the same for all numbers within the
/// error.
static bool hasCertainSign(const Bounded &x) {
  return x.error == 0 || std::fabs(x.value) > x.error;
}

Bounded detail::mulNonFinite(double value, const Bounded &a, const Bounded &b) {
  // An infinity times what may be zero may be NaN.
  return nonFinite(value, a, b, hasCertainSign(a) && hasCertainSign(b));
}

Bounded detail::divideByNearZero(double value, const Bounded &a,
                                 const Bounded &b) {
  return nonFinite(value, a, b, b.error == 0 && hasCertainSign(a));
}

Bounded tandem::refops::addF32(const Bounded &a, const Bounded &b) {
  const double value = a.value + b.value;
  if (!std::isfinite(value))
    return detail::nonFinite(value, a, b, true);
  return roundedTo(DType::F32, Bounded(value, a.error + b.error));
}

Bounded tandem::refops::mulF32(const Bounded &a, const Bounded &b) {
  const double value = a.value * b.value;
  if (!std::isfinite(value))
    return detail::mulNonFinite(value, a, b);
  const double error = a.largest() * b.error + std::fabs(b.value) * a.error;
  return roundedTo(DType::F32, Bounded(value, error));
}

Bounded tandem::refops::mulAdd(const Bounded &a, const Bounded &b,
                               const Bounded &c, const StepNumerics &n) {
  const Bounded twice = add(mul(a, b, n), c, n);
  // Within its error is a result of one rounding, too, unless the product
  // overflows on its own and the sum may not.
  const double product = a.value * b.value;
  if (!std::isfinite(product) || std::isnan(c.value) ||
      a.largest() * b.largest() < f32Overflow)
    return twice;
  const double once = product + c.value;
  const double slack =
      a.largest() * b.error + std::fabs(b.value) * a.error + c.error;
  const bool overflowsAnyway =
      std::fabs(once) - slack >= f32Overflow && once * product > 0;
  return overflowsAnyway ? twice : withoutVerdict(twice);
}

Bounded tandem::refops::div(const Bounded &a, const Bounded &b,
                            const StepNumerics &n) {
  const double value = a.value / b.value;
  if (std::fabs(b.value) <= b.error)
    return detail::divideByNearZero(value, a, b);
  if (!std::isfinite(value))
    return detail::mulNonFinite(value, a, b);
  double error =
      (a.error + std::fabs(value) * b.error) / (std::fabs(b.value) - b.error);
  if (n.rcp)
    error += n.rcp->relative * (std::fabs(value) + error) +
             n.rcp->absolute * a.largest();
  return detail::rounded(value, error, n);
}

Bounded tandem::refops::sqrt(const Bounded &x, const StepNumerics &n) {
  const double value = std::sqrt(x.value);
  if (x.error == 0)
    return std::isfinite(value) ? detail::rounded(value, 0, n)
                                : Bounded(value, 0);
  if (x.value - x.error <= 0)
    return noVerdict(value);
  return detail::rounded(value, value - std::sqrt(x.value - x.error), n);
}

Bounded tandem::refops::rsqrt(const Bounded &x, const StepNumerics &n) {
  const double value = 1 / std::sqrt(x.value);
  double error = 0;
  if (x.error > 0 || !x.hasVerdict()) {
    if (!(x.value - x.error > 0))
      return noVerdict(value);
    error = 1 / std::sqrt(x.value - x.error) - value;
  } else if (!std::isfinite(value) || std::isinf(x.value)) {
    return {value, 0}; // of zero, of a negative number, of infinity
  }
  if (n.rsqrt)
    return detail::approximated(value, error, n.rsqrt, x.value, n);
  // A root, then a division: two roundings.
  return detail::rounded(value, error + n.unit * (value + error), n);
}

Bounded tandem::refops::exp(const Bounded &x, const StepNumerics &n) {
  const double value = std::exp(x.value);
  if (!x.hasVerdict())
    return noVerdict(value);
  if (!std::isfinite(x.value)) // exp(-inf) is exactly 0
    return {value, 0};
  double error = 0;
  if (x.error > 1) // value may be 0 and expm1 infinite
    error = std::exp(x.value + x.error) * (1 + 0x1p-20) - value;
  else if (x.error > 0)
    error = value * std::expm1(x.error);
  if (!(error < infinity))
    return noVerdict(value);
  return detail::approximated(value, error, n.exp, x.largest(), n);
}

Bounded tandem::refops::sigmoid(const Bounded &x, const StepNumerics &n) {
  const double value = sigmoid(x.value, n);
  if (!x.hasVerdict())
    return noVerdict(value);
  if (!std::isfinite(x.value))
    return {value, 0};
  // The logarithmic derivative is 1 - sigmoid(x); over the error's interval it
  // grows by exp(error) at most.
  const double complement = sigmoid(-x.value, n);
  double error = 0;
  if (x.error > 0)
    error = std::min(
        1.0, value * std::expm1(x.error * complement * std::exp(x.error)));
  if (!n.sigmoid && !n.exp)
    return detail::rounded(value, error, n);
  // With E = exp(-|x|) and its error rho, both forms are wrong by
  // (1 - sigmoid) rho and one addition and one division.
  const ApproxError &e = *findApproxError("exp");
  const double rho = e.relative + e.argument * x.largest();
  double rest = 2 * n.unit;
  if (n.sigmoid)
    rest = n.sigmoid->relative - e.relative;
  if (n.rcp)
    rest += n.rcp->relative + n.unit;
  const double absolute = n.sigmoid ? n.sigmoid->absolute : e.absolute;
  error += (value + error) * (rho * complement * (1 + 0x1p-10) + rest) +
           std::max(absolute, n.floor);
  return {value, error};
}

Bounded tandem::refops::erfc(const Bounded &x, const StepNumerics &n) {
  const double value = std::erfc(x.value);
  if (!x.hasVerdict())
    return noVerdict(value);
  if (!std::isfinite(x.value))
    return {value, 0};
  double error = 0;
  if (x.error * (1 + std::fabs(x.value)) > 0x1p-6) {
    error = std::max(std::erfc(x.value - x.error) - value,
                     value - std::erfc(x.value + x.error));
  } else if (x.error > 0 && x.value >= 0) {
    // |erfc'(x)| < erfc(x) (x + sqrt(x^2 + 2)) for x >= 0 (Birnbaum's bound on
    // Mills' ratio), and erfc' grows by exp(2 x error) over the interval.
    error = x.error * value * (x.value + std::sqrt(x.value * x.value + 2)) *
            std::exp(2 * x.value * x.error);
  } else if (x.error > 0) {
    const double nearest = std::max(0.0, -x.value - x.error);
    const double twoOverSqrtPi = 1.1283791670955126;
    error = x.error * twoOverSqrtPi * std::exp(-nearest * nearest);
  }
  return detail::approximated(value, error, n.erfc, x.largest(), n);
}

Bounded tandem::refops::tanh(const Bounded &x, const StepNumerics &n) {
  const double value = std::tanh(x.value);
  if (!x.hasVerdict())
    return noVerdict(value);
  if (!std::isfinite(x.value))
    return {value, 0};
  double error = 0;
  if (x.error > 0) {
    const double cosh = std::cosh(x.value);
    error = std::min(
        {2.0, x.error, x.error / (cosh * cosh) * std::exp(2 * x.error)});
  }
  return detail::approximated(value, error, n.tanh, x.largest(), n);
}

Bounded tandem::refops::sin(const Bounded &x, const StepNumerics &n) {
  const double value = std::sin(x.value);
  if (!x.hasVerdict())
    return noVerdict(value);
  // Exactly 0 of 0; NaN of infinities.
  if (!std::isfinite(x.value) || (x.value == 0 && x.error == 0))
    return {value, 0};
  return detail::approximated(value, std::min(2.0, x.error), n.sin, x.largest(),
                              n);
}

Bounded tandem::refops::cos(const Bounded &x, const StepNumerics &n) {
  const double value = std::cos(x.value);
  if (!x.hasVerdict())
    return noVerdict(value);
  if (!std::isfinite(x.value))
    return {value, 0};
  return detail::approximated(value, std::min(2.0, x.error), n.cos, x.largest(),
                              n);
}

Bounded tandem::refops::belowMaximum(const Bounded &x, const Bounded &m,
                                     const StepNumerics &n) {
  if (!m.hasVerdict())
    return noVerdict(x.value - m.value);
  Bounded t = sub(x, Bounded(m.value), n);
  t.error += n.unit * m.error;
  return t;
}

Bounded tandem::refops::weight(const Bounded &shifted, double rescales,
                               const StepNumerics &n) {
  Bounded w = exp(shifted, n);
  if (w.error == 0 || !w.hasVerdict() || rescales == 0)
    return w;
  // Each time an exponential and a product.
  const double relative = n.exp ? n.exp->relative + n.unit : 2 * n.unit;
  const double absolute = n.exp ? n.exp->absolute + n.floor : 2 * n.floor;
  w.error +=
      w.largest() * std::expm1(rescales * relative) + rescales * absolute;
  return w;
}

Bounded tandem::refops::roundedWeight(const Bounded &w, DType type,
                                      const StepNumerics &n) {
  const bool isHalf = type == DType::F16;
  const bool isExactZero = w.value == 0 && w.error == 0;
  if ((!isHalf && type != DType::BF16) || n.isExact || isExactZero ||
      !std::isfinite(w.value))
    return w;
  // Unit roundoff, and half the spacing of subnormals.
  const double unit = isHalf ? 0x1p-11 : 0x1p-8;
  return {w.value, w.error + unit * w.largest() + smallestSubnormal(type) / 2};
}

Bounded tandem::refops::inUnitsOfLog2(const Bounded &s) {
  return std::isfinite(s.value) && s.largest() >= 0x1p127 / 1.4426950408889634
             ? noVerdict(s.value)
             : s;
}

Bounded tandem::refops::fromUnitsOfLog2(const Bounded &m,
                                        const StepNumerics &n) {
  if (!std::isfinite(m.value))
    return m;
  // Times a rounded log(2), as a rounded product.
  return {m.value, m.error + 2 * n.unit * m.largest()};
}

Bounded tandem::refops::dequantised(const Bounded &q, const Bounded &zero,
                                    const Bounded &scale,
                                    const StepNumerics &n) {
  const double integer = q.value - zero.value;
  double error = q.error + zero.error;
  if (std::isfinite(integer) && integer != static_cast<float>(integer))
    error += n.unit * std::fabs(integer);
  const Bounded difference(integer, error);
  const double value = integer * scale.value;
  if (!std::isfinite(value))
    return detail::mulNonFinite(value, difference, scale);
  return {value,
          difference.largest() * scale.error + std::fabs(scale.value) * error};
}
