//===- Recipes.h - Recipes for tests of the compiler ------------*- C++ -*-===//
#ifndef TANDEM_TESTS_UNIT_CODEGEN_RECIPES_H
#define TANDEM_TESTS_UNIT_CODEGEN_RECIPES_H

#include "codegen/Compiler.h"

#include <doctest/doctest.h>
#include <string>

namespace tandem::tests {

inline Recipe recipeOf(const std::string &json) {
  Result<Recipe> recipe = readRecipe(json, "test");
  INFO((recipe ? std::string() : recipe.error().text()));
  REQUIRE(bool(recipe));
  return recipe.take();
}

/// `x float32 [4, 64]`-like pieces joined into a recipe.
inline Recipe chain(const std::string &inputs, const std::string &outputs,
                    const std::string &steps) {
  return recipeOf("{\"name\": \"r\", \"inputs\": [" + inputs +
                  "], \"outputs\": [" + outputs +
                  "], \"recipe\": {\"steps\": [" + steps + "]}}");
}

inline std::string tensor(const std::string &name, const std::string &dtype,
                          const std::string &shape) {
  return "{\"name\": \"" + name + "\", \"dtype\": \"" + dtype +
         "\", \"shape\": [" + shape + "]}";
}

inline std::shared_ptr<const Program>
compileTypical(const Recipe &recipe, CompileOptions options = {},
               DimBindings bindings = {{"M", 4}}) {
  auto operands = typicalOperands(recipe, bindings);
  REQUIRE(bool(operands));
  auto program = compile(recipe, operands->first, operands->second, options);
  INFO((program ? std::string() : program.error().text()));
  REQUIRE(bool(program));
  return program.take();
}

/// A small recipe of each defined op that computes something, f32 unless the op
/// says otherwise.
inline std::vector<Recipe> oneOfEach(DType dtype) {
  const Dim rows = std::string("M");
  auto t = [&](std::vector<Dim> shape) { return TensorType{dtype, shape}; };
  TensorType x = t({rows, 64}), w = t({64});
  TensorType ids{DType::I32, {rows}};
  std::vector<std::pair<Opcode, std::vector<TensorType>>> cases = {
      {Opcode::COPY, {x}},
      {Opcode::ADD, {x, w}},
      {Opcode::MUL, {x}},
      {Opcode::GELU, {x}},
      {Opcode::SILU_MUL, {x, x}},
      {Opcode::SOFTMAX, {x}},
      {Opcode::RMSNORM, {x, w}},
      {Opcode::LAYERNORM, {x, w, w}},
      {Opcode::EMBED, {ids, t({100, 64})}},
      {Opcode::SAMPLE_ARGMAX, {x}},
      {Opcode::ALLREDUCE_SHARD, {x, x, x}},
      {Opcode::GEMM_TILE, {x, t({32, 64}), t({32})}},
      {Opcode::GEMV_TILE, {x, t({32, 64})}},
  };
  std::vector<Recipe> recipes;
  for (auto &[op, inputs] : cases) {
    Result<Recipe> recipe = singleOpRecipe(op, inputs);
    INFO((recipe ? std::string() : recipe.error().text()));
    REQUIRE(bool(recipe));
    recipes.push_back(recipe.take());
  }
  return recipes;
}

} // namespace tandem::tests

#endif // TANDEM_TESTS_UNIT_CODEGEN_RECIPES_H
