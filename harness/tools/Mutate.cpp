//===- Mutate.cpp - tandem mutate -----------------------------------------===//
#include "harness/tools/Mutate.h"

#include "harness/gen/Rules.h"
#include "harness/mutate/Score.h"
#include "harness/run/RealEngine.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;

namespace {
struct Options {
  std::vector<std::string> ops;
  int cases = 200;
  uint64_t seed = 1;
  int jobs = 0;
  bool json = false;
};
} // namespace

static Result<int> run(const Options &options) {
  MutationOptions mutation;
  for (const std::string &name : options.ops) {
    const OpInfo *op = findOpInfo(name);
    if (!op || !isFuzzable(*op)) {
      const std::string_view near = nearestOpName(name);
      return Error(
          "--op: no op with a kernel is named '" + name + "'" +
          (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
    }
    mutation.ops.push_back(std::string(op->mnemonic));
  }
  // Planted bugs run where every access is checked.
  Result<Engine> engine = realEngine("emulator");
  if (!engine)
    return engine.error();
  mutation.cases = options.cases;
  mutation.seed = options.seed;
  mutation.jobs =
      options.jobs > 0
          ? options.jobs
          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const StopRequest stop;
  mutation.stop = &stop.flag();
  std::optional<MutationReport> report;
  {
    ProgressLine line("mutate");
    const auto start = std::chrono::steady_clock::now();
    mutation.progress = [&](int64_t done, int64_t all, int64_t survived) {
      const std::chrono::duration<double> elapsed =
          std::chrono::steady_clock::now() - start;
      line.update({done, all, survived, elapsed.count()});
    };
    Result<MutationReport> result = runMutation(*engine, mutation);
    if (!result)
      return result.error();
    report = result.take();
  }
  print("%s", options.json ? (mutationToJson(*report).dump(1) + "\n").c_str()
                           : mutationToText(*report).c_str());
  // A share of what was not planted says nothing.
  return stop.flag() ? stop.exitCode() : report->passes() ? 0 : exitFound;
}

Command tandem::tools::mutateCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "mutate",
      "Score of the tester: which planted bugs does it find? (exit 1 below "
      "95 %)",
      "tandem mutate --op softmax --cases 200 --seed 1");
  app->add_option("--op", options->ops, "Ops to plant bugs in (default: all)");
  addNumber(app, "--cases", options->cases, 1, 1000000000,
            "Cases that a bug may survive")
      ->capture_default_str();
  addSeed(app, options->seed, "Equal seeds give equal reports");
  addNumber(app, "--jobs", options->jobs, 1, 1024,
            "Workers (default: the cores)");
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
