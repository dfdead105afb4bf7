//===- Generate.h - From choices to a case ----------------------*- C++ -*-===//
//
// One generator for all ops: operands and dims follow the op's signature, so a
// new op is fuzzed without a word here (harness/gen/Rules.h holds what a
// signature cannot say).
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_GEN_GENERATE_H
#define TANDEM_HARNESS_GEN_GENERATE_H

#include "harness/case/Case.h"

namespace tandem::harness {

/// Spells out what \p choices mean in \p scope. Every choice sequence gives a
/// valid case; an Error is a fault of the generator (or of a recipe whose
/// symbols cannot be bound).
Result<CaseSpec> generate(const std::string &scope,
                          const std::optional<Recipe> &recipe,
                          Choices &choices);

/// A random case: choices drawn from \p seed, recorded in the result. Most
/// draws that would prove nothing (harness/gen/Foresight.h) are thrown away: a
/// choice sequence still means the same case, only the odds change.
Result<Case> randomCase(const std::string &scope,
                        const std::optional<Recipe> &recipe, uint64_t seed);

/// Regenerates a case's spec.
Result<CaseSpec> specOf(const Case &theCase);

/// Longest chain that `chain` generates.
inline constexpr int maxChainSteps = 4;

} // namespace tandem::harness

#endif // TANDEM_HARNESS_GEN_GENERATE_H
