//===- QualityTest.cpp - The tester finds what is wrong, and only that ----===//
//
// Soundness: right kernels pass. Tightness: they come near their bound.
// Detection: planted bugs in output, PTX and tile code are found.
//
//===----------------------------------------------------------------------===//
#include "harness/campaign/Campaign.h"
#include "harness/gen/Generate.h"
#include "harness/gen/Rules.h"
#include "harness/run/RealEngine.h"
#include "tests/quality/WrongEngine.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <regex>

using namespace tandem;
using namespace tandem::harness;

static Engine emulator() {
  Result<Engine> engine = realEngine("emulator");
  REQUIRE(engine);
  return engine.take();
}

static CampaignReport fuzz(const Engine &engine, const std::string &scope,
                           int64_t cases, uint64_t seed) {
  CampaignOptions options;
  options.subjects = {{scope, std::nullopt, 1}};
  options.cases = cases;
  options.seed = seed;
  options.maxShrunk = 0;
  Result<CampaignReport> report = runCampaign(engine, options);
  REQUIRE(report);
  return report.take();
}

/// Cases until the first failure, at most \p most; 0 if there was none.
static int casesToKill(const Engine &engine, const std::string &scope,
                       int most = 200) {
  Result<std::unique_ptr<Device>> device = engine.makeDevice();
  REQUIRE(device);
  for (int i = 1; i <= most; ++i) {
    Result<Case> made = randomCase(scope, std::nullopt, mix64(uint64_t(i)));
    REQUIRE(made);
    if (runCase(*specOf(*made), engine, **device).failed())
      return i;
  }
  return 0;
}

static std::vector<std::string> fuzzableOps() {
  std::vector<std::string> ops;
  for (const OpInfo &op : opTable())
    if (isFuzzable(op))
      ops.push_back(std::string(op.mnemonic));
  return ops;
}

TEST_SUITE("quality") {
  TEST_CASE("a run on products reaches the asynchronous kernels") {
    const CampaignReport report = fuzz(emulator(), "gemm_tile", 100, 5);
    CHECK_MESSAGE(report.verdicts[size_t(Verdict::Failed)] == 0,
                  reportToText(report));
    CHECK(report.schedules.at("asynchronous matmul") >= 10);
    CHECK(report.schedules.at("matmul") >= 10);
  }

  TEST_CASE("right kernels pass, and come near their bound") {
    const Engine engine = emulator();
    for (const std::string &op : fuzzableOps()) {
      const CampaignReport report = fuzz(engine, op, 60, 11);
      CAPTURE(op);
      CHECK_MESSAGE(report.verdicts[size_t(Verdict::Failed)] == 0,
                    reportToText(report));
      CHECK(report.verdicts[size_t(Verdict::Skipped)] == 0);
      const OpTally &tally = report.ops.at(op);
      CHECK(tally.maxRatio <= 1);
      // Exact ops have no ratio. Two chained products with a worst-case bound
      // each, mostly in f32: attention's median over 500 cases is 0.042.
      if (tally.maxRatio > 0)
        CHECK(tally.medianRatio >= (op == "attention_tile" ? 0.03 : 0.05));
    }
  }

  TEST_CASE("a NaN, a missing store and a wrong rounding are found in every "
            "op") {
    const Engine engine = emulator();
    for (const std::string &op : fuzzableOps()) {
      // What is edited is an output, and kv_append has a state only.
      if (op == "kv_append")
        continue;
      CAPTURE(op);
      const Engine poison = withEditedOutputs(
          engine, [](Device &device, const std::vector<Operand> &outputs) {
            editLastElement(device, outputs,
                            [](DType type, std::byte *element) {
                              std::memset(element, 0xAA, dtypeSize(type));
                            });
          });
      CHECK(casesToKill(poison, op, 10) > 0);
      if (op == "sample_argmax" || op == "embed")
        continue;
      const Engine nan = withEditedOutputs(
          engine, [](Device &device, const std::vector<Operand> &outputs) {
            editLastElement(
                device, outputs, [](DType type, std::byte *element) {
                  if (isFloat(type))
                    storeDouble(type, std::numeric_limits<double>::quiet_NaN(),
                                element);
                });
          });
      CHECK(casesToKill(nan, op, 10) > 0);
      // Two units of the output type are beyond any bound that is licensed for
      // values of ordinary size in a 16-bit type.
      const Engine bump = withEditedOutputs(
          engine, [](Device &device, const std::vector<Operand> &outputs) {
            editLastElement(
                device, outputs, [](DType type, std::byte *element) {
                  if (!isFloat(type))
                    return;
                  const double y = loadDouble(type, element);
                  if (std::isfinite(y))
                    storeDouble(type, nextUp(type, nextUp(type, y)), element);
                });
          });
      CHECK(casesToKill(bump, op, 20) > 0);
    }
  }

  TEST_CASE("a dropped tail mask is found in every op that reduces rows") {
    const Engine wrong = withEditedTile(emulator(), dropMasks);
    for (const char *op : {"softmax", "layernorm"}) {
      CAPTURE(op);
      CHECK(casesToKill(wrong, op) > 0);
    }
  }

  TEST_CASE("edits of the PTX are found") {
    struct Edit {
      const char *what, *op, *pattern, *replacement;
    };
    // Each pattern occurs in the op's PTX: an edit that changes nothing would
    // survive and fail the test.
    for (const Edit &edit : {
             Edit{"addition toward zero", "add", R"(add\.rn\.f32)",
                  "add.rz.f32"},
             Edit{"product toward zero", "mul", R"(mul\.rn\.f32)",
                  "mul.rz.f32"},
             Edit{"accesses without their guard", "gelu", R"(@%p\d+ bra[^;]*;)",
                  ""},
             Edit{"a barrier dropped", "softmax", R"(bar(rier)?\.sync[^;]*;)",
                  ""},
             Edit{"a shuffle from the wrong lane", "rmsnorm",
                  R"((shfl\.sync\.bfly\.b32\s+[^;]*), 1, )", "$1, 2, "},
         }) {
      CAPTURE(edit.what);
      const std::regex pattern(edit.pattern);
      const std::string replacement = edit.replacement;
      const Engine wrong =
          withEditedPtx(emulator(), [=](const std::string &ptx) {
            return std::regex_replace(ptx, pattern, replacement);
          });
      const int cases = casesToKill(wrong, edit.op);
      MESSAGE(std::string(edit.what), ": ", cases, " cases");
      CHECK(cases > 0);
    }
  }
}
