//===- Mutant.h - The bugs that a tester must find --------------*- C++ -*-===//
//
// Tables of planted bugs, as data: a new op adds a line where it has a mistake
// of its own, and gets the general edits of PTX text without one. What the
// table's edits do not match in any kernel of an op does not apply to it.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_MUTATE_MUTANT_H
#define TANDEM_HARNESS_MUTATE_MUTANT_H

#include "harness/mutate/Plant.h"

namespace tandem::harness {

enum class MutantStage : uint8_t { Recipe, Tile, Ptx, Output, Oracle };
std::string_view stageName(MutantStage stage);

/// One planted bug in one op.
struct Mutant {
  std::string op;
  MutantStage stage = MutantStage::Ptx;
  /// `barrier dropped, the first`.
  std::string name;
  /// Why no test can tell it from the right kernel; empty for most.
  std::string equivalent;
  /// Recipe, Tile and Ptx.
  std::function<void(Recipe &)> editRecipe;
  TextEdit editText;
  /// Output, and the bug that an Oracle mutant is blind to.
  std::function<void(Device &, const std::vector<Operand> &)> editOutput;
  /// Oracle: the check that is left out, as `stage kind` of a failure, or an
  /// edit of the reference.
  std::string blindTo;
  std::function<void(std::vector<refops::Expected> &)> editReference;
};

/// All mutants of \p op.
std::vector<Mutant> mutantsOf(const OpInfo &op);

/// Mutants of the checks themselves.
std::vector<Mutant> oracleMutants();

} // namespace tandem::harness

#endif // TANDEM_HARNESS_MUTATE_MUTANT_H
