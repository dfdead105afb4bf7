//===- NamedCasesTest.cpp - The edges that a kernel must get right --------===//
//
// Each folder of harness/corpus/named/ is a claim, and the cases in it show it:
// kernels on the emulator against the reference within the computed bound.
// A case whose `expect` begins with "refused call: " must be refused in exactly
// these words. One claim: `tandem-named-tests -sc='*zero-point*'`.
//
//===----------------------------------------------------------------------===//
#include "harness/corpus/Corpus.h"
#include "harness/run/RealEngine.h"
#include "harness/run/Runner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace tandem;
using namespace tandem::harness;

/// Listed, so that a folder that goes missing is noticed.
static const std::vector<std::string> claims = {
    "an-empty-shard-among-others",
    "argmax-ties-and-nan",
    "every-int4-code-with-every-zero-point",
    "groups-longer-than-k",
    "k-100-with-groups-of-32",
    "k-below-one-tile",
    "layernorm-at-mean-1e4",
    "logits-near-minus-1e5",
    "n-is-8-mod-16",
    "positions-131071-and-2-to-the-20",
    "query-heads-on-fewer-key-heads",
    "rows-of-minus-infinity-only",
    "the-last-slot-and-one-past-it",
    "views-over-3-g-elements",
};

static const std::string folder = TANDEM_SOURCE_DIR "/harness/corpus/named";

static void check(const CorpusEntry &entry, const Engine &engine,
                  Device &device) {
  const CaseSpec &spec = entry.file.spec;
  CAPTURE(entry.path);
  CHECK(!entry.file.note.empty());
  const Outcome outcome = runCase(spec, engine, device);
  CAPTURE(outcome.failure.message);
  if (spec.expect.starts_with("refused call: ")) {
    CHECK(outcome.verdict == Verdict::Skipped);
    CHECK(outcome.reason == spec.expect);
    return;
  }
  CAPTURE(outcome.reason);
  CHECK(outcome.verdict == Verdict::Passed);
  CHECK(!outcome.receipts.empty());
  for (const Receipt &receipt : outcome.receipts) {
    CHECK(receipt.elements > 0);
    CHECK(receipt.unchecked == 0);
    CHECK(receipt.ratio <= 1);
  }
}

TEST_SUITE("named cases") {
  TEST_CASE("each folder is a claim, and each claim has its folder") {
    std::vector<std::string> folders;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      folders.push_back(entry.path().filename().string());
    std::sort(folders.begin(), folders.end());
    CHECK(folders == claims);
  }

  TEST_CASE("kernels are right where kernels go wrong") {
    Result<Engine> engine = realEngine("emulator");
    REQUIRE(engine);
    Result<std::unique_ptr<Device>> device = engine->makeDevice();
    REQUIRE(device);
    for (const std::string &claim : claims)
      SUBCASE(claim.c_str()) {
        Result<std::vector<CorpusEntry>> entries =
            readCorpus(folder + "/" + claim);
        REQUIRE_MESSAGE(entries, entries.error().text());
        CHECK(entries->size() >= 3);
        for (const CorpusEntry &entry : *entries)
          check(entry, *engine, **device);
      }
  }

  TEST_CASE("behind a bad id only its own row has no verdict") {
    Result<CaseFile> file = readCaseFile(R"({
      "tandem_case": 1,
      "spec": {
        "recipe": {
          "name": "embed_norm_gemm",
          "inputs": [
            {"name": "ids", "dtype": "int32", "shape": ["M"]},
            {"name": "table", "dtype": "bfloat16", "shape": ["V", 64]},
            {"name": "w", "dtype": "bfloat16", "shape": [64]},
            {"name": "W", "dtype": "bfloat16", "shape": ["N", 64]}],
          "outputs": [
            {"name": "y", "dtype": "bfloat16", "shape": ["M", "N"]}],
          "recipe": {"steps": [
            {"op": "embed", "args": [{"in": 0}, {"in": 1}], "out": 0},
            {"op": "rmsnorm", "args": [{"s": 0}, {"in": 2}], "out": 1},
            {"op": "gemm_tile", "args": [{"s": 1}, {"in": 3}],
             "out": "final"}]}
        },
        "dims": {"M": 9, "V": 7, "N": 40},
        "inputs": [{"values": [0, 6, 3, 7, 1, 2, 5, 4, 0]},
                   {"values": "normal", "seed": 1},
                   {"values": "normal", "seed": 2},
                   {"values": "normal", "seed": 3}],
        "outputs": [{}]
      }})",
                                         "case");
    REQUIRE_MESSAGE(file, file.error().text());
    Result<Engine> engine = realEngine("emulator");
    REQUIRE(engine);
    Result<std::unique_ptr<Device>> device = engine->makeDevice();
    REQUIRE(device);
    for (bool fuse : {true, false}) {
      file->spec.fuse = fuse;
      const Outcome outcome = runCase(file->spec, *engine, **device);
      CAPTURE(outcome.failure.message);
      CHECK(outcome.verdict == Verdict::Passed);
      REQUIRE(outcome.receipts.size() == 1);
      CHECK(outcome.receipts[0].elements == 9 * 40);
      CHECK(outcome.receipts[0].unchecked == 40);
    }
  }

  TEST_CASE("attn_step refuses one buffer as both caches") {
    const TensorType row = {DType::F16, {Dim(2), Dim(64)}};
    const TensorType cache = {DType::F16, {Dim(10), Dim(2), Dim(64)}};
    Params params;
    params.values["pos"] = int64_t(3);
    Result<Recipe> recipe = singleOpRecipe(
        Opcode::ATTN_STEP, {row, row, row, cache, cache}, params);
    REQUIRE_MESSAGE(recipe, recipe.error().text());
    CaseSpec spec;
    spec.recipe = recipe.take();
    spec.inputs.resize(5);
    spec.outputs.resize(1);
    PlacedOperands placed = placeOperands(spec);
    CHECK(checkCall(spec.recipe, placed.inputs, placed.outputs));
    placed.inputs[4].address = placed.inputs[3].address;
    const Result<DimBindings> shared =
        checkCall(spec.recipe, placed.inputs, placed.outputs);
    REQUIRE(!shared);
    CHECK(shared.error().text() ==
          "attn_step: input 'v_cache': it overlaps input 'k_cache'");
    // And a recipe that names one input twice.
    Recipe twice = spec.recipe;
    twice.steps[0].args[4] = twice.steps[0].args[3];
    const Result<Recipe> again = readRecipe(writeRecipe(twice), "twice.json");
    REQUIRE(!again);
    CHECK(again.error().text() ==
          "twice.json: steps[0].args[3]: it is updated in place and is also "
          "steps[0].args[4]\ntwice.json: steps[0].args[4]: it is updated in "
          "place and is also steps[0].args[3]");
  }
}
