//===- Values.h - Values that find bugs -------------------------*- C++ -*-===//
//
// Each kind is a pure function of (seed, position), so a spec of a few words
// stands for a tensor of any size, and a row keeps its values when the number
// of rows changes. Distribution beats volume: uniform numbers see none of the
// classic softmax bugs, random floats never see an argmax tie (TESTING, 4).
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_GEN_VALUES_H
#define TANDEM_HARNESS_GEN_VALUES_H

#include "harness/case/CaseSpec.h"
#include "harness/case/Choices.h"

#include <span>

namespace tandem::harness {

struct ValueKind {
  std::string_view name;
  /// Relative frequency for operands that are reduced over, and for others.
  int weightReduced;
  int weightOther;
  /// Small integers: sums of their products are exact in any order.
  bool isExact;
};

/// Float kinds from the simplest to the least simple.
std::span<const ValueKind> valueKinds();
/// Patches; index 0 is `none`.
std::span<const std::string_view> patchKinds();

/// Whether sums of products of such values are exact in f32.
bool isExact(const ValueSpec &spec);

/// Draws how to fill an operand of \p type. \p isReduced: its values meet in a
/// sum or a maximum. \p limit > 0: the values are indices below it. \p exact:
/// only kinds whose sums of products are exact.
ValueSpec drawValues(Choices &choices, DType type, bool isReduced,
                     int64_t limit, bool exact = false);

/// Writes all elements of \p view, which is contiguous. Fails on an unknown
/// kind or patch.
Result<void> fillValues(const ValueSpec &spec, const View &view);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_GEN_VALUES_H
