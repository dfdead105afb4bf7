//===- RulesOfTest.cpp - How strictly a recipe's outputs are compared -----===//
#include "harness/compare/RulesOf.h"

#include "refops/Evaluate.h"
#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::harness;

static Result<void> reference(const Recipe &recipe,
                              const std::vector<View> &inputs,
                              const std::vector<View> &outputs) {
  return refops::run(recipe, inputs, outputs);
}

static Recipe recipeOf(std::string_view text) {
  auto recipe = readRecipe(text, "r.json");
  REQUIRE_MESSAGE(bool(recipe), recipe.error().text());
  return recipe.take();
}

static CompareRules rules(const Recipe &recipe, std::vector<View> inputs,
                          const TensorDesc &desc) {
  auto result = rulesOf(recipe, inputs, desc, reference);
  REQUIRE(bool(result));
  return result.take();
}

TEST_SUITE("harness") {
  TEST_CASE("a copied infinity of float8_e5m2 must keep its bits") {
    const Recipe recipe = recipeOf(R"({"name": "c",
      "inputs": [{"name": "x", "dtype": "float8_e5m2", "shape": [2]}],
      "outputs": [{"name": "y", "dtype": "float8_e5m2", "shape": [2]}],
      "recipe": {"steps": [{"op": "copy", "args": [{"in": 0}],
                            "out": "final"}]}})");
    std::byte x[] = {std::byte(0x7C), std::byte(0xFE)}; // +inf, a NaN
    const TensorDesc desc = contiguous(DType::F8E5M2, {2});
    const CompareRules r = rules(recipe, {View{desc, x}}, desc);
    REQUIRE(r.bytes.size() == 2);
    CHECK(r.bytes[0] == x[0]);
    CHECK(r.bytes[1] == x[1]);
    CHECK(r.nanPayload);
  }

  TEST_CASE("a gather moves elements of its table, in whatever order the "
            "recipe lists its inputs") {
    const Recipe recipe = recipeOf(R"({"name": "e",
      "inputs": [{"name": "table", "dtype": "bfloat16", "shape": [2, 1]},
                 {"name": "ids", "dtype": "int32", "shape": [1]}],
      "outputs": [{"name": "y", "dtype": "bfloat16", "shape": [1, 1]}],
      "recipe": {"steps": [{"op": "embed", "args": [{"in": 1}, {"in": 0}],
                            "out": "final"}]}})");
    uint16_t table[] = {0x3F80, 0x7FC1};
    int32_t ids[] = {1};
    const CompareRules r = rules(
        recipe,
        {View{contiguous(DType::BF16, {2, 1}),
              reinterpret_cast<std::byte *>(table)},
         View{contiguous(DType::I32, {1}), reinterpret_cast<std::byte *>(ids)}},
        contiguous(DType::BF16, {1, 1}));
    CHECK(r.bytes.size() == 2);
  }

  TEST_CASE("the sign of a zero is free where factors round") {
    const std::string text = R"({"name": "r",
      "inputs": [{"name": "x", "dtype": "float32", "shape": [1]}],
      "outputs": [{"name": "y", "dtype": "float32", "shape": [1]}],
      "recipe": {"steps": [{"op": "OP", "args": [{"in": 0}],
                            "out": "final"}]}})";
    const TensorDesc desc = contiguous(DType::F32, {1});
    float x = 0;
    const View view{desc, reinterpret_cast<std::byte *>(&x)};
    for (const auto &[op, isDecided] :
         {std::pair("mul", true), std::pair("gelu", false)}) {
      std::string of = text;
      of.replace(of.find("OP"), 2, op);
      const CompareRules r = rules(recipeOf(of), {view}, desc);
      CHECK(r.signOfZero == isDecided);
      CHECK(r.bytes.empty());
    }
  }
}
