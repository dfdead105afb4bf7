//===- Reductions.h - Sums of products, several columns at once -*- C++ -*-===//
//
// What `dot` and the matrix products share, so that both carry the same error.
// Operands are columns of doubles; error and magnitude columns are optional.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_REDUCTIONS_H
#define TANDEM_REFOPS_REDUCTIONS_H

#include "refops/Primitives.h"

namespace tandem::refops {

/// One factor of a dot product over k: `lanes` numbers for each k.
struct Factor {
  const double *value = nullptr;
  /// Null when all are exact.
  const double *error = nullptr;
  /// Upper bounds of the magnitudes that a tensor core aligns its addends by;
  /// null when that is |value|.
  const double *magnitude = nullptr;
};

/// The magnitude of an operand as the tensor core's exponents see it: a
/// subnormal is not normalised, so it counts as the smallest normal number.
inline double alignedMagnitude(const Bounded &x, double smallestNormal) {
  return x.value == 0 && x.error == 0 ? 0
                                      : std::max(x.largest(), smallestNormal);
}

double smallestNormal(DType type);

/// 2^-F and 2^-R.
inline constexpr double addendUnit = 1.0 / (int64_t(1) << dotAddendBits);
inline constexpr double resultUnit = 1.0 / (int64_t(1) << dotResultBits);

/// Running sums of `Lanes` dot products.
template <int Lanes>
struct DotSums {
  double value[Lanes] = {};
  double magnitude[Lanes] = {};  // sum of |a b|
  double operands[Lanes] = {};   // error from the operands
  double truncation[Lanes] = {}; // error of the tensor core

  /// Adds sum over k of a[k] * b[k * Lanes + lane].
  template <bool HasErrors, bool HasMagnitudes>
  void accumulate(const Factor &a, const Factor &b, int64_t k,
                  const StepNumerics &n) {
    const bool isTensorCore = n.dot == StepNumerics::Dot::TensorCore;
    const int64_t chunk = isTensorCore ? n.dotChunk : k;
    for (int64_t begin = 0; begin < k; begin += chunk) {
      const int64_t end = std::min(k, begin + chunk);
      double largest[Lanes];
      for (int l = 0; l < Lanes; ++l)
        largest[l] = std::fabs(value[l]) + operands[l] + truncation[l];
      for (int64_t i = begin; i < end; ++i) {
        const double x = a.value[i];
        const double *w = b.value + i * Lanes;
        for (int l = 0; l < Lanes; ++l) {
          const double product = x * w[l];
          const double absolute = std::fabs(product);
          value[l] += product;
          magnitude[l] += absolute;
          if constexpr (!HasMagnitudes)
            largest[l] = largest[l] < absolute ? absolute : largest[l];
        }
        if constexpr (HasErrors) {
          const double ex = a.error ? a.error[i] : 0;
          for (int l = 0; l < Lanes; ++l) {
            const double ew = b.error ? b.error[i * Lanes + l] : 0;
            operands[l] += (std::fabs(x) + ex) * ew + std::fabs(w[l]) * ex;
          }
        }
        if constexpr (HasMagnitudes)
          for (int l = 0; l < Lanes; ++l)
            largest[l] = std::max(largest[l],
                                  a.magnitude[i] * b.magnitude[i * Lanes + l]);
      }
      if (!isTensorCore)
        continue;
      // Addends lose what is below 2^-F of the largest exponent, the result is
      // truncated to R bits (TESTING, section 3).
      const double addends = static_cast<double>(end - begin + 1);
      for (int l = 0; l < Lanes; ++l) {
        truncation[l] += addends * addendUnit * largest[l];
        const double result = std::fabs(value[l]) + operands[l] + truncation[l];
        truncation[l] +=
            result == 0 ? 0 : std::max(resultUnit * result, 0x1p-149);
      }
    }
  }

  Bounded finish(int lane, int64_t k, double depth,
                 const StepNumerics &n) const;
};

/// A finite sum of \p count numbers whose magnitudes add up to \p magnitude,
/// with the f32 \p error and double's own. Where partial sums may overflow
/// there is no verdict, unless \p overflowIsCertain allows an infinity that no
/// order of additions can avoid.
Bounded finishSum(double value, double magnitude, double error, int64_t count,
                  bool overflowIsCertain);

template <int Lanes>
Bounded DotSums<Lanes>::finish(int lane, int64_t k, double depth,
                               const StepNumerics &n) const {
  const double mass = magnitude[lane] + operands[lane];
  double error = operands[lane];
  const bool isTensorCore = n.dot == StepNumerics::Dot::TensorCore;
  if (isTensorCore)
    error += truncation[lane];
  else if (mass > 0)
    error += depth * n.unit * mass * (1 + depth * n.unit) +
             static_cast<double>(k) * n.floor;
  return finishSum(value[lane], magnitude[lane], error, k, !isTensorCore);
}

} // namespace tandem::refops

#endif // TANDEM_REFOPS_REDUCTIONS_H
