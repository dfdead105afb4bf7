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

/// A tensor core's sums that leave it along k: each segment starts from zero
/// and is added to an f32 sum in ascending order.
struct Segments {
  /// Elements of k in a segment; 0 where there is one only.
  int64_t length = 0;
  /// f32 roundings of a segment's sum before it is added (a group's scale).
  int roundings = 0;
};

/// Running sums of `Lanes` dot products.
template <int Lanes>
struct DotSums {
  Segments segments;
  double value[Lanes] = {};
  double magnitude[Lanes] = {};  // sum of |a b|
  double operands[Lanes] = {};   // error from the operands
  double truncation[Lanes] = {}; // error of the tensor core

  /// Adds sum over k of a[k] * b[k * Lanes + lane].
  template <bool HasErrors, bool HasMagnitudes>
  void accumulate(const Factor &a, const Factor &b, int64_t k,
                  const StepNumerics &n) {
    if (n.dot != StepNumerics::Dot::TensorCore) {
      double unused[Lanes] = {};
      return addProducts<HasErrors, HasMagnitudes>(a, b, 0, k, unused);
    }
    const int64_t segment = segments.length ? segments.length : k;
    for (int64_t first = 0; first < k; first += segment) {
      const DotSums before = *this;
      const int64_t last = std::min(k, first + segment);
      for (int64_t begin = first; begin < last; begin += n.dotChunk)
        addChunk<HasErrors, HasMagnitudes>(
            a, b, begin, std::min(last, begin + n.dotChunk), before, n);
      if (segments.length)
        addSegment(before, n);
    }
  }

private:
  /// One instruction: addends lose what is below 2^-F of the largest exponent,
  /// the result is truncated to R bits (TESTING, section 3).
  template <bool HasErrors, bool HasMagnitudes>
  void addChunk(const Factor &a, const Factor &b, int64_t begin, int64_t end,
                const DotSums &before, const StepNumerics &n) {
    double largest[Lanes];
    for (int l = 0; l < Lanes; ++l)
      largest[l] = accumulated(before, l);
    addProducts<HasErrors, HasMagnitudes>(a, b, begin, end, largest);
    const double addends = static_cast<double>(end - begin + 1);
    for (int l = 0; l < Lanes; ++l) {
      truncation[l] += addends * n.addendUnit * largest[l];
      const double result = accumulated(before, l);
      truncation[l] +=
          result == 0 ? 0 : std::max(n.resultUnit * result, 0x1p-149);
    }
  }

  /// The most that the accumulator may hold since \p before.
  double accumulated(const DotSums &before, int l) const {
    return std::fabs(value[l] - before.value[l]) +
           (operands[l] - before.operands[l]) +
           (truncation[l] - before.truncation[l]);
  }

  /// Instructions need not start where segments do: one more result may be
  /// truncated. Then the segment's sum is scaled and added in f32.
  void addSegment(const DotSums &before, const StepNumerics &n) {
    for (int l = 0; l < Lanes; ++l) {
      const double own = accumulated(before, l);
      if (own == 0)
        continue;
      const double ownError =
          (n.resultUnit + segments.roundings * n.unit) * own +
          segments.roundings * n.floor;
      const double total = std::fabs(value[l]) + operands[l] + truncation[l];
      const bool isFirst = before.magnitude[l] == 0;
      truncation[l] +=
          ownError +
          (isFirst ? 0 : std::max(n.unit * (total + ownError), n.floor));
    }
  }

  template <bool HasErrors, bool HasMagnitudes>
  void addProducts(const Factor &a, const Factor &b, int64_t begin, int64_t end,
                   double (&largest)[Lanes]) {
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
          largest[l] =
              std::max(largest[l], a.magnitude[i] * b.magnitude[i * Lanes + l]);
    }
  }

public:
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
