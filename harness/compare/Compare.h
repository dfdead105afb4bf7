//===- Compare.h - A kernel's output against its reference ------*- C++ -*-===//
//
// The rule (TESTING, section 1): with ref the unrounded value and B its error
// bound before the last rounding, y is right iff
//
//     round(ref - B) <= y <= round(ref + B)
//
// where round goes to y's type. Rounding is monotone, so overflow, saturation
// and subnormal outputs need no rule of their own, and B = 0 asks for equal
// bits. The comparison is written so that NaN fails it; a NaN or an infinity
// that is expected must be there.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_COMPARE_COMPARE_H
#define TANDEM_HARNESS_COMPARE_COMPARE_H

#include "harness/compare/Census.h"
#include "harness/compare/Verdict.h"
#include "refops/Evaluate.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem::harness {

/// What the last step of an output decides beyond its value.
struct CompareRules {
  /// Whether the sign of a zero is decided: a computed value whose factors
  /// round may be a zero of either sign.
  bool signOfZero = true;
  /// For steps that move elements without converting them: the bytes that must
  /// be there (a double holds neither every int64 nor a NaN's payload).
  std::vector<std::byte> bytes = {};
  /// Whether a NaN's payload is decided by `bytes`.
  bool nanPayload = true;
};

/// Whether \p bytes, an element of float type \p type, is a right answer.
bool isAccepted(DType type, const std::byte *bytes, double ref, double bound,
                const CompareRules &rules = {});

/// |y - ref| in units of the bound and half the spacing of \p type; 0 for an
/// expected NaN or infinity, infinite for one that is not expected.
double observedRatio(DType type, double y, double ref, double bound);

struct Comparison {
  Receipt receipt;
  /// Wrong, if any: kind and message of the first wrong element.
  std::optional<Failure> failure;
  int64_t numWrong = 0;
  /// What the elements with a verdict are.
  Census census;
  /// Whether every zero that is expected is one.
  bool zerosMatch = true;
};

/// Compares one output. \p bytes holds its elements in row-major order;
/// \p untouched[i] is 1 where element i still holds the poison it was given
/// (may be empty: unknown).
Comparison compareOutput(const std::string &name,
                         const refops::Expected &expected,
                         std::span<const std::byte> bytes,
                         std::span<const uint8_t> untouched,
                         const CompareRules &rules = {});

/// Why a right output proves nothing, or nothing if it proves something: see
/// Census. An output may be full of what \p expect (`nan`, `zero`) declares, if
/// it is so exactly.
std::optional<std::string> vacuity(const Comparison &comparison,
                                   const std::string &expect);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_COMPARE_COMPARE_H
