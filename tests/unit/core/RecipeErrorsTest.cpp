//===- RecipeErrorsTest.cpp - What is wrong with a recipe, and where ------===//
#include "tests/unit/core/RecipeText.h"

#include <doctest/doctest.h>

#include <string>

using namespace tandem;
using namespace tandem::recipetext;

TEST_SUITE("recipe") {
  TEST_CASE("what is not JSON is refused with line and column") {
    CHECK(errorsOf("") == "r.json: line 1, column 1: not JSON: unexpected end "
                          "of input; expected '[', '{', or a literal");
    CHECK(errorsOf("{\n  \"name\": nope}")
              .starts_with("r.json: line 2, column 12: not JSON: invalid "
                           "literal"));
    CHECK(errorsOf("[1e999]") ==
          "r.json: line 1, column 6: not JSON: a number is too large for a "
          "double");
    CHECK(errorsOf("\"\xff\"")
              .starts_with("r.json: line 1, column 2: not "
                           "JSON: invalid string"));
    CHECK(errorsAround("[" + norm + "]") == "read");
    CHECK(errorsOf(around("[" + norm + "]") + "x")
              .starts_with("r.json: line 5, column "));
  }

  TEST_CASE("deep nesting is refused and does not exhaust the stack") {
    const std::string sentence =
        "r.json: arrays and objects are nested deeper than 64";
    CHECK(errorsOf(std::string(100000, '[')) == sentence);
    CHECK(errorsOf(std::string(100000, '[') + std::string(100000, ']')) ==
          sentence);
    std::string objects;
    for (int i = 0; i < 100000; ++i)
      objects += "{\"a\":";
    CHECK(errorsOf(objects) == sentence);
  }

  TEST_CASE("a key that is given twice is refused") {
    CHECK(errorsOf(R"({"name": "a", "name": "b"})") ==
          "r.json: the key 'name' is given twice in one object");
  }

  TEST_CASE("the limits on bytes and steps hold") {
    const std::string large(maxRecipeBytes + 1, ' ');
    CHECK(errorsOf(large) ==
          "r.json: expected at most 16777216 bytes, got 16777217");
    std::string steps = "[" + norm;
    for (int i = 1; i < 10000; ++i)
      steps += ", 1";
    CHECK(errorsAround(steps + "]") ==
          "r.json: steps: expected at most 1024 steps, got 10000");
    std::string most = "[";
    for (int i = 1; i < 1024; ++i)
      most += R"({"op": "GELU", "args": [{"in": 0}], "out": 1},)";
    CHECK(errorsAround(most + norm + "]") == "read");
  }

  TEST_CASE("every part of the wrapper is checked at once") {
    CHECK(errorsOf("{}") == "r.json: 'name' is missing\n"
                            "r.json: 'inputs' is missing\n"
                            "r.json: 'outputs' is missing\n"
                            "r.json: 'recipe' is missing");
    CHECK(errorsOf("[]") == "r.json: expected an object, got an array");
    CHECK(errorsOf(R"({"name": "a b", "inputs": 1, "outputs": [], "recipes": 1,
                       "recipe": []})") ==
          "r.json: no member is named 'recipes'; did you mean 'recipe'?\n"
          "r.json: inputs: expected an array, got 1\n"
          "r.json: outputs: the recipe has no output\n"
          "r.json: name: expected 1 to 128 letters, digits, '_', '-' and '.', "
          "got 'a b'\n"
          "r.json: recipe: expected an object, got an array");
    CHECK(errorsOf(R"({"name": 1, "inputs": [
        {"name": "x", "dtype": "bfloat61", "shape": [-1]},
        {"name": "x", "dtype": "int4", "shape": [4611686018427387905]},
        {"name": "9", "dtype": "float32", "shape": [1,1,1,1,1,1,1,1,1],
         "rolle": 1},
        {"name": "a", "dtype": "float32", "shape": [true, 1.5, "M N", null],
         "role": "stat"},
        {"name": "b", "dtype": "float32",
         "shape": [4611686018427387904, 4611686018427387904]}, 7],
      "outputs": [{"name": "a"}], "recipe": {"steps": []}})") ==
          "r.json: name: expected a string, got 1\n"
          "r.json: inputs[0].dtype: no dtype is named 'bfloat61'; did you mean "
          "'bfloat16'?\n"
          "r.json: inputs[1].dtype: no dtype is named 'int4'; did you mean "
          "'int8'?\n"
          "r.json: inputs[2]: no member is named 'rolle'; did you mean "
          "'role'?\n"
          "r.json: inputs[3].shape[0]: a dim is a 64-bit integer or a name, "
          "got true\n"
          "r.json: inputs[3].shape[1]: a dim is a 64-bit integer or a name, "
          "got 1.5\n"
          "r.json: inputs[3].shape[3]: a dim is a 64-bit integer or a name, "
          "got null\n"
          "r.json: inputs[3].role: no role is named 'stat'; did you mean "
          "'state'?\n"
          "r.json: inputs[5]: expected an object, got 7\n"
          "r.json: outputs[0]: 'dtype' is missing\n"
          "r.json: outputs[0]: 'shape' is missing\n"
          "r.json: inputs[0].shape: dim -1 is negative\n"
          "r.json: inputs[1].name: the name 'x' is given twice\n"
          "r.json: inputs[1].shape: dim 4611686018427387905 is above the limit "
          "of 2^62\n"
          "r.json: inputs[2].name: expected a letter or '_', then letters, "
          "digits and '_', got '9'\n"
          "r.json: inputs[2].shape: rank 9 is above the limit of 8\n"
          "r.json: inputs[4].shape: it has more than 2^62 elements\n"
          "r.json: outputs[0].name: the name 'a' is given twice\n"
          "r.json: steps: expected at least one step");
  }

  TEST_CASE("a name that is no identifier names no dim") {
    CHECK(errorsOf(R"({"name": "r", "inputs": [
        {"name": "x", "dtype": "float32", "shape": ["M N"]}],
      "outputs": [{"name": "y", "dtype": "float32", "shape": ["M N"]}],
      "recipe": {"steps": [
        {"op": "COPY", "args": [{"in": 0}], "out": "final"}]}})") ==
          "r.json: inputs[0].shape: a dim is a number or a name, got 'M N'\n"
          "r.json: outputs[0].shape: a dim is a number or a name, got 'M N'");
  }

  TEST_CASE("every listed error of a step has its place") {
    const auto step = [](const std::string &fields) {
      return errorsAround("[" + norm + ", {" + fields + "}]");
    };
    CHECK(errorsAround("[" + norm + ", 5]") ==
          "r.json: steps[1]: expected an object, got 5");
    CHECK(step(R"("op": "rmsnrom", "args": [{"in": 0}], "out": 0)") ==
          "r.json: steps[1].op: no op is named 'rmsnrom'; did you mean "
          "'rmsnorm'?");
    const std::string next = std::to_string(opTable().size());
    CHECK(step("\"op\": " + next + R"(, "args": [], "out": 0)") ==
          "r.json: steps[1].op: no op has the code " + next);
    CHECK(step(R"("op": -3, "args": [], "out": 0)") ==
          "r.json: steps[1].op: no op has the code -3");
    CHECK(step(R"("op": true, "args": [], "out": 0)") ==
          "r.json: steps[1].op: expected a name or a code, got true");
    CHECK(step(R"("args": [], "out": 0)") == "r.json: steps[1]: 'op' is "
                                             "missing");
    CHECK(step(R"("op": "FUSED", "args": [], "out": 0)") ==
          "r.json: steps[1].op: a recipe cannot hold a fused step");
    CHECK(step(R"("op": "GELU", "out": 0)") ==
          "r.json: steps[1]: 'args' is missing");
    CHECK(step(R"("op": "GELU", "args": {"in": 0}, "out": 0)") ==
          "r.json: steps[1].args: expected an array, got an object");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0, "s": 0}], "out": 0)") ==
          "r.json: steps[1].args[0]: expected {\"in\": k} or {\"s\": j}, got "
          "an object with 'in', 's'");
    CHECK(step(R"("op": "GELU", "args": [{}], "out": 0)") ==
          "r.json: steps[1].args[0]: expected {\"in\": k} or {\"s\": j}, got "
          "an empty object");
    CHECK(step(R"("op": "GELU", "args": [0], "out": 0)") ==
          "r.json: steps[1].args[0]: expected {\"in\": k} or {\"s\": j}, got "
          "0");
    CHECK(step(R"("op": "GELU", "args": [{"in": 2}], "out": 0)") ==
          "r.json: steps[1].args[0]: no input 2: the recipe has 2");
    CHECK(step(R"("op": "GELU", "args": [{"in": true}], "out": 0)") ==
          "r.json: steps[1].args[0]: expected the index of an input, got true");
    CHECK(step(R"("op": "GELU", "args": [{"in": -1}], "out": 0)") ==
          "r.json: steps[1].args[0]: expected the index of an input, got -1");
    CHECK(step(R"("op": "GELU", "args": [{"s": 1.0}], "out": 0)") ==
          "r.json: steps[1].args[0]: expected the index of a scratch, got 1.0");
    CHECK(step(R"("op": "GELU", "args": [{"s": 4}], "out": 4)") ==
          "r.json: steps[1].args[0]: scratch 4 is read before any step writes "
          "it");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}])") ==
          "r.json: steps[1]: 'out' is missing");
    for (const char *out : {"true", "-2", "\"finale\"", "1.5", "null"})
      CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": )" +
                 std::string(out))
                .starts_with("r.json: steps[1].out: expected a scratch index, "
                             "\"final\" or {\"out\": k}, got "));
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": {"out": true})") ==
          "r.json: steps[1].out: expected the index of an output, got true");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": {"out": 1})") ==
          "r.json: steps[1].out: no output 1: the recipe has 1");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": "final")") ==
          "r.json: steps[1].out: output 0 ('y') is written twice, first by "
          "steps[0]");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": [1, 2])") ==
          "r.json: steps[1].out: gelu gives 1 result, got 2 places");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": 0,
                   "out_dtype": "float33")") ==
          "r.json: steps[1].out_dtype: no dtype is named 'float33'; did you "
          "mean 'float32'?");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": 0,
                   "out_dtype": "int32")") ==
          "r.json: steps[1]: gelu: result 'y': expected a float dtype, got "
          "int32");
    CHECK(step(R"("op": "SAMPLE_ARGMAX", "args": [{"in": 0}], "out": 0,
                   "out_dtype": "int64")") ==
          "r.json: steps[1]: sample_argmax: result 'id': expected int32, got "
          "int64");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": 0,
                   "out_shape": ["M", 63]})") != "read");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": 0,
                   "out_shape": ["M", 63])") ==
          "r.json: steps[1]: gelu: result 'y': expected shape [M, 64], got "
          "[M, 63]");
    CHECK(step(R"("op": "GELU", "args": [{"in": 0}], "out": 0,
                   "out_shape": ["M", -64])") ==
          "r.json: steps[1].out_shape[1]: dim -64 is negative\n"
          "r.json: steps[1]: gelu: result 'y': expected shape [M, 64], got "
          "[M, -64]");
    CHECK(step(R"("op": "GELU", "arg": [], "args": [{"in": 0}], "out": 0)") ==
          "r.json: steps[1]: no member is named 'arg'; did you mean 'args'?");
    CHECK(errorsAround("[]") == "r.json: steps: expected at least one step");
    CHECK(errorsAround("7") == "r.json: recipe.steps: expected an array, got "
                               "7");
    CHECK(errorsAround(R"([{"op": "GELU", "args": [{"in": 0}], "out": 0}])") ==
          "r.json: outputs[0]: no step writes 'y'");
  }

  TEST_CASE("params are checked for spelling, type and range") {
    const auto eps = [](const std::string &params) {
      return errorsAround(R"([{"op": "RMSNORM", "args": [{"in": 0}, {"in": 1}],
          "out": "final", "params": )" +
                          params + "}]");
    };
    CHECK(eps(R"({"eps": 0})") == "read");
    CHECK(eps("7") == "r.json: steps[0].params: expected an object, got 7");
    CHECK(eps(R"({"epz": 1})") ==
          "r.json: steps[0].params: rmsnorm: no param is named 'epz'; did you "
          "mean 'eps'?");
    CHECK(eps(R"({"eps": -1e-6})") ==
          "r.json: steps[0].params: rmsnorm: param 'eps': expected value >= 0, "
          "got -1e-06");
    CHECK(eps(R"({"eps": "NaN"})") ==
          "r.json: steps[0].params: rmsnorm: param 'eps': expected a number, "
          "got 'NaN'");
    CHECK(eps(R"({"eps": true})") ==
          "r.json: steps[0].params: rmsnorm: param 'eps': expected a number, "
          "got true");
    CHECK(eps(R"({"eps": 1e300})") ==
          "r.json: steps[0].params: rmsnorm: param 'eps': expected a finite "
          "float32, got 1e+300");
    CHECK(eps(R"({"eps": [1]})") ==
          "r.json: steps[0].params.eps: expected true, false, a number or a "
          "string, got an array");
    CHECK(eps(R"({"eps": NaN})").starts_with("r.json: line 6, column "));
    CHECK(errorsAround(R"([{"op": "GELU", "args": [{"in": 0}], "out": "final",
              "params": {"approximate": "tan"}}])") ==
          "r.json: steps[0].params: gelu: param 'approximate': expected 'none' "
          "or 'tanh', got 'tan'");
    CHECK(errorsAround(R"([{"op": "SOFTMAX", "args": [{"in": 0}],
              "out": "final", "params": {"dim": 1.0}}])") ==
          "r.json: steps[0].params: softmax: param 'dim': expected an integer, "
          "got 1");
    CHECK(errorsAround(R"([{"op": "SOFTMAX", "args": [{"in": 0}],
              "out": "final", "params": {"dim": 18446744073709551615}}])") ==
          "r.json: steps[0].params: softmax: param 'dim': expected an integer, "
          "got 18446744073709551616");
  }

  TEST_CASE("the declared output must be what the step gives") {
    CHECK(errorsAround(R"([{"op": "SAMPLE_ARGMAX", "args": [{"in": 0}],
              "out": "final"}])") ==
          "r.json: steps[0]: sample_argmax: result 'id': expected int32, got "
          "bfloat16");
    CHECK(errorsAround(R"([{"op": "COPY", "args": [{"in": 1}],
              "out": "final"}])") ==
          "r.json: steps[0].out: output 'y' is declared bfloat16[M, 64], but "
          "the step gives bfloat16[64]");
    CHECK(errorsAround(R"([{"op": "COPY", "args": [{"in": 0}], "out": "final",
              "out_dtype": "float32"}])") ==
          "r.json: steps[0].out: output 'y' is declared bfloat16[M, 64], but "
          "the step gives float32[M, 64]");
  }

  TEST_CASE("one mistake gives one message, and none hides another") {
    CHECK(errorsAround(R"([
        {"op": "GELU", "args": [{"in": 9}], "out": 0},
        {"op": "GELU", "args": [{"s": 0}], "out": 1, "params": {"x": 1}},
        {"op": "ADD", "args": [{"s": 1}, {"s": 0}], "out": "final"},
        {"op": "ADD", "args": [{"in": 0}], "out": 3},
        7])") == "r.json: steps[4]: expected an object, got 7\n"
                 "r.json: steps[0].args[0]: no input 9: the recipe has 2\n"
                 "r.json: steps[1].params: gelu: no param is named 'x'\n"
                 "r.json: steps[3]: add: takes 2 operands (a, b), got 1");
  }

  TEST_CASE("an in-memory recipe gets the same checks and messages") {
    Recipe recipe;
    recipe.name = "r";
    recipe.inputs = {{"x", {DType::F32, {Dim("M"), Dim(4)}}, false}};
    recipe.outputs = {{"y", {DType::F16, {Dim("M"), Dim(4)}}}};
    Step step;
    step.op = Opcode::COPY;
    step.args = {{ValueRef::Kind::Input, 0}};
    step.outs = {{ValueRef::Kind::Final, 0}};
    recipe.steps = {step};
    const Result<Recipe> checked = checkRecipe(recipe, "m");
    REQUIRE_MESSAGE(bool(checked), checked.error().text());
    CHECK(checked->steps[0].results[0].dtype == DType::F16);

    recipe.steps[0].args[0] = {ValueRef::Kind::Final, 0};
    CHECK(checkRecipe(recipe, "m").error().text() ==
          "m: steps[0].args[0]: an output cannot be read; expected an input or "
          "a scratch");
    recipe.steps[0].args[0] = {ValueRef::Kind::Input, -1};
    recipe.steps[0].outs[0] = {ValueRef::Kind::Input, 0};
    CHECK(checkRecipe(recipe, "m").error().text() ==
          "m: steps[0].args[0]: no input -1: the recipe has 1\n"
          "m: steps[0].out: an input cannot be written; expected a scratch or "
          "an output\n"
          "m: outputs[0]: no step writes 'y'");
    recipe.steps[0].outs[0] = {ValueRef::Kind::Scratch, -2};
    recipe.steps[0].args[0] = {ValueRef::Kind::Input, 0};
    CHECK(checkRecipe(recipe, "m").error().text() ==
          "m: steps[0].out: expected a scratch index from 0, got -2\n"
          "m: outputs[0]: no step writes 'y'");
    recipe.steps[0].op = Opcode::count;
    CHECK(checkRecipe(recipe, "m").error().messages[0] ==
          "m: steps[0].op: no op has the code " +
              std::to_string(opTable().size()));
    recipe.steps.clear();
    recipe.outputs.clear();
    recipe.inputs[0].type.dtype = DType::I4;
    CHECK(checkRecipe(recipe, "m").error().text() ==
          "m: inputs[0].dtype: int4 is a 'qdtype' of packed weights, not a "
          "tensor's dtype\n"
          "m: steps: expected at least one step");
    recipe.steps.resize(1025);
    CHECK(checkRecipe(recipe, "m").error().messages.back() ==
          "m: steps: expected at most 1024 steps, got 1025");
  }

  TEST_CASE("messages stop at a thousand") {
    std::string inputs;
    for (int i = 0; i < 3000; ++i)
      inputs += i ? ", 1" : "1";
    const Result<Recipe> recipe =
        readRecipe(R"({"name": "r", "inputs": [)" + inputs +
                       R"(], "outputs": [], "recipe": 1})",
                   "r.json");
    REQUIRE(!recipe);
    CHECK(recipe.error().messages.size() == 1001);
    CHECK(recipe.error().messages.back() == "and 2002 more errors");
  }
}
