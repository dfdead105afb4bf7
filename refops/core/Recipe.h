//===- Recipe.h - A fused op sequence ---------------------------*- C++ -*-===//
//
// The JSON form is SEMANTICS, "FUSED recipes": a wrapper with name, inputs and
// outputs around `{"steps": [...]}`. A Recipe that exists is valid: every step
// is checked and typed.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_RECIPE_H
#define TANDEM_REFOPS_CORE_RECIPE_H

#include "refops/core/Signature.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// Limits of the format (SEMANTICS).
inline constexpr size_t maxSteps = 1024;
inline constexpr size_t maxRecipeBytes = 16u << 20;

/// What a step reads or writes.
struct ValueRef {
  enum class Kind : uint8_t { Input, Scratch, Final };
  Kind kind = Kind::Input;
  int index = 0;
  bool operator==(const ValueRef &) const = default;
};

struct Step {
  Opcode op = Opcode::NOP;
  std::vector<ValueRef> args;
  std::vector<ValueRef> outs;
  Params params;
  /// Types of `outs`, inferred or as declared.
  std::vector<TensorType> results;
  bool operator==(const Step &) const = default;
};

struct RecipeInput {
  std::string name;
  TensorType type;
  /// Updated in place by the op that takes it.
  bool isState = false;
  bool operator==(const RecipeInput &) const = default;
};

struct RecipeOutput {
  std::string name;
  TensorType type;
  bool operator==(const RecipeOutput &) const = default;
};

struct Recipe {
  std::string name;
  std::vector<RecipeInput> inputs;
  std::vector<RecipeOutput> outputs;
  std::vector<Step> steps;
  /// Things that are legal but probably not meant: unused inputs or results.
  std::vector<std::string> warnings;

  bool operator==(const Recipe &other) const {
    return name == other.name && inputs == other.inputs &&
           outputs == other.outputs && steps == other.steps;
  }
};

/// Reads and checks a recipe. Fails with *all* errors, each
/// `file: steps[i].args[j]: ...`. \p file is only used in messages.
Result<Recipe> readRecipe(std::string_view json, std::string_view file);

/// Checks a recipe that was built in memory and fills in `results` and
/// `warnings`; the same messages as readRecipe.
Result<Recipe> checkRecipe(Recipe recipe, std::string_view file);

/// Canonical JSON: reading it gives an equal recipe.
std::string writeRecipe(const Recipe &recipe);

/// A recipe of one step whose inputs and outputs are the op's own.
Result<Recipe> singleOpRecipe(Opcode op, std::vector<TensorType> inputs,
                              Params params = {},
                              std::optional<DType> outDtype = std::nullopt);

/// Whether an input is updated in place.
bool hasState(const Recipe &recipe);

/// What a call of the recipe writes: its outputs, then its states, each in
/// order.
std::vector<RecipeOutput> writtenValues(const Recipe &recipe);

/// Values of the symbolic dims.
using DimBindings = std::map<std::string, int64_t, std::less<>>;

/// Binds symbols from the actual inputs, and checks dtype, rank, every fixed
/// dim, stride signs, and that dims agree where a symbol repeats.
Result<DimBindings> bindDims(const Recipe &recipe,
                             const std::vector<TensorDesc> &inputs);

/// The shape with symbols replaced.
Dims bindShape(const std::vector<Dim> &shape, const DimBindings &bindings);

/// Checks a whole call before anything runs: bindDims, the outputs' shapes and
/// dtypes, zero strides only on inputs, element alignment of addresses, no
/// output that overlaps itself or partly overlaps another operand.
Result<DimBindings> checkCall(const Recipe &recipe,
                              const std::vector<Operand> &inputs,
                              const std::vector<Operand> &outputs);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_RECIPE_H
