//===- Fuzz.cpp - tandem fuzz ---------------------------------------------===//
#include "harness/campaign/Campaign.h"

#include "harness/corpus/Corpus.h"
#include "harness/gen/Generate.h"
#include "harness/gen/Rules.h"
#include "harness/run/RealEngine.h"
#include "harness/tools/Subcommands.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;

namespace {
struct Options {
  std::vector<std::string> recipes;
  std::vector<std::string> ops;
  bool onlyChains = false;
  int64_t cases = 0;
  double seconds = 0;
  uint64_t seed = 1;
  int jobs = 0;
  std::string device = "auto";
  std::string corpus;
  std::string oracle = "all";
  bool json = false;
};
} // namespace

static Result<std::vector<Subject>> subjectsFrom(const Options &options) {
  std::vector<Subject> subjects;
  for (const std::string &path : options.recipes) {
    Result<Recipe> recipe = loadRecipe(path);
    if (!recipe)
      return recipe.error();
    subjects.push_back({"@" + path, recipe.take(), 1});
  }
  for (const std::string &name : options.ops) {
    const OpInfo *op = findOpInfo(name);
    if (!op || !isFuzzable(*op)) {
      if (op)
        return Error("--op: '" + std::string(op->mnemonic) +
                     "' cannot be fuzzed: " +
                     (op->defined ? "it computes nothing of its own"
                                  : "it is not implemented"));
      const std::string_view near = nearestOpName(name);
      return Error(
          "--op: no op is named " + quote(name) +
          (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
    }
    subjects.push_back({std::string(op->mnemonic), std::nullopt, 1});
  }
  if (options.onlyChains)
    subjects.push_back({"chain", std::nullopt, 1});
  return subjects.empty() ? allSubjects() : subjects;
}

static Result<int> run(const Options &options) {
  if (options.oracle == "ring")
    return Error("--oracle ring: not applicable yet, no op has exact algebra");
  Result<std::vector<Subject>> subjects = subjectsFrom(options);
  if (!subjects)
    return subjects.error();
  Result<Engine> engine = realEngine(options.device);
  if (!engine)
    return engine.error();
  CampaignOptions campaign;
  campaign.subjects = subjects.take();
  campaign.seconds = options.seconds;
  campaign.cases = options.cases;
  if (campaign.cases == 0 && campaign.seconds == 0)
    campaign.cases = 1000;
  campaign.seed = options.seed;
  campaign.jobs =
      options.jobs > 0
          ? options.jobs
          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  campaign.run.exact = options.oracle == "exact" || options.oracle == "all";
  campaign.run.self = options.oracle == "all";
  const StopRequest stop;
  campaign.stop = &stop.flag();
  std::optional<CampaignReport> report;
  {
    ProgressLine line("fuzz");
    campaign.progress = [&line](const CampaignProgress &progress) {
      line.update(progress);
    };
    Result<CampaignReport> result = runCampaign(*engine, campaign);
    if (!result)
      return result.error();
    report = result.take();
  }
  addFuzzCounts(*report);
  std::vector<std::string> written;
  if (!options.corpus.empty())
    for (const CampaignFailure &failure : report->failures) {
      Result<CaseSpec> spec = specOf(failure.smallest);
      if (!spec)
        return spec.error();
      Result<std::string> path =
          addToCorpus(options.corpus,
                      {spec.take(), failure.smallest.line(),
                       failure.failure.message, failure.failure.what.text()});
      if (!path)
        return path.error();
      written.push_back(*path);
    }
  if (options.json) {
    print("%s\n", reportToJson(*report).dump(1).c_str());
  } else {
    print("%s", reportToText(*report).c_str());
    for (const std::string &path : written)
      print("recorded %s\n", path.c_str());
  }
  // What was not searched is not clean: a script must see that it was stopped.
  return !report->failures.empty() || report->failuresNotShrunk ? exitFound
         : report->wasStopped ? stop.exitCode()
         : report->isClean()  ? 0
                              : exitFound;
}

Command tandem::tools::fuzzCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "fuzz", "Search for kernels that disagree with their reference",
      "tandem fuzz --op softmax --cases 500 --seed 7 --device emulator");
  app->add_option("recipes", options->recipes,
                  "Recipe files (.json or .mlir); none: all ops and chains");
  app->add_option("--op", options->ops, "Ops to fuzz");
  app->add_flag("--recipes", options->onlyChains,
                "Random recipes of 1 to 4 steps");
  addNumber(app, "--cases", options->cases, 0, 1000000000,
            "Number of cases (default 1000, or until --seconds)");
  addSeconds(app, options->seconds, "Time limit");
  addSeed(app, options->seed, "Equal seeds give equal cases and reports");
  addNumber(app, "--jobs", options->jobs, 1, 1024,
            "Workers (default: the cores)");
  addDeviceOption(app, options->device);
  app->add_option("--corpus", options->corpus,
                  "Folder to record shrunk failures in");
  app->add_option("--oracle", options->oracle,
                  "exact: bounds, and equal bits where sums are exact; bound: "
                  "bounds only; all: also against itself; ring: not yet")
      ->capture_default_str()
      ->check(CLI::IsMember({"exact", "ring", "bound", "all"}));
  app->add_flag("--json", options->json,
                "Print JSON (without timing: equal for equal seeds)");
  return {app, [options] { return run(*options); }};
}
