//===- KnownAnswers.h - Known answers in memory -----------------*- C++ -*-===//
#ifndef TANDEM_REFOPS_KNOWNANSWERS_H
#define TANDEM_REFOPS_KNOWNANSWERS_H

#include "refops/RefOp.h"

namespace tandem::refops {

/// A tensor that owns its dense bytes.
struct HostTensor {
  TensorDesc desc;
  std::vector<std::byte> bytes;

  HostTensor() = default;
  /// Each value rounded once to the dtype.
  HostTensor(DType dtype, const Dims &shape, const std::vector<double> &values);
  explicit HostTensor(const KnownTensor &known)
      : HostTensor(known.dtype, known.shape, known.values) {}
  /// \p fill in every element.
  static HostTensor filled(DType dtype, const Dims &shape, double fill);

  View view() { return {desc, bytes.data()}; }
  double at(int64_t linear) const {
    return loadDouble(desc.dtype,
                      bytes.data() +
                          linear * static_cast<int64_t>(dtypeSize(desc.dtype)));
  }
};

/// Distance of two numbers of \p dtype in units in the last place: the number
/// of values between them. NaN and NaN are 0 apart, zeros of different sign
/// half a unit; a NaN or infinity and anything else are infinitely far apart.
double ulpDistance(DType dtype, double a, double b);

/// The outputs of \p answer's op on its inputs.
Result<std::vector<HostTensor>> runKnownAnswer(const RefOp &op,
                                               const KnownAnswer &answer);

} // namespace tandem::refops

#endif // TANDEM_REFOPS_KNOWNANSWERS_H
