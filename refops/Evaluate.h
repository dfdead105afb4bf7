//===- Evaluate.h - What a recipe should give, and how wrong ----*- C++ -*-===//
//
// The references' public face. They see no MLIR and no generated code.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_EVALUATE_H
#define TANDEM_REFOPS_EVALUATE_H

#include "refops/core/Contract.h"
#include "refops/core/Recipe.h"

#include <cstdint>
#include <vector>

namespace tandem::refops {

/// One output of a recipe, elements in row-major order.
struct Expected {
  TensorDesc desc;
  /// The unrounded value.
  std::vector<double> value;
  /// How far a correct kernel may be from it before its last rounding; 0 asks
  /// for the rounded value bit for bit.
  std::vector<double> error;
  /// 1 where no verdict is possible (an intermediate may have overflowed), and
  /// for elements that the op does not write: 2 (they must stay untouched).
  std::vector<uint8_t> unchecked;
  /// For index outputs: the other indices that a computed near-tie allows;
  /// empty when only `value` is right.
  std::vector<std::vector<int64_t>> alternatives;
};

struct EvaluateOptions {
  /// Worker threads.
  int jobs = 1;
};

/// Evaluates \p recipe on host views with the error-carrying number type under
/// \p contract (one StepContract a step; a step without one is exact).
/// Fails on what SEMANTICS calls an error (an id outside its table), naming
/// step, row and index; `partial` semantics for such rows are in IndexErrors.
Result<std::vector<Expected>> evaluate(const Recipe &recipe,
                                       const std::vector<View> &inputs,
                                       const Contract &contract,
                                       const EvaluateOptions &options = {});

/// Evaluates in plain double and writes the outputs, each rounded once at every
/// declared scratch and output type. In-place operands are updated in \p
/// inputs.
Result<void> run(const Recipe &recipe, const std::vector<View> &inputs,
                 const std::vector<View> &outputs,
                 const EvaluateOptions &options = {});

} // namespace tandem::refops

#endif // TANDEM_REFOPS_EVALUATE_H
