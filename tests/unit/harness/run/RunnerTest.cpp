//===- RunnerTest.cpp - Each kind of wrong kernel gets its class ----------===//
#include "harness/run/Runner.h"

#include "harness/gen/Generate.h"
#include "tests/unit/harness/FakeEngine.h"

#include <doctest/doctest.h>

#include <limits>

using namespace tandem;
using namespace tandem::harness;

/// A 3 x 8 gelu (doubled, in this engine) of normal numbers.
static CaseSpec gelu(DType type = DType::F32) {
  CaseSpec spec;
  spec.recipe = *singleOpRecipe(Opcode::GELU, {{type, {Dim("M"), Dim("K")}}});
  spec.dims = {{"M", 3}, {"K", 8}};
  spec.inputs.resize(1);
  spec.inputs[0].values.kind = "normal";
  spec.outputs.resize(1);
  spec.environment.repeat = true;
  spec.environment.guardBands = true;
  return spec;
}

static Outcome runWith(const CaseSpec &spec, const FakeBug &bug) {
  HostDevice device;
  return runCase(spec, fakeEngine(bug), device);
}

static std::string classOf(const FakeBug &bug, CaseSpec spec = gelu()) {
  const Outcome outcome = runWith(spec, bug);
  return outcome.failed() ? outcome.failure.what.text() : "";
}

TEST_SUITE("harness runner") {
  TEST_CASE("a right kernel passes, in every layout and type") {
    for (DType type : {DType::F32, DType::F16, DType::BF16, DType::F8E4M3})
      for (const Dims &strides :
           {Dims{}, Dims{11, 1}, Dims{1, 3}, Dims{24, 3}}) {
        CaseSpec spec = gelu(type);
        spec.inputs[0].layout.strides = strides;
        spec.outputs[0].layout.strides = strides;
        spec.outputs[0].layout.offset = 5;
        const Outcome outcome = runWith(spec, {});
        CHECK(outcome.verdict == Verdict::Passed);
        CHECK(outcome.repeated);
        CHECK(outcome.comparedRows);
      }
  }

  TEST_CASE("one wrong rounding is found") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      if (store.linear == 13)
        store.value = nextUp(DType::F32, store.value);
      return true;
    };
    CHECK(classOf(bug) == "result value in gelu");
  }

  TEST_CASE("one element that is never written is found under either fill") {
    FakeBug bug;
    bug.store = [](FakeStore &store) { return store.linear != 23; };
    for (uint8_t fill : {0xAA, 0x55}) {
      CaseSpec spec = gelu();
      spec.environment.fill = fill;
      CHECK(classOf(bug, spec) == "result unwritten in gelu");
    }
  }

  TEST_CASE("a NaN is found") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      if (store.linear == 0)
        store.value = std::numeric_limits<double>::quiet_NaN();
      return true;
    };
    CHECK(classOf(bug) == "result nan in gelu");
  }

  TEST_CASE("a write outside the output is found") {
    for (int64_t element : {-1, 24}) {
      FakeBug bug;
      bug.store = [element](FakeStore &store) {
        if (store.linear == 0)
          std::memset(store.target + element * 4, 0, 4);
        return true;
      };
      CHECK(classOf(bug) == "guard overrun in gelu");
    }
  }

  TEST_CASE("a result that depends on the schedule is found") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      // Wrong by less than the reference could tell, were its bound wide.
      if (store.options.scheduleSeed % 2)
        store.value = nextUp(DType::F32, store.value);
      return true;
    };
    Engine engine = fakeEngine(bug);
    const auto exact = engine.evaluate;
    engine.evaluate = [exact](const Recipe &recipe,
                              const std::vector<View> &inputs,
                              const Contract &contract,
                              std::vector<refops::IndexFault> *faults) {
      auto expected = exact(recipe, inputs, contract, faults);
      for (double &error : (*expected)[0].error)
        error = 1e-3;
      return expected;
    };
    HostDevice device;
    const Outcome outcome = runCase(gelu(), engine, device);
    REQUIRE(outcome.failed());
    CHECK(outcome.failure.what.text() == "consistency repeat in gelu");
  }

  TEST_CASE("a first row that depends on the number of rows is found") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      if (store.desc.shape[0] == 1 && store.linear == 2)
        store.value += 1e-4;
      return true;
    };
    CHECK(classOf(bug) == "consistency rows in gelu");
  }

  TEST_CASE("a finding of the device decides the class") {
    FakeBug bug;
    bug.report = [](LaunchReport &report) {
      Finding finding;
      finding.kind = "race";
      report.findings.push_back(finding);
    };
    CHECK(classOf(bug) == "check race in gelu");
  }

  TEST_CASE("an index error out of nowhere is found") {
    FakeBug bug;
    bug.report = [](LaunchReport &report) {
      report.indexErrors.push_back({0, 3});
    };
    CHECK(classOf(bug) == "result index-error in gelu");
  }

  TEST_CASE("an index error that only some launches report is found") {
    FakeBug bug;
    int launches = 0;
    bug.report = [&](LaunchReport &report) {
      if (++launches == 2)
        report.indexErrors.push_back({0, 3});
    };
    CHECK(classOf(bug) == "result index-error in gelu");
    CHECK(launches >= 2);
  }

  TEST_CASE("an unlicensed contract is a failure, not a wider bound") {
    FakeBug bug;
    bug.contract = [](Contract &contract) { contract.accumulator = "float16"; };
    CHECK(classOf(bug) == "contract unlicensed in gelu");
  }

  TEST_CASE("a recipe that does not compile is a failure") {
    CaseSpec spec = gelu();
    spec.recipe = *singleOpRecipe(Opcode::SAMPLE_ARGMAX,
                                  {{DType::F32, {Dim("M"), Dim("K")}}});
    CHECK(classOf({}, spec) == "compile error in sample_argmax");
  }

  TEST_CASE("an output of zeros only is mistrusted unless it is expected") {
    CaseSpec spec = gelu();
    spec.inputs[0].values.kind = "zero";
    CHECK(runWith(spec, {}).verdict == Verdict::Mistrusted);
    CHECK(runWith(spec, {}).reason == "y: mostly zero");
    spec.expect = "zero";
    CHECK(runWith(spec, {}).verdict == Verdict::Passed);
  }

  TEST_CASE("an empty output passes when nothing around it is touched") {
    CaseSpec spec = gelu();
    spec.dims["K"] = 0;
    CHECK(runWith(spec, {}).verdict == Verdict::Passed);
  }
}
