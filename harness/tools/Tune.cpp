//===- Tune.cpp - tandem tune ---------------------------------------------===//
#include "harness/tune/Tune.h"
#include "codegen/device/OpenDevice.h"
#include "harness/io/Files.h"
#include "harness/run/RealEngine.h"
#include "harness/tools/Subcommands.h"

#include <algorithm>
#include <filesystem>

using namespace tandem;
using namespace tandem::bench;
using namespace tandem::tools;
using nlohmann::json;

namespace {
struct Options {
  std::vector<std::string> suites;
  std::string databasePath = "tuned.json", filter, device = "cuda";
  double seconds = 240, secondsARow = 30;
  uint64_t seed = 1;
  bool json = false;
};
} // namespace

static Result<std::vector<TunedSchedule>>
existingRecords(const std::string &path) {
  if (!std::filesystem::exists(path))
    return std::vector<TunedSchedule>();
  const Result<std::string> text = harness::readFile(path);
  if (!text)
    return text.error();
  return readTuned(*text, path);
}

/// Puts \p record in the place of the one with its key, or at the end.
static void keep(std::vector<TunedSchedule> &records,
                 const TunedSchedule &record) {
  const auto old = std::ranges::find(records, record.key, &TunedSchedule::key);
  if (old != records.end())
    *old = record;
  else
    records.push_back(record);
}

static void report(const tune::TunedRow &row, bool asJson, json &all) {
  const TunedSchedule *record = row.record ? &*row.record : nullptr;
  if (asJson) {
    all.push_back({{"name", row.name},
                   {"us", row.us},
                   {"rules_us", row.rulesUs},
                   {"set", record ? json(record->set) : json()},
                   {"measured", row.measured},
                   {"refused", row.refused},
                   {"wrong", row.wrong},
                   {"error", row.error}});
    return;
  }
  std::string text;
  if (record)
    for (const auto &[name, value] : record->set)
      text += " " + name + "=" + value;
  print("%-34s %9.2f us, rules %9.2f us, %3d measured, %3d refused%s\n",
        row.name.c_str(), row.us, row.rulesUs, row.measured, row.refused,
        !row.error.empty() ? (", " + row.error).c_str()
        : record           ? text.c_str()
                           : ", the rules' choice stays");
  for (const std::string &wrong : row.wrong)
    print("  WRONG %s\n", wrong.c_str());
}

static Result<int> run(const Options &options) {
  Result<std::vector<TunedSchedule>> records =
      existingRecords(options.databasePath);
  if (!records)
    return records.error();
  std::vector<Suite> suites;
  for (const std::string &path : options.suites) {
    const Result<std::string> text = harness::readFile(path);
    if (!text)
      return text.error();
    Result<Suite> suite = readSuite(*text, path);
    if (!suite)
      return suite.error();
    suites.push_back(suite.take());
  }
  const Result<std::unique_ptr<Device>> device = openDevice(options.device);
  if (!device)
    return device.error();
  const Result<harness::Engine> engine = harness::realEngine(options.device);
  if (!engine)
    return engine.error();
  Bench bench;
  bench.device = device->get();
  // What is to be beaten is the rules, not an earlier record.
  bench.compile = [](const Recipe &recipe, const std::vector<Operand> &inputs,
                     const std::vector<Operand> &outputs,
                     const CompileOptions &given) {
    CompileOptions untuned = given;
    untuned.useTuned = false;
    return compile(recipe, inputs, outputs, untuned);
  };
  bench.load = loadProgram;
  bench.prepare = prepareProgram;
  bench.target = bestTarget(**device);

  const StopRequest stop;
  tune::TuneOptions tuneOptions;
  tuneOptions.secondsARow = options.secondsARow;
  tuneOptions.seed = options.seed;
  tuneOptions.stop = &stop.flag();
  const auto begin = std::chrono::steady_clock::now();
  const auto isOver = [&] {
    return stop.flag() || std::chrono::duration<double>(
                              std::chrono::steady_clock::now() - begin)
                                  .count() >= options.seconds;
  };
  json all = json::array();
  bool isComplete = true, isWrong = false;
  for (const Suite &suite : suites)
    for (const Row &row : suite.rows) {
      if (row.kind != RowKind::Kernel ||
          row.name.find(options.filter) == std::string::npos)
        continue;
      if (isOver()) {
        isComplete = false;
        complain("%s: no time was left\n", row.name.c_str());
        continue;
      }
      const tune::TunedRow tuned =
          tune::tuneRow(row, bench, *engine, tuneOptions);
      report(tuned, options.json, all);
      isComplete &= tuned.error.empty();
      isWrong |= !tuned.wrong.empty();
      if (!tuned.record)
        continue;
      keep(*records, *tuned.record);
      // After every row: what was found survives what comes later.
      if (Result<void> ok =
              harness::writeFile(options.databasePath, writeTuned(*records));
          !ok)
        return ok.error();
    }
  if (options.json)
    print("%s\n", all.dump(1).c_str());
  if (stop.flag())
    return stop.exitCode();
  return isWrong || !isComplete ? exitFound : 0;
}

Command tandem::tools::tuneCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "tune",
      "Search faster schedules on a GPU; each is checked before it may win",
      "tandem tune harness/bench/suites/gemm.json --database tuned.json");
  app->add_option("suite", options->suites, "Suite files of `tandem bench run`")
      ->required();
  app->add_option("--database", options->databasePath,
                  "Records are added to this file; TANDEM_TUNED makes the "
                  "compiler read it")
      ->capture_default_str();
  app->add_option("--filter", options->filter,
                  "Only rows whose name has this text");
  app->add_option("--device", options->device, "cuda or cuda:N")
      ->capture_default_str();
  addSeconds(app, options->seconds, "No row begins later")
      ->capture_default_str();
  app->add_option("--row-seconds", options->secondsARow,
                  "No measurement of a row begins later")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 86400.0));
  addSeed(app, options->seed, "Seed of the orders");
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
