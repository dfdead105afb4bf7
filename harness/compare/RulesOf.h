//===- RulesOf.h - What a recipe decides beyond values ----------*- C++ -*-===//
//
// The one place that says how strictly the outputs of a recipe are compared:
// the search, `tandem run --check` and the C interface's check ask it.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_COMPARE_RULESOF_H
#define TANDEM_HARNESS_COMPARE_RULESOF_H

#include "harness/compare/Compare.h"
#include "refops/core/Recipe.h"

#include <functional>

namespace tandem::harness {

/// Runs the reference and writes its rounded outputs.
using RunReference =
    std::function<Result<void>(const Recipe &, const std::vector<View> &inputs,
                               const std::vector<View> &outputs)>;

/// The rules for an output with \p desc (contiguous) of \p recipe on \p inputs.
/// \p runReference may be empty: then moved elements are compared as values.
/// Fails when the reference does.
Result<CompareRules> rulesOf(const Recipe &recipe,
                             const std::vector<View> &inputs,
                             const TensorDesc &desc,
                             const RunReference &runReference);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_COMPARE_RULESOF_H
