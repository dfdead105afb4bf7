//===- GenerateTest.cpp - Every choice sequence means a valid case --------===//
#include "harness/gen/Generate.h"
#include "harness/gen/Rules.h"

#include <doctest/doctest.h>

#include <set>

using namespace tandem;
using namespace tandem::harness;

/// Operands as the runner would place them, without memory behind them.
static std::pair<std::vector<Operand>, std::vector<Operand>>
place(const CaseSpec &spec) {
  uint64_t next = 1 << 20;
  auto at = [&](const TensorDesc &desc, int64_t offset) {
    const auto size = static_cast<int64_t>(dtypeSize(desc.dtype));
    const Operand operand{desc, next + static_cast<uint64_t>(offset * size)};
    next += static_cast<uint64_t>((desc.extent() + offset) * size + 511) / 256 *
            256;
    return operand;
  };
  std::vector<Operand> inputs, outputs;
  for (size_t i = 0; i < spec.inputs.size(); ++i)
    inputs.push_back(at(spec.inputDesc(i), spec.inputs[i].layout.offset));
  for (size_t i = 0; i < spec.outputs.size(); ++i)
    outputs.push_back(at(spec.outputDesc(i), spec.outputs[i].layout.offset));
  return {inputs, outputs};
}

static std::vector<std::string> scopes() {
  std::vector<std::string> names = {"chain"};
  for (const OpInfo &op : opTable())
    if (isFuzzable(op))
      names.push_back(std::string(op.mnemonic));
  return names;
}

TEST_SUITE("harness generate") {
  TEST_CASE("random cases of every op are valid calls, and replay") {
    for (const std::string &scope : scopes())
      for (uint64_t seed = 0; seed < 400; ++seed) {
        CAPTURE(scope);
        CAPTURE(seed);
        Result<Case> made = randomCase(scope, {}, seed);
        REQUIRE_MESSAGE(made, made.error().text());
        Result<CaseSpec> spec = specOf(*made);
        REQUIRE(spec);
        Result<Case> read = parseCaseLine(made->line());
        REQUIRE(read);
        CHECK(*specOf(*read) == *spec);
        const auto [inputs, outputs] = place(*spec);
        Result<DimBindings> call = checkCall(spec->recipe, inputs, outputs);
        CHECK_MESSAGE(call, call.error().text());
      }
  }

  TEST_CASE(
      "the empty sequence is the simplest case: sizes 1, contiguous, f32") {
    for (const std::string &scope : scopes()) {
      CAPTURE(scope);
      Result<CaseSpec> spec = specOf({scope, {}, {}});
      REQUIRE_MESSAGE(spec, spec.error().text());
      CHECK(spec->recipe.steps.size() == 1);
      for (const auto &[name, size] : spec->dims)
        CHECK(size == 1);
      for (const OperandSpec &input : spec->inputs) {
        CHECK(input.layout == LayoutSpec());
        CHECK(input.values.kind == "zero");
      }
      CHECK(spec->environment.scheduleSeed == 0);
    }
  }

  TEST_CASE("edited sequences still mean valid cases") {
    for (const std::string &scope : scopes())
      for (uint64_t seed = 0; seed < 150; ++seed) {
        CAPTURE(scope);
        CAPTURE(seed);
        Case edited = *randomCase(scope, {}, seed);
        Random random(seed);
        for (int i = 0; i < 3 && !edited.choices.empty(); ++i) {
          const auto at =
              static_cast<std::ptrdiff_t>(random.below(edited.choices.size()));
          if (random.below(2))
            edited.choices.erase(edited.choices.begin() + at);
          else
            edited.choices[size_t(at)] = random.logBelow(uint64_t(1) << 40);
        }
        Result<CaseSpec> spec = specOf(edited);
        REQUIRE_MESSAGE(spec, spec.error().text());
        const auto [inputs, outputs] = place(*spec);
        Result<DimBindings> call = checkCall(spec->recipe, inputs, outputs);
        CHECK_MESSAGE(call, call.error().text());
      }
  }

  TEST_CASE("chains of every length, layouts of every sort and both targets "
            "turn up") {
    std::set<size_t> lengths;
    std::set<std::string> targets;
    int huge = 0, padded = 0, misaligned = 0, empty = 0, twoOutputs = 0;
    for (uint64_t seed = 0; seed < 3000; ++seed) {
      const std::string scope = seed % 3 ? "chain" : "add";
      const CaseSpec spec = *specOf(*randomCase(scope, {}, seed));
      lengths.insert(spec.recipe.steps.size());
      targets.insert(spec.target);
      twoOutputs += spec.outputs.size() == 2;
      for (size_t i = 0; i < spec.inputs.size(); ++i) {
        const TensorDesc desc = spec.inputDesc(i);
        padded += !desc.isContiguous();
        misaligned += spec.inputs[i].layout.offset != 0;
        empty += desc.numElements() == 0;
        huge += desc.extent() > (int64_t(1) << 31);
      }
    }
    CHECK(lengths == std::set<size_t>{1, 2, 3, 4});
    CHECK(targets == std::set<std::string>{"sm_80", "sm_90a"});
    CHECK(padded > 100);
    CHECK(misaligned > 100);
    CHECK(empty > 10);
    CHECK(huge > 0);
    CHECK(twoOutputs > 20);
  }

  TEST_CASE(
      "a given recipe keeps its fixed dims and gets sizes for the others") {
    Result<Recipe> recipe = readRecipe(
        R"({"name": "r", "inputs": [
             {"name": "x", "dtype": "bfloat16", "shape": ["M", 64]},
             {"name": "w", "dtype": "bfloat16", "shape": [64]}],
            "outputs": [{"name": "y", "dtype": "bfloat16", "shape": ["M", 64]}],
            "recipe": {"steps": [{"op": "rmsnorm",
               "args": [{"in": 0}, {"in": 1}], "out": "final"}]}})",
        "r.json");
    REQUIRE_MESSAGE(recipe, recipe.error().text());
    std::set<int64_t> rows;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      const CaseSpec spec = *specOf(*randomCase("@r.json", *recipe, seed));
      CHECK(spec.inputDesc(0).shape[1] == 64);
      rows.insert(spec.inputDesc(0).shape[0]);
    }
    CHECK(rows.size() > 10);
  }
}
