//===- Blame.cpp - tandem blame -------------------------------------------===//
#include "harness/run/RealEngine.h"
#include "harness/tools/Subcommands.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;

namespace {
struct Options {
  std::string text;
  std::string device = "auto";
  bool json = false;
};
} // namespace

static Result<int> run(const Options &options) {
  Result<LoadedCase> loaded = loadCase(options.text);
  if (!loaded)
    return loaded.error();
  Result<OpenedEngine> opened = openEngine(options.device);
  if (!opened)
    return opened.error();
  const Engine &engine = opened->engine;
  Device &device = *opened->device;
  Outcome outcome = runCase(loaded->spec, engine, device);
  if (outcome.failed())
    outcome.failure.blame = blameCase(loaded->spec, outcome, engine, device);
  const int code = printOutcome(*loaded, outcome, options.json);
  if (outcome.failed() && !options.json)
    print("first bad stage: %s\n", outcome.failure.blame.c_str());
  return code;
}

Command tandem::tools::blameCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app =
      addCommand(parent, "blame", "Name the first bad stage of a failing case",
                 "tandem blame 'softmax:3:0.1.5.3' --device emulator");
  app->add_option("case", options->text, "A case file or a case line")
      ->required();
  addDeviceOption(app, options->device);
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
