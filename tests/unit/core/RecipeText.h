//===- RecipeText.h - Recipes that tests spoil in one place -----*- C++ -*-===//
#ifndef TANDEM_TESTS_UNIT_CORE_RECIPETEXT_H
#define TANDEM_TESTS_UNIT_CORE_RECIPETEXT_H

#include "refops/core/Recipe.h"

#include <string>
#include <string_view>

namespace tandem::recipetext {
/// All messages of a failed reading, one a line; or "read" when it succeeds.
inline std::string errorsOf(std::string_view text) {
  const Result<Recipe> recipe = readRecipe(text, "r.json");
  return recipe ? "read" : recipe.error().text();
}

/// A wrapper with inputs x: bfloat16[M, 64] and w: bfloat16[64], output
/// y: bfloat16[M, 64], around \p steps.
inline std::string around(const std::string &steps) {
  return R"({"name": "r", "inputs": [
      {"name": "x", "dtype": "bfloat16", "shape": ["M", 64]},
      {"name": "w", "dtype": "bfloat16", "shape": [64]}],
    "outputs": [{"name": "y", "dtype": "bfloat16", "shape": ["M", 64]}],
    "recipe": {"steps": )" +
         steps + "}}";
}

inline std::string errorsAround(const std::string &steps) {
  return errorsOf(around(steps));
}

/// A step that is right, in which tests spoil one thing.
inline const std::string norm =
    R"({"op": "RMSNORM", "args": [{"in": 0}, {"in": 1}], "out": "final"})";
} // namespace tandem::recipetext

#endif // TANDEM_TESTS_UNIT_CORE_RECIPETEXT_H
