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

/// One output or state of a recipe, elements in row-major order.
struct Expected {
  TensorDesc desc;
  /// Whether `value` is as memory holds it, rounded: true of states, where an
  /// infinity of float8 was there before and is not a result that saturates.
  bool isStored = false;
  /// The unrounded value.
  std::vector<double> value;
  /// How far a correct kernel may be from it before its last rounding; 0 asks
  /// for the rounded value bit for bit.
  std::vector<double> error;
  /// 1 where no verdict is possible (an intermediate may have overflowed, or
  /// the element depends on a row with a bad index), and for elements that the
  /// op does not write: 2 (they must stay untouched). `error` means nothing
  /// there.
  std::vector<uint8_t> unchecked;
  /// For integer outputs: the other indices that a computed near-tie allows, or
  /// the other integers that a computed number may truncate to. One list an
  /// element, empty when only `value` is right; no lists at all when
  /// that holds for every element.
  std::vector<std::vector<int64_t>> alternatives;
  /// For int64 outputs `value` exactly: a double holds integers up to 2^53.
  std::vector<int64_t> integers;
};

/// An index that only the device sees, and that is outside its table or cache.
struct IndexFault {
  int step = 0;
  /// Row of the step's output, counted in row-major order: the first of a
  /// sequence whose window is wrong. KV_APPEND has none: row of the new rows.
  int64_t row = 0;
  /// The id or slot; of a window its start, its negative length, or its last
  /// slot, whichever is wrong.
  int64_t index = 0;
  bool operator==(const IndexFault &) const = default;
};

struct EvaluateOptions {
  /// Worker threads. The result does not depend on it.
  int jobs = 1;
  /// If given, index faults do not fail the call: they are appended here in
  /// order of (step, row), so that the first one is what a device reports. The
  /// row stays untouched in an output of the step itself, and has no verdict
  /// where a later step computes with it.
  std::vector<IndexFault> *faults = nullptr;
};

/// Gives what a call should write, in the order of writtenValues: outputs, then
/// states, whose old values in \p inputs stay as they are.
/// Evaluates \p recipe on host views with the error-carrying number type under
/// \p contract: one StepContract a step. A step without one is exact real
/// arithmetic; one whose contract lacks the depth or dot product that its op
/// needs is an error, so that silence never widens a bound.
/// Fails on what SEMANTICS calls an error (an id outside its table), naming
/// step, row and index; see EvaluateOptions::faults.
Result<std::vector<Expected>> evaluate(const Recipe &recipe,
                                       const std::vector<View> &inputs,
                                       const Contract &contract,
                                       const EvaluateOptions &options = {});

/// Evaluates in plain double and writes the outputs, each rounded once at every
/// declared scratch and output type. In-place operands are updated in \p
/// inputs. An output may be the same memory as an input.
Result<void> run(const Recipe &recipe, const std::vector<View> &inputs,
                 const std::vector<View> &outputs,
                 const EvaluateOptions &options = {});

} // namespace tandem::refops

#endif // TANDEM_REFOPS_EVALUATE_H
