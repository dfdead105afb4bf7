//===- MapExprTest.cpp - Expressions are parsed and refused ---------------===//
#include "refops/core/MapExpr.h"
#include "refops/core/Recipe.h"

#include <doctest/doctest.h>

using namespace tandem;

static std::string errorOf(std::string_view text, size_t numOperands = 2) {
  const auto parsed = parseMapExpr(text, numOperands);
  return parsed ? "ok" : parsed.error().text();
}

TEST_SUITE("map expressions") {
  TEST_CASE("what the grammar has is parsed") {
    for (const char *text :
         {"a*sigmoid(b)", "-a--b", "(a)/(b)", "where(a<=b,a,b)",
          "max(a, min(b, 1e-3))", " a\n+\tb ", "a * .5 - b * 2.",
          "rsqrt(abs(a)) + erfc(floor(b)) * tanh(exp(sqrt(relu(silu(a)))))"})
      CHECK_MESSAGE(errorOf(text) == "ok", text << ": " << errorOf(text));
  }

  TEST_CASE("postfix order keeps the operands' sides") {
    using Code = MapInstruction::Code;
    const auto parsed = parseMapExpr("a - b / 2", 2);
    REQUIRE(parsed);
    REQUIRE(parsed->size() == 5);
    CHECK((*parsed)[0].operand == 0);
    CHECK((*parsed)[1].operand == 1);
    CHECK((*parsed)[2].number == 2);
    CHECK((*parsed)[3].code == Code::Divide);
    CHECK((*parsed)[4].code == Code::Subtract);
  }

  TEST_CASE("each mistake is named with its position") {
    CHECK(errorOf("a +") ==
          "at 3: expected a number, an operand, a function or "
          "'(', got the end");
    CHECK(errorOf("a b") == "at 2: expected an operator or the end, got 'b'");
    CHECK(errorOf("a * c") == "at 4: no operand or function is named 'c'; the "
                              "operands are a to b");
    CHECK(errorOf("sigmod(a) + b") ==
          "at 0: no operand or function is named 'sigmod'; did you mean "
          "'sigmoid'?; the operands are a to b");
    CHECK(errorOf("max(a)") == "at 5: expected ',', got ')'");
    CHECK(errorOf("where(a, b, 1)") ==
          "at 7: expected a relation, got ', b, 1)'");
    CHECK(errorOf("(a + b") == "at 6: expected ')', got the end");
    CHECK(errorOf("a + 1e99 * b") ==
          "at 4: expected a number that float32 holds, got '1e99 * b'");
    CHECK(errorOf("a < b").starts_with("at 2: expected an operator"));
    CHECK(errorOf("a") == "operand 'b' is not used");
  }

  TEST_CASE("the limits hold") {
    CHECK(errorOf(std::string(5000, ' ')) ==
          "expected at most 4096 characters, got 5000");
    CHECK(errorOf(std::string(65, '(') + "a")
              .starts_with("at 64: expected at most 64 levels"));
    CHECK(errorOf(std::string(65, '-') + "a")
              .starts_with("at 64: expected at most 64 levels"));
    std::string sum = "a*b";
    for (int i = 0; i < 300; ++i)
      sum += "+a";
    CHECK(errorOf(sum).find("expected at most 512 numbers") !=
          std::string::npos);
    CHECK(errorOf("a", 27) == "expected at most 26 operands, got 27");
  }

  TEST_CASE("a MAP step carries its expression, and round-trips") {
    const std::string text = R"json({"name": "gate", "inputs": [
        {"name": "x", "dtype": "bfloat16", "shape": ["M", 64]},
        {"name": "g", "dtype": "bfloat16", "shape": [64]}],
      "outputs": [{"name": "y", "dtype": "float32", "shape": ["M", 64]}],
      "recipe": {"steps": [{"op": "MAP", "expr": "a*sigmoid(b)",
        "args": [{"in": 0}, {"in": 1}], "out": "final"}]
}
})json";
    const Result<Recipe> recipe = readRecipe(text, "r.json");
    REQUIRE_MESSAGE(recipe, (recipe ? "" : recipe.error().text()));
    const std::string written = writeRecipe(*recipe);
    CHECK(written.find("\"expr\": \"a*sigmoid(b)\"") != std::string::npos);
    CHECK(*readRecipe(written, "again") == *recipe);
  }

  TEST_CASE("an expression stands in MAP only, and MAP has one") {
    const auto errorsOf = [](const std::string &step) {
      const Result<Recipe> recipe = readRecipe(
          R"({"name": "r", "inputs": [
            {"name": "x", "dtype": "float32", "shape": [4]}],
          "outputs": [{"name": "y", "dtype": "float32", "shape": [4]}],
          "recipe": {"steps": [{"args": [{"in": 0}], "out": "final", )" +
              step + "}]}}",
          "r.json");
      return recipe ? "ok" : recipe.error().text();
    };
    CHECK(errorsOf(R"("op": "GELU", "expr": "a")") ==
          "r.json: steps[0].expr: only MAP has an expression, this step is "
          "GELU");
    CHECK(errorsOf(R"("op": "MAP")") ==
          "r.json: steps[0].params: map: param 'expr' is missing");
    CHECK(errorsOf(R"("op": "MAP", "expr": "a+")")
              .starts_with("r.json: steps[0]: map: expr: at 2: expected"));
    CHECK(errorsOf(R"("op": "map", "expr": "a*a")") == "ok");
  }
}
