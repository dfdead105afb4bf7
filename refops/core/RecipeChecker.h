//===- RecipeChecker.h - The checks of a recipe's steps ---------*- C++ -*-===//
//
// Shared by readRecipe and checkRecipe, so that both give the same messages.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_RECIPECHECKER_H
#define TANDEM_REFOPS_CORE_RECIPECHECKER_H

#include "refops/core/JsonText.h"
#include "refops/core/Recipe.h"

#include <optional>
#include <vector>

namespace tandem {

/// What a reader could make of a step. Parts that were already reported are
/// absent, and what depends on them is not checked again.
struct DraftStep {
  /// Null if it was reported.
  const OpInfo *op = nullptr;
  /// Whether args, outs and params are as the step has them; if not, the step
  /// is not typed.
  bool isComplete = true;
  std::vector<std::optional<ValueRef>> args;
  std::vector<std::optional<ValueRef>> outs;
  Params params;
  std::optional<std::vector<Dim>> outShape;
  std::optional<DType> outDtype;
};

/// A recipe with its inputs and outputs, and drafts of its steps.
struct DraftRecipe {
  Recipe recipe;
  /// Whether there is a list of inputs (outputs) at all.
  bool hasInputs = true;
  bool hasOutputs = true;
  /// Whether a type was reported, so that it must not be checked again; one
  /// entry an input (output).
  std::vector<bool> inputIsBad;
  std::vector<bool> outputIsBad;
  std::vector<DraftStep> steps;
};

/// Checks names and shapes of inputs and outputs, and marks the bad ones.
void checkInterface(DraftRecipe &draft, Messages &messages);

/// Checks and types the steps; gives the finished recipe with its warnings, or
/// everything in \p messages.
Result<Recipe> finishRecipe(DraftRecipe draft, Messages &messages);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_RECIPECHECKER_H
