//===- GenerateTest.cpp - Every choice sequence means a valid case --------===//
#include "harness/gen/Generate.h"
#include "harness/gen/Foresight.h"
#include "harness/gen/Rules.h"

#include <doctest/doctest.h>

#include <set>

using namespace tandem;
using namespace tandem::harness;

static std::vector<std::string> scopes() {
  std::vector<std::string> names = {"chain"};
  for (const OpInfo &op : allOps())
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
        const PlacedOperands placed = placeOperands(*spec);
        Result<DimBindings> call =
            checkCall(spec->recipe, placed.inputs, placed.outputs);
        CHECK_MESSAGE(call, call.error().text());
      }
  }

  TEST_CASE("slots and windows that only the device knows are outside too") {
    for (const char *scope : {"kv_append", "attn_step", "attention_tile"}) {
      CAPTURE(scope);
      int inside = 0, outside = 0;
      for (uint64_t seed = 0; seed < 1500; ++seed) {
        const Result<CaseSpec> spec = specOf(*randomCase(scope, {}, seed));
        REQUIRE(spec);
        for (size_t i = 0; i < spec->inputs.size(); ++i)
          if (spec->recipe.inputs[i].type.dtype == DType::I32)
            ++(spec->inputs[i].values.patch == "outside" ? outside : inside);
      }
      CHECK(outside > 5);
      CHECK(inside > 10 * outside);
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
        const PlacedOperands placed = placeOperands(*spec);
        Result<DimBindings> call =
            checkCall(spec->recipe, placed.inputs, placed.outputs);
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

  TEST_CASE("an argmax follows a product now and then") {
    int found = 0;
    for (uint64_t seed = 0; seed < 1000; ++seed) {
      const Result<CaseSpec> spec = specOf(*randomCase("chain", {}, seed));
      REQUIRE(spec);
      const std::vector<Step> &steps = spec->recipe.steps;
      for (size_t s = 1; s < steps.size(); ++s) {
        const Opcode before = steps[s - 1].op;
        found += steps[s].op == Opcode::SAMPLE_ARGMAX &&
                 (before == Opcode::GEMM_TILE || before == Opcode::GEMV_TILE ||
                  before == Opcode::LM_HEAD);
      }
    }
    CHECK(found >= 10);
  }

  TEST_CASE("few cases prove nothing, whatever the op") {
    int64_t all = 0, vacuous = 0;
    for (const std::string &scope : scopes()) {
      int here = 0;
      for (uint64_t seed = 0; seed < 200; ++seed)
        here += foresee(*specOf(*randomCase(scope, {}, mix64(seed)))) !=
                Vacuity::None;
      CAPTURE(scope);
      // 5 % of 200 are 10; 22 of them are once in 10^4 such tests.
      CHECK(here < 22);
      vacuous += here;
      all += 200;
    }
    CHECK(20 * vacuous < all);
  }

  TEST_CASE("outputs share an input's memory, and schedules vary") {
    int shared = 0;
    std::set<std::string> parameters;
    for (uint64_t seed = 0; seed < 4000; ++seed) {
      const char *scope = seed % 2 ? "chain" : "add";
      const CaseSpec spec = *specOf(*randomCase(scope, {}, seed));
      for (const OperandSpec &output : spec.outputs)
        shared += output.aliasOf >= 0;
      for (const auto &[name, value] : spec.set)
        parameters.insert(name);
    }
    CHECK(shared > 10);
    CHECK(parameters == std::set<std::string>{"block", "chunk", "rows", "warps",
                                              "tile_m", "tile_n", "tile_k",
                                              "stages", "cluster_m",
                                              "cluster_n", "splits", "columns",
                                              "tiles", "heads"});
    CHECK(specOf({"chain", {}, {}})->set.empty());
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
