//===- FusedTest.cpp - Fused equals unfused -------------------------------===//
#include "harness/gen/Generate.h"
#include "harness/run/Execution.h"
#include "harness/run/RealEngine.h"

#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::harness;

/// Small shapes: the claim is about kernels, of which each recipe has its own.
static constexpr int64_t mostElements = 6000;
static constexpr int64_t mostMultiplyAdds = 60000;

TEST_SUITE("fused") {
  TEST_CASE("500 random recipes give the same bits fused and step by step") {
    Result<Engine> engine = realEngine("emulator");
    REQUIRE(engine);
    Result<std::unique_ptr<Device>> device = engine->makeDevice();
    REQUIRE(device);
    int compared = 0, oneKernel = 0, otherContract = 0;
    for (uint64_t seed = 0; compared < 500 && seed < 20000; ++seed) {
      Choices choices = Choices::random(mix64(seed));
      Result<CaseSpec> made = generate("chain", std::nullopt, choices);
      REQUIRE_MESSAGE(made, made.error().text());
      CaseSpec spec = made.take();
      // A bad index leaves rows open: the search has those.
      bool isOutside = false;
      for (const OperandSpec &input : spec.inputs)
        isOutside |= input.values.patch == "outside";
      if (spec.recipe.steps.size() < 2 || isOutside ||
          numElements(spec) > mostElements ||
          numMultiplyAdds(spec) > mostMultiplyAdds)
        continue;
      const Case thisCase = {"chain", choices.record(), std::nullopt};
      CAPTURE(thisCase.line());
      Result<std::vector<HostTensor>> inputs = makeInputs(spec);
      REQUIRE(inputs);
      spec.fuse = true;
      const EnvironmentSpec &around = spec.environment;
      const Execution fused = execute(spec, *inputs, *engine, **device,
                                      around.fill, around.scheduleSeed);
      spec.fuse = false;
      const Execution apart = execute(spec, *inputs, *engine, **device,
                                      around.fill, around.scheduleSeed);
      if (!fused.skipped.empty()) // a schedule that a family cannot do
        continue;
      REQUIRE_MESSAGE(!fused.failure, fused.failure->message);
      REQUIRE_MESSAGE(!apart.failure, apart.failure->message);
      oneKernel += fused.program->launches.size() == 1;
      if (!(engine->contractOf(*fused.program) ==
            engine->contractOf(*apart.program))) {
        ++otherContract;
        continue;
      }
      ++compared;
      CHECK(fused.outputs == apart.outputs);
    }
    MESSAGE(compared, " compared, ", oneKernel, " of them one kernel, ",
            otherContract, " with another contract when fused");
    CHECK(compared == 500);
    CHECK(oneKernel > 100);
    // What differs is not compared, so it must stay the exception.
    CHECK(10 * otherContract < compared);
  }
}
