//===- TunedKey.cpp - What a tuned schedule is found by -------------------===//
#include "codegen/TunedSchedules.h"

#include "codegen/fuse/Partition.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <bit>

using namespace tandem;
using namespace tandem::codegen;

/// The recipe with names that depend on nothing but order. \p symbols becomes
/// the old names of the symbols, in the order of their new ones.
static Recipe withoutNames(Recipe recipe, std::vector<std::string> &symbols) {
  const auto rename = [&](TensorType &type) {
    for (Dim &dim : type.shape) {
      if (!dim.isSymbol())
        continue;
      auto found = std::ranges::find(symbols, dim.symbol());
      if (found == symbols.end())
        found = symbols.insert(symbols.end(), dim.symbol());
      dim = Dim("d" + std::to_string(found - symbols.begin()));
    }
  };
  recipe.name = "recipe";
  for (size_t i = 0; i < recipe.inputs.size(); ++i) {
    recipe.inputs[i].name = "in" + std::to_string(i);
    rename(recipe.inputs[i].type);
  }
  for (Step &step : recipe.steps)
    for (TensorType &type : step.results)
      rename(type);
  for (size_t i = 0; i < recipe.outputs.size(); ++i) {
    recipe.outputs[i].name = "out" + std::to_string(i);
    rename(recipe.outputs[i].type);
  }
  return recipe;
}

static bool isRowWise(const Recipe &recipe) {
  const Partition parts = partition(recipe, buildGraph(recipe), true);
  return std::ranges::all_of(parts.kernels, [](const KernelPlan &plan) {
    return plan.family == Family::RowWise;
  });
}

static bool isLastDim(const Recipe &recipe, const std::string &symbol) {
  return std::ranges::any_of(recipe.inputs, [&](const RecipeInput &input) {
    const std::vector<Dim> &shape = input.type.shape;
    return !shape.empty() && shape.back().isSymbol() &&
           shape.back().symbol() == symbol;
  });
}

std::string tandem::tunedKey(const Recipe &recipe, const DimBindings &dims,
                             std::string_view target) {
  for (const Step &step : recipe.steps)
    if (step.params.getBool("invariant", false))
      return "";
  std::vector<std::string> symbols;
  std::string text = writeRecipe(withoutNames(recipe, symbols));
  const bool onlyColumns = isRowWise(recipe);
  for (const std::string &symbol : symbols) {
    const auto size = dims.find(symbol);
    if (size == dims.end() || (onlyColumns && !isLastDim(recipe, symbol)))
      text += " any";
    else
      text += " " + std::to_string(std::bit_width(static_cast<uint64_t>(
                        std::max<int64_t>(size->second, 0))));
  }
  text += " ";
  text += target;
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text));
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 16);
}
