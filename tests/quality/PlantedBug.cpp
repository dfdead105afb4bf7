//===- PlantedBug.cpp - A wrong lowering, found, shrunk and replayed ------===//
//
//   tandem-planted-bug              search, shrink, print, replay
//   tandem-planted-bug replay LINE  replay one case on the wrong compiler
//
// The lowering drops the tail mask of softmax, so that the columns beyond a
// row's end join its maximum and its sum. Exit code 0 means that the bug was
// found and that the printed line shows it again.
//
//===----------------------------------------------------------------------===//
#include "harness/campaign/Campaign.h"
#include "harness/gen/Generate.h"
#include "harness/run/RealEngine.h"
#include "tests/quality/WrongEngine.h"

#include <cstdio>
#include <cstring>

using namespace tandem;
using namespace tandem::harness;

static int cannot(const Error &error) {
  std::fprintf(stderr, "tandem-planted-bug: %s\n", error.text().c_str());
  return 2;
}

/// Whether the case fails on \p engine.
static Result<bool> replay(const Engine &engine, const std::string &line) {
  Result<Case> read = parseCaseLine(line);
  if (!read)
    return read.error();
  Result<CaseSpec> spec = specOf(*read);
  if (!spec)
    return spec.error();
  Result<std::unique_ptr<Device>> device = engine.makeDevice();
  if (!device)
    return device.error();
  const Outcome outcome = runCase(*spec, engine, **device);
  std::printf("%s%s%s\n", std::string(verdictName(outcome.verdict)).c_str(),
              outcome.failed() ? ": " : "", outcome.failure.message.c_str());
  return outcome.failed();
}

int main(int argc, char **argv) {
  Result<Engine> real = realEngine("emulator");
  if (!real)
    return cannot(real.error());
  const Engine wrong = withEditedTile(*real, dropMasks);
  if (argc == 3 && std::strcmp(argv[1], "replay") == 0) {
    Result<bool> failed = replay(wrong, argv[2]);
    return failed ? (*failed ? 1 : 0) : cannot(failed.error());
  }
  std::printf("planted: a lowering without the tail mask of softmax\n");
  CampaignOptions options;
  options.subjects = {{"softmax", std::nullopt, 1}};
  options.cases = 60;
  options.maxShrunk = 1;
  Result<CampaignReport> report = runCampaign(wrong, options);
  if (!report)
    return cannot(report.error());
  if (report->failures.empty()) {
    std::printf("not found in %lld cases\n",
                static_cast<long long>(report->cases));
    return 1;
  }
  const CampaignFailure &found = report->failures.front();
  const std::string line = found.smallest.line();
  std::printf("found as    %s\nshrunk to   %s in %d steps\nwhat        %s: %s\n"
              "first bad stage  %s\n",
              found.original.line().c_str(), line.c_str(), found.shrinkSteps,
              found.failure.what.text().c_str(), found.failure.message.c_str(),
              found.failure.blame.c_str());
  std::printf("replayed    ");
  Result<bool> again = replay(wrong, line);
  if (!again)
    return cannot(again.error());
  std::printf("unplanted   ");
  Result<bool> right = replay(*real, line);
  if (!right)
    return cannot(right.error());
  return *again && !*right ? 0 : 1;
}
