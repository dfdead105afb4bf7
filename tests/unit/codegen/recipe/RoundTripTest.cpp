//===- RoundTripTest.cpp - JSON -> insn -> JSON ---------------------------===//
#include "../Recipes.h"

using namespace tandem;
using namespace tandem::tests;

static void checkRoundTrip(const Recipe &recipe) {
  Result<std::string> text = recipeToInsn(recipe);
  REQUIRE(bool(text));
  CAPTURE(*text);
  Result<Recipe> back = recipeFromInsn(*text, "r.mlir");
  INFO((back ? std::string() : back.error().text()));
  REQUIRE(bool(back));
  CHECK(writeRecipe(*back) == writeRecipe(recipe));
  CHECK(*back == recipe);
}

TEST_SUITE("codegen/recipe") {
  TEST_CASE("a recipe of each op survives the trip through insn") {
    for (DType dtype : {DType::F32, DType::BF16, DType::F8E4M3})
      for (const Recipe &recipe : oneOfEach(dtype))
        checkRoundTrip(recipe);
  }

  TEST_CASE("slots that are rewritten or out of order keep their numbers") {
    checkRoundTrip(chain(tensor("x", "float32", "\"M\", 8"),
                         tensor("y", "float32", "\"M\", 8"),
                         R"({"op": "gelu", "args": [{"in": 0}], "out": 3},
           {"op": "mul", "args": [{"s": 3}], "out": 3, "params": {"scale": 0.1}},
           {"op": "add", "args": [{"s": 3}, {"in": 0}], "out": "final"})"));
  }

  TEST_CASE("outputs keep their order and steps that compute nothing stay") {
    checkRoundTrip(chain(tensor("x", "float32", "4, 8"),
                         tensor("a", "float32", "4, 8") + "," +
                             tensor("b", "bfloat16", "4, 8"),
                         R"({"op": "nop", "args": []},
           {"op": "copy", "args": [{"in": 0}], "out": {"out": 1}},
           {"op": "gelu", "args": [{"in": 0}], "out": {"out": 0},
            "params": {"approximate": "tanh"}})"));
  }

  TEST_CASE("states and params on the device stay what they are") {
    Recipe recipe = chain(tensor("new", "float32", "\"B\", 2, 8") +
                              ", {\"name\": \"cache\", \"dtype\": "
                              "\"bfloat16\", \"role\": \"state\", "
                              "\"shape\": [\"B\", 16, 2, 8]}, " +
                              tensor("pos", "int32", "\"B\""),
                          "",
                          R"({"op": "kv_append",
            "args": [{"in": 0}, {"in": 1}], "params": {"pos": {"in": 2}}})");
    Result<std::string> text = recipeToInsn(recipe);
    REQUIRE(bool(text));
    CHECK(text->find("pos = 2 : index") != std::string::npos);
    checkRoundTrip(recipe);
  }

  TEST_CASE("a syntax error names file and line") {
    Result<Recipe> recipe = recipeFromInsn("insn.fused", "r.mlir");
    REQUIRE(!recipe);
    CHECK(recipe.error().text().substr(0, 11) == "r.mlir:1:10");
  }

  TEST_CASE("a module holds one recipe") {
    Result<Recipe> recipe = recipeFromInsn("module {}", "r.mlir");
    REQUIRE(!recipe);
    CHECK(recipe.error().text() == "r.mlir: expected one insn.fused, got 0");
  }
}
