//===- ShrinkCase.cpp - Shrinking a failing case --------------------------===//
#include "harness/shrink/ShrinkCase.h"

#include "harness/gen/Generate.h"

using namespace tandem;
using namespace tandem::harness;

ShrunkCase tandem::harness::shrinkCase(const Case &failing,
                                       const FailureClass &what,
                                       const Engine &engine, Device &device,
                                       const RunOptions &options,
                                       const ShrinkLimits &limits) {
  auto run = [&](const ChoiceSequence &candidate) {
    Choices choices = Choices::replay(candidate);
    Result<CaseSpec> spec = generate(failing.scope, failing.recipe, choices);
    Trial trial;
    if (!spec)
      return trial;
    const Outcome outcome = runCase(*spec, engine, device, options);
    trial.fails = outcome.failed() && isSameBug(what, outcome.failure.what);
    trial.record = choices.record();
    trial.spans = choices.spans();
    return trial;
  };
  const Shrunk shrunk = shrink(failing.choices, run, limits);
  ShrunkCase result;
  result.smallest = failing;
  result.smallest.choices = shrunk.choices;
  result.steps = shrunk.steps;
  result.isMinimal = shrunk.isMinimal;
  return result;
}
