//===- FaultTest.cpp - What a bad index takes with it ---------------------===//
#include "harness/gen/Generate.h"
#include "harness/run/Execution.h"
#include "refops/Evaluate.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace tandem;
using namespace tandem::harness;

static Contract anyContract(const Recipe &recipe) {
  Contract contract;
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    StepContract step;
    step.step = static_cast<int>(i);
    step.op = recipe.steps[i].op;
    step.depth = "ceildiv(n, 32) + 32";
    step.dot = "fma";
    contract.steps.push_back(step);
  }
  return contract;
}

/// Outputs in double, one after the other.
static std::vector<double> valuesOf(const Recipe &recipe,
                                    const std::vector<View> &inputs) {
  auto expected = refops::evaluate(recipe, inputs, anyContract(recipe));
  REQUIRE_MESSAGE(expected, (expected ? "" : expected.error().text()));
  std::vector<double> all;
  for (const refops::Expected &output : *expected)
    all.insert(all.end(), output.value.begin(), output.value.end());
  return all;
}

TEST_SUITE("harness faults") {
  // A second formulation of "depends on the row": put one row of the table
  // there, then another one, and see what changes.
  TEST_CASE(
      "an element that depends on a row with a bad index has no verdict") {
    int tried = 0, mixed = 0;
    for (uint64_t seed = 0; seed < 6000 && tried < 100; ++seed) {
      const CaseSpec spec = *specOf(*randomCase("chain", {}, seed));
      const Step &first = spec.recipe.steps.front();
      if (first.op != Opcode::EMBED || spec.recipe.steps.size() < 2 ||
          numElements(spec) > 20000)
        continue;
      auto inputs = makeInputs(spec);
      REQUIRE(inputs);
      HostTensor &ids = (*inputs)[static_cast<size_t>(first.args[0].index)];
      const HostTensor &table =
          (*inputs)[static_cast<size_t>(first.args[1].index)];
      const int64_t vocabulary = table.desc.shape[0];
      if (ids.desc.numElements() == 0 || vocabulary < 2)
        continue;
      for (int64_t i = 0; i < ids.desc.numElements(); ++i) {
        std::byte *id =
            ids.bytes.data() + i * int64_t(dtypeSize(ids.desc.dtype));
        if (loadInteger(ids.desc.dtype, id) < 0 ||
            loadInteger(ids.desc.dtype, id) >= vocabulary)
          storeInteger(ids.desc.dtype, 0, id);
      }
      std::vector<View> views;
      for (HostTensor &input : *inputs)
        views.push_back(input.view());
      std::byte *id = ids.bytes.data();
      storeInteger(ids.desc.dtype, 0, id);
      const std::vector<double> one = valuesOf(spec.recipe, views);
      storeInteger(ids.desc.dtype, 1, id);
      const std::vector<double> other = valuesOf(spec.recipe, views);
      storeInteger(ids.desc.dtype, vocabulary, id);
      std::vector<refops::IndexFault> faults;
      refops::EvaluateOptions options;
      options.faults = &faults;
      auto expected = refops::evaluate(spec.recipe, views,
                                       anyContract(spec.recipe), options);
      REQUIRE(expected);
      CHECK(faults == std::vector<refops::IndexFault>{{0, 0, vocabulary}});
      size_t at = 0;
      CAPTURE(seed);
      for (const refops::Expected &output : *expected)
        for (size_t e = 0; e < output.value.size(); ++e, ++at) {
          const bool depends = one[at] != other[at] &&
                               !(std::isnan(one[at]) && std::isnan(other[at]));
          if (depends)
            CHECK_MESSAGE(output.unchecked[e] != 0, "element ", e);
          mixed += depends;
        }
      ++tried;
    }
    CHECK(tried == 100);
    CHECK(mixed > 1000);
  }
}
