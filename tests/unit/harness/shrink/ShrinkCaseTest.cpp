//===- ShrinkCaseTest.cpp - Planted bugs shrink to what shows them --------===//
#include "harness/shrink/ShrinkCase.h"

#include "harness/gen/Generate.h"
#include "tests/unit/harness/FakeEngine.h"

#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::harness;

/// Fuzzes until the bug shows, and shrinks the first case that shows it.
static CaseSpec minimal(const std::string &scope, const FakeBug &bug,
                        int64_t *steps = nullptr) {
  const Engine engine = fakeEngine(bug);
  HostDevice device;
  const RunOptions options;
  for (uint64_t seed = 1; seed < 5000; ++seed) {
    const Case candidate = *randomCase(scope, {}, seed);
    const CaseSpec spec = *specOf(candidate);
    if (!fakeSupports(spec.recipe))
      continue;
    for (size_t i = 0; i < spec.inputs.size(); ++i)
      if (spec.inputDesc(i).extent() > (1 << 24))
        goto next; // the host device has no sparse memory
    {
      const Outcome outcome = runCase(spec, engine, device, options);
      if (outcome.failed() && outcome.failure.what.stage != "compile") {
        const ShrunkCase shrunk = shrinkCase(candidate, outcome.failure.what,
                                             engine, device, options);
        CHECK(shrunk.isMinimal);
        if (steps)
          *steps = shrunk.steps;
        const CaseSpec smallest = *specOf(shrunk.smallest);
        CHECK(runCase(smallest, engine, device, options).failed());
        return smallest;
      }
    }
  next:;
  }
  FAIL("the bug was not found");
  return {};
}

TEST_SUITE("harness shrink case") {
  TEST_CASE("a bug beyond a tile shrinks to the tile plus one, in one row of "
            "plain values") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      if (store.desc.rank() && store.desc.shape.back() > 64 &&
          store.linear % store.desc.shape.back() == 64)
        store.value += 1;
      return true;
    };
    const CaseSpec spec = minimal("rmsnorm", bug);
    CHECK(spec.inputDesc(0).shape.back() == 65);
    CHECK(spec.inputDesc(0).numElements() == 65);
    CHECK(spec.inputs[0].layout == LayoutSpec());
    CHECK(spec.inputs[0].values == ValueSpec());
    CHECK(spec.inputDesc(0).dtype == DType::F32);
    CHECK(spec.environment == EnvironmentSpec());
  }

  TEST_CASE("a bug of transposed outputs keeps the layout and nothing else") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      const Dims &strides = store.desc.strides;
      if (store.desc.rank() == 2 && store.desc.shape[0] > 1 &&
          store.desc.shape[1] > 1 && strides[0] < strides[1])
        store.value += 1;
      return true;
    };
    const CaseSpec spec = minimal("softmax", bug);
    CHECK(spec.outputDesc(0).shape == Dims{2, 2});
    CHECK(spec.outputDesc(0).strides == Dims{1, 2});
    CHECK(spec.inputDesc(0).isContiguous());
    CHECK(spec.inputs[0].values == ValueSpec());
  }

  TEST_CASE("a bug of 16-bit types takes the plainest of them") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      if (dtypeSize(store.desc.dtype) == 2)
        store.value += 1;
      return true;
    };
    const CaseSpec spec = minimal("gelu", bug);
    CHECK(spec.outputDesc(0).dtype == DType::BF16);
    CHECK(spec.outputDesc(0).numElements() == 1);
  }

  TEST_CASE("a bug of large values keeps a value of that sort") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      if (store.value > 15)
        store.value += 1;
      return true;
    };
    const CaseSpec spec = minimal("gelu", bug);
    CHECK(spec.outputDesc(0).numElements() <= 2);
  }

  TEST_CASE("a bug of chains of two or more drops every other step") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      if (store.numSteps >= 2)
        store.value += 1;
      return true;
    };
    const CaseSpec spec = minimal("chain", bug);
    CHECK(spec.recipe.steps.size() == 2);
    CHECK(spec.outputDesc(0).numElements() == 1);
  }

  TEST_CASE("shrinking is deterministic") {
    FakeBug bug;
    bug.store = [](FakeStore &store) {
      if (store.linear > 40)
        store.value += 1;
      return true;
    };
    int64_t first = 0, second = 0;
    CHECK(minimal("layernorm", bug, &first) ==
          minimal("layernorm", bug, &second));
    CHECK(first == second);
  }
}
