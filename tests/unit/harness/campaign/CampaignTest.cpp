//===- CampaignTest.cpp - A campaign's report depends on its seed only ----===//
#include "harness/campaign/Campaign.h"

#include "harness/gen/Generate.h"
#include "tests/unit/harness/FakeEngine.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;

static CampaignOptions options(int jobs, uint64_t seed = 3) {
  CampaignOptions result;
  Result<Recipe> recipe = singleOpRecipe(
      Opcode::GELU, {{DType::F16, {Dim("M"), Dim(int64_t(24))}}});
  result.subjects = {{"@gelu.json", *recipe, 1}};
  result.cases = 200;
  result.seed = seed;
  result.jobs = jobs;
  return result;
}

TEST_SUITE("harness campaign") {
  TEST_CASE(
      "reports are equal for equal seeds, whatever the number of workers") {
    const Engine engine = fakeEngine();
    auto one = runCampaign(engine, options(1));
    auto four = runCampaign(engine, options(4));
    REQUIRE(one);
    REQUIRE(four);
    CHECK(reportToJson(*one).dump() == reportToJson(*four).dump());
    CHECK(one->cases == 200);
    CHECK(one->failures.empty());
    auto other = runCampaign(engine, options(1, 4));
    CHECK(reportToJson(*one).dump() != reportToJson(*other).dump());
  }

  TEST_CASE("one bug is reported once, with its smallest case") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      if (store.linear >= 24 * 3 && std::abs(store.value) < 100)
        store.value += 1;
      return true;
    };
    auto report = runCampaign(fakeEngine(bug), options(2));
    REQUIRE(report);
    REQUIRE(report->failures.size() == 1);
    const CampaignFailure &failure = report->failures[0];
    CHECK(failure.failure.what.text() == "result value in gelu");
    CHECK(failure.count > 10);
    CHECK(failure.isMinimal);
    CHECK(specOf(failure.smallest)->dims.at("M") == 4);
    CHECK_FALSE(report->isClean());
    CHECK(report->verdicts[size_t(Verdict::Failed)] == failure.count);
  }

  TEST_CASE("a run is too vacuous above 20 %, and never by chance") {
    // Long runs: the limit alone.
    CHECK_FALSE(isTooVacuous(400, 2000));
    CHECK(isTooVacuous(401, 2000));
    CHECK_FALSE(isTooVacuous(20, 100));
    CHECK(isTooVacuous(21, 100));
    // Short ones: what a share of 5 % gives once in a million runs. The exact
    // chance of 10 of 30 is 1.2e-6, of 11 of 30 is 1.2e-7.
    CHECK_FALSE(isTooVacuous(10, 30));
    CHECK(isTooVacuous(11, 30));
    CHECK_FALSE(isTooVacuous(4, 4));
    CHECK(isTooVacuous(5, 5));
    CHECK_FALSE(isTooVacuous(0, 0));
  }

  TEST_CASE("a stop ends the campaign and keeps what was done") {
    std::atomic<bool> stop = false;
    CampaignOptions stopped = options(2);
    stopped.cases = 1000000;
    stopped.stop = &stop;
    stopped.progress = [&](const CampaignProgress &progress) {
      if (progress.done > 10)
        stop = true;
    };
    auto report = runCampaign(fakeEngine(), stopped);
    REQUIRE(report);
    CHECK(report->wasStopped);
    CHECK(report->cases > 10);
    CHECK(report->cases < 1000000);
  }

  TEST_CASE("more than a fifth that proves nothing is not clean") {
    CampaignReport report;
    report.cases = 100;
    report.verdicts[size_t(Verdict::Mistrusted)] = 20;
    CHECK(report.isClean());
    report.verdicts[size_t(Verdict::Mistrusted)] = 21;
    CHECK_FALSE(report.isClean());
  }
}
