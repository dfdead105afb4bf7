//===- Replay.cpp - tandem replay -----------------------------------------===//
#include "harness/corpus/Corpus.h"
#include "harness/run/RealEngine.h"
#include "harness/tools/Subcommands.h"

#include <cstdio>
#include <filesystem>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;

namespace {
struct Options {
  std::vector<std::string> cases;
  std::string device = "auto";
  bool json = false;
};
} // namespace

/// A folder stands for the cases in it.
static Result<std::vector<LoadedCase>>
loadAll(const std::vector<std::string> &texts) {
  std::vector<LoadedCase> all;
  for (const std::string &text : texts) {
    std::error_code code;
    if (std::filesystem::is_directory(text, code)) {
      auto corpus = readCorpus(text);
      if (!corpus)
        return corpus.error();
      if (corpus->empty())
        return Error(text + ": expected case files (*.json), the folder has "
                            "none");
      for (CorpusEntry &entry : *corpus)
        all.push_back({std::move(entry.file.spec), std::nullopt, entry.path});
      continue;
    }
    Result<LoadedCase> loaded = loadCase(text);
    if (!loaded)
      return loaded.error();
    all.push_back(loaded.take());
  }
  return all;
}

static Result<int> run(const Options &options) {
  auto all = loadAll(options.cases);
  if (!all)
    return all.error();
  Result<OpenedEngine> opened = openEngine(options.device);
  if (!opened)
    return opened.error();
  const Engine &engine = opened->engine;
  Device &device = *opened->device;
  int code = 0;
  const StopRequest stop;
  for (const LoadedCase &loaded : *all) {
    if (stop.flag() || !outputFailure().empty())
      break;
    if (all->size() > 1 && !options.json)
      print("%s\n", loaded.name.c_str());
    const Outcome outcome = runCase(loaded.spec, engine, device);
    code = std::max(code, printOutcome(loaded, outcome, options.json));
  }
  return code == 0 ? stop.exitCode() : code;
}

Command tandem::tools::replayCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app =
      addCommand(parent, "replay", "Run one case again, or a folder of them",
                 "tandem replay 'softmax:3:0.1.5.3' --device emulator");
  app->add_option("case", options->cases,
                  "A case file, a folder of them, or the line that a failure "
                  "printed")
      ->required();
  addDeviceOption(app, options->device);
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
