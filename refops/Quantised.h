//===- Quantised.h - Weights of 4 and 8 bits --------------------*- C++ -*-===//
#ifndef TANDEM_REFOPS_QUANTISED_H
#define TANDEM_REFOPS_QUANTISED_H

#include "refops/RefOp.h"

namespace tandem::refops {

/// Weights [N, K] as SEMANTICS freezes them: int8 as they are, or two int4 a
/// byte, low nibble first, each stored plus 8.
class Quantised {
public:
  /// \p q is int8 [N, K] or uint8 [N, ceil(K/2)]; \p zeros may be null.
  Quantised(const Source &q, const Source &scales, const Source *zeros,
            int64_t columns, const Params &params);

  /// Reads row \p row as (q - zero) * scale, not rounded. \p asIntegers: the
  /// kernel may multiply q - zero in 16 bits and scale the sum; no verdict on
  /// what these do not hold, nor where the scale is infinite.
  template <typename T>
  void readRow(int64_t row, T *out, const StepNumerics &numerics,
               bool asIntegers = false) const;

  int64_t columns() const { return numColumns; }
  /// Neighbouring columns that share a scale; the last group may be shorter.
  int64_t group() const { return groupSize; }

private:
  Source q, scales;
  std::optional<Source> zeros;
  int64_t numColumns, groupSize;
};

} // namespace tandem::refops

#endif // TANDEM_REFOPS_QUANTISED_H
