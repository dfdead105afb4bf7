//===- RecipeTest.cpp - Reading and writing right recipes -----------------===//
#include "tests/unit/core/RecipeText.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace tandem;
using namespace tandem::recipetext;

namespace {
std::vector<std::string> warningsAround(const std::string &steps) {
  const Result<Recipe> recipe = readRecipe(around(steps), "r.json");
  REQUIRE_MESSAGE(bool(recipe), recipe.error().text());
  return recipe->warnings;
}

void checkRoundTrip(const std::string &text) {
  const Result<Recipe> first = readRecipe(text, "a.json");
  REQUIRE_MESSAGE(bool(first), first.error().text());
  const std::string written = writeRecipe(*first);
  const Result<Recipe> second = readRecipe(written, "b.json");
  REQUIRE_MESSAGE(bool(second), second.error().text());
  CHECK(*first == *second);
  CHECK(writeRecipe(*second) == written);
  const Result<Recipe> checked = checkRecipe(*first, "c.json");
  REQUIRE_MESSAGE(bool(checked), checked.error().text());
  CHECK(*checked == *first);
  CHECK(checked->warnings == first->warnings);
}
} // namespace

TEST_SUITE("recipe") {
  TEST_CASE("a right recipe is read, typed and without warnings") {
    const Result<Recipe> recipe = readRecipe(around("[" + norm + "]"), "r");
    REQUIRE_MESSAGE(bool(recipe), recipe.error().text());
    CHECK(recipe->name == "r");
    CHECK(recipe->warnings.empty());
    REQUIRE(recipe->steps.size() == 1);
    CHECK(recipe->steps[0].op == Opcode::RMSNORM);
    REQUIRE(recipe->steps[0].results.size() == 1);
    CHECK(recipe->steps[0].results[0].describe() == "bfloat16[M, 64]");
  }

  TEST_CASE("an op is named in either case or by its code") {
    for (const char *op :
         {"\"rmsnorm\"", "\"RMSNORM\"", "\"RmsNorm\"", "3", "\"3\""})
      CHECK(errorsAround(R"([{"op": )" + std::string(op) +
                         R"(, "args": [{"in": 0}, {"in": 1}], "out": -1}])") ==
            "read");
  }

  TEST_CASE("the forms of the final output are one and the same") {
    const auto reading = [](const char *out) {
      return *readRecipe(around(R"([{"op": "RMSNORM",
          "args": [{"in": 0}, {"in": 1}], "out": )" +
                                std::string(out) + "}]"),
                         "r");
    };
    CHECK(reading("-1") == reading("\"final\""));
    CHECK(reading("{\"out\": 0}") == reading("\"final\""));
  }

  TEST_CASE("scratch takes its shape and dtype from the op unless told") {
    const Result<Recipe> recipe = readRecipe(around(R"([
        {"op": "MUL", "args": [{"in": 0}], "out": 7, "params": {"scale": 2}},
        {"op": "COPY", "args": [{"s": 7}], "out": 7, "out_dtype": "float32"},
        {"op": "SAMPLE_ARGMAX", "args": [{"s": 7}], "out": 3},
        {"op": "RMSNORM", "args": [{"s": 7}, {"in": 1}], "out": "final"}])"),
                                             "r.json");
    REQUIRE_MESSAGE(bool(recipe), recipe.error().text());
    CHECK(recipe->steps[0].results[0].describe() == "bfloat16[M, 64]");
    CHECK(recipe->steps[1].results[0].describe() == "float32[M, 64]");
    CHECK(recipe->steps[2].results[0].describe() == "int32[M]");
    // The wrapper's word stands for the step's.
    CHECK(recipe->steps[3].results[0].describe() == "bfloat16[M, 64]");
    CHECK(std::get<double>(recipe->steps[0].params.values.at("scale")) == 2.0);
  }

  TEST_CASE("unused inputs and results are warnings") {
    CHECK(warningsAround(R"([
        {"op": "COPY", "args": [{"in": 0}], "out": 0},
        {"op": "GELU", "args": [{"in": 0}], "out": 0},
        {"op": "COPY", "args": [{"in": 0}], "out": "final"}])") ==
          std::vector<std::string>{"steps[0].out: scratch 0 is never read",
                                   "steps[1].out: scratch 0 is never read",
                                   "inputs[1]: no step reads 'w'"});
  }

  TEST_CASE("a rewritten slot has its new type") {
    CHECK(errorsAround(R"([
        {"op": "COPY", "args": [{"in": 0}], "out": 0},
        {"op": "ADD", "args": [{"s": 0}, {"in": 1}], "out": 0},
        {"op": "COPY", "args": [{"s": 0}], "out": "final"}])") == "read");
    CHECK(errorsAround(R"([
        {"op": "SAMPLE_ARGMAX", "args": [{"in": 0}], "out": 0},
        {"op": "COPY", "args": [{"in": 0}], "out": 0},
        {"op": "COPY", "args": [{"s": 0}], "out": "final"}])") == "read");
  }

  TEST_CASE("writing and reading gives an equal recipe") {
    checkRoundTrip(around("[" + norm + "]"));
    checkRoundTrip(around(R"([
        {"op": "MUL", "args": [{"in": 0}], "out": 7, "params": {"scale": 1e-7}},
        {"op": "COPY", "args": [{"s": 7}], "out": 7, "out_dtype": "float32"},
        {"op": "SAMPLE_ARGMAX", "args": [{"s": 7}], "out": 3},
        {"op": "GELU", "args": [{"s": 7}], "out": 7,
         "params": {"approximate": "tanh"}, "out_shape": ["M", 64]},
        {"op": "RMSNORM", "args": [{"s": 7}, {"in": 1}], "out": "final",
         "params": {"eps": 0.00001}}])"));
    // Two outputs, a state input that nothing uses, three shards.
    checkRoundTrip(R"({"name": "two-outputs.v1", "inputs": [
        {"name": "x", "dtype": "float16", "shape": ["B", "S", 3]},
        {"name": "ids", "dtype": "int64", "shape": []},
        {"name": "table", "dtype": "float8_e4m3fn", "shape": [0, 3]},
        {"name": "cache", "dtype": "float32", "shape": ["B"],
         "role": "state"}],
      "outputs": [{"name": "a", "dtype": "float32", "shape": ["B", "S", 3]},
                  {"name": "b", "dtype": "bfloat16", "shape": [3]}],
      "recipe": {"steps": [
        {"op": 18, "args": [{"in": 0}, {"in": 0}, {"in": 0}], "out": "final"},
        {"op": "embed", "args": [{"in": 1}, {"in": 2}], "out": {"out": 1}}]}})");
    checkRoundTrip(R"({"name": "g", "inputs": [
        {"name": "x", "dtype": "float16", "shape": ["M", "K"]},
        {"name": "W", "dtype": "float16", "shape": ["K", "N"]},
        {"name": "b", "dtype": "float32", "shape": ["N"]}],
      "outputs": [{"name": "y", "dtype": "float32", "shape": ["M", "N"]}],
      "recipe": {"steps": [
        {"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}, {"in": 2}], "out": 0,
         "params": {"weight_layout": "kn", "invariant": true, "n_off": 3}},
        {"op": "softmax", "args": [{"s": 0}], "out": "final",
         "params": {"dim": -2}}]}})");
  }

  TEST_CASE("a single op is a recipe whose names are the signature's") {
    const TensorType x = {DType::F16, {Dim("M"), Dim(8)}};
    const Result<Recipe> sum =
        singleOpRecipe(Opcode::ALLREDUCE_SHARD, {x, x, x}, {}, DType::F32);
    REQUIRE_MESSAGE(bool(sum), sum.error().text());
    CHECK(sum->name == "allreduce_shard");
    CHECK(sum->inputs[2].name == "x2");
    CHECK(sum->outputs[0].type.describe() == "float32[M, 8]");
    checkRoundTrip(writeRecipe(*sum));
    CHECK(singleOpRecipe(Opcode::RMSNORM, {x}).error().text() ==
          "rmsnorm: takes 2 operands (x, w), got 1");
  }
}
