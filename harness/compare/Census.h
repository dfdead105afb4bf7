//===- Census.h - What an output is full of ---------------------*- C++ -*-===//
//
// An output that is mostly zeros, NaN or one constant proves nothing: a broken
// kernel could give the same (TESTING, section 2). The comparison counts what a
// kernel wrote, the generator what its reference would write.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_COMPARE_CENSUS_H
#define TANDEM_HARNESS_COMPARE_CENSUS_H

#include "refops/core/DType.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace tandem::harness {

/// What most of an output is.
enum class Vacuity : uint8_t { None, Zero, NaN, Constant };

/// `mostly zero`; empty for None.
std::string vacuityText(Vacuity vacuity);

/// Counts the elements of one output that have a verdict.
class Census {
public:
  /// Adds one element of \p type.
  void add(DType type, const std::byte *element);

  int64_t size() const { return checked; }

  /// More than half is NaN, zero or one constant, asked in this order. Outputs
  /// of fewer than four elements are neither zero nor constant: one index 0 is
  /// an answer, many of them are not.
  Vacuity vacuity() const;

private:
  int64_t checked = 0, zeros = 0, nans = 0, mostCommon = 0;
  /// Over a sample of the first elements: vacuity is a property of the whole.
  std::unordered_map<uint64_t, int64_t> histogram;
};

} // namespace tandem::harness

#endif // TANDEM_HARNESS_COMPARE_CENSUS_H
