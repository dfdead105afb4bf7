//===- Shrink.cpp - tandem shrink -----------------------------------------===//
#include "harness/corpus/Corpus.h"
#include "harness/gen/Generate.h"
#include "harness/run/RealEngine.h"
#include "harness/shrink/ShrinkCase.h"
#include "harness/tools/Subcommands.h"

#include <cstdio>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;

namespace {
struct Options {
  std::string text;
  std::string device = "auto";
  std::string corpus;
  ShrinkLimits limits;
};
} // namespace

static Result<int> run(const Options &options) {
  Result<LoadedCase> loaded = loadCase(options.text);
  if (!loaded)
    return loaded.error();
  if (!loaded->choices)
    return Error(loaded->name +
                 ": has no choices to shrink (written by hand, or by another "
                 "generator)");
  Result<OpenedEngine> opened = openEngine(options.device);
  if (!opened)
    return opened.error();
  const Engine &engine = opened->engine;
  Device &device = *opened->device;
  const Outcome outcome = runCase(loaded->spec, engine, device);
  if (!outcome.failed()) {
    print("%s: nothing to shrink\n",
          std::string(verdictName(outcome.verdict)).c_str());
    return 0;
  }
  const StopRequest stop;
  ShrinkLimits limits = options.limits;
  limits.stop = &stop.flag();
  const ShrunkCase shrunk = shrinkCase(*loaded->choices, outcome.failure.what,
                                       engine, device, {}, limits);
  LoadedCase smallest;
  Result<CaseSpec> spec = specOf(shrunk.smallest);
  if (!spec)
    return spec.error();
  smallest.spec = spec.take();
  smallest.name = shrunk.smallest.line();
  const Outcome again = runCase(smallest.spec, engine, device);
  printOutcome(smallest, again, false);
  print("shrunk in %d steps%s\ntandem replay '%s'\n", shrunk.steps,
        shrunk.isMinimal ? "" : " (a limit was reached)",
        smallest.name.c_str());
  if (!options.corpus.empty()) {
    Result<std::string> path = addToCorpus(
        options.corpus, {smallest.spec, smallest.name, again.failure.message,
                         again.failure.what.text()});
    if (!path)
      return path.error();
    print("recorded %s\n", path->c_str());
  }
  return exitFound;
}

Command tandem::tools::shrinkCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "shrink", "Minimise a failing case, keeping its kind of failure",
      "tandem shrink 'softmax:3:0.1.5.3' --device emulator");
  app->add_option("case", options->text, "A case file or a case line")
      ->required();
  addDeviceOption(app, options->device);
  app->add_option("--corpus", options->corpus,
                  "Folder to record the smallest case in");
  addNumber(app, "--steps", options->limits.steps, 0, 1000000000,
            "Most cases to try")
      ->capture_default_str();
  addSeconds(app, options->limits.seconds, "Time limit")->capture_default_str();
  return {app, [options] { return run(*options); }};
}
