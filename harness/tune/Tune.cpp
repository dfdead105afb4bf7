//===- Tune.cpp - The search for a faster schedule ------------------------===//
#include "harness/tune/Tune.h"

#include "harness/tune/CheckCandidate.h"
#include "harness/tune/Space.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

using namespace tandem;
using namespace tandem::tune;
using nlohmann::json;

using Parameters = std::map<std::string, std::string>;
using Clock = std::chrono::steady_clock;

static std::string textOf(const Parameters &set) {
  std::string text;
  for (const auto &[name, value] : set)
    text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? "the rules' choice" : text;
}

namespace {
/// The search for one row.
class Search {
public:
  Search(const bench::Row &row, const bench::Bench &bench,
         const harness::Engine &engine, const TuneOptions &options)
      : row(row), bench(bench), engine(engine), options(options) {
    result.name = row.name;
  }

  TunedRow run() {
    const std::string family = familyOf({});
    if (family.empty())
      return std::move(result);
    const std::span<const Axis> axes = axesOf(family);
    if (axes.size() > 1)
      tryAxes(axes[0], &axes[1]);
    bool gains = true;
    while (gains && !isOver()) {
      gains = false;
      for (const Axis &axis : axes)
        gains |= tryAxes(axis, nullptr);
    }
    if (result.error.empty() && !leader.empty())
      finish();
    return std::move(result);
  }

private:
  bool isOver() const {
    return !result.error.empty() || (options.stop && *options.stop) ||
           std::chrono::duration<double>(Clock::now() - begin).count() >=
               options.secondsARow;
  }

  Result<std::shared_ptr<const Program>> compiled(const Parameters &set) {
    CompileOptions compileOptions;
    compileOptions.target = bench.target;
    compileOptions.set = set;
    compileOptions.useTuned = false;
    const auto operands = typicalOperands(row.recipe, row.dims);
    if (!operands)
      return operands.error();
    return engine.compile(row.recipe, operands->first, operands->second,
                          compileOptions);
  }

  /// The family whose parameters are tuned: that of the first kernel.
  std::string familyOf(const Parameters &set) {
    const Result<std::shared_ptr<const Program>> program = compiled(set);
    if (!program) {
      result.error = program.error().text();
      return "";
    }
    return (*program)->launches.empty() ? "" : (*program)->launches[0].family;
  }

  /// Whether a value of \p first, or a pair of values of both, leads now that
  /// did not before.
  bool tryAxes(const Axis &first, const Axis *second) {
    std::vector<Parameters> candidates;
    for (std::string_view value : first.values) {
      Parameters set = leader;
      set[std::string(first.parameter)] = value;
      if (!second) {
        addCandidate(set, candidates);
        continue;
      }
      for (std::string_view other : second->values) {
        set[std::string(second->parameter)] = other;
        addCandidate(set, candidates);
      }
    }
    if (candidates.empty() || isOver())
      return false;
    std::vector<std::pair<double, Parameters>> times =
        measured(candidates, options.rounds);
    result.measured += static_cast<int>(candidates.size());
    const auto current = std::ranges::find(
        times, leader, &std::pair<double, Parameters>::second);
    if (current == times.end())
      return false;
    const double toBeat = current->first * (1 - leastGain / 2);
    std::ranges::sort(times);
    for (const auto &[us, set] : times) {
      if (us >= toBeat)
        break;
      if (set == leader || !isRight(set))
        continue;
      leader = set;
      return true;
    }
    return false;
  }

  /// Adds \p set unless it makes no kernel, one that does not fit, or one that
  /// was measured under other parameters.
  void addCandidate(const Parameters &set,
                    std::vector<Parameters> &candidates) {
    if (set == leader || !tried.insert(set).second)
      return;
    const Result<std::shared_ptr<const Program>> program = compiled(set);
    if (!program || !misfit(**program).empty()) {
      ++result.refused;
      return;
    }
    std::string text;
    for (const ProgramLaunch &launch : (*program)->launches)
      text += launch.kernel->ptx + launch.kernel->launch.grid[0].text();
    if (kernels.insert(std::hash<std::string>()(text)).second)
      candidates.push_back(set);
  }

  bool isRight(const Parameters &set) {
    const Result<int> passed =
        checkCandidate(row, set, bench.target, engine, *bench.device);
    if (!passed)
      result.wrong.push_back(textOf(set) + ": " + passed.error().text());
    return static_cast<bool>(passed);
  }

  /// Microseconds of the rules' choice, the leader and \p candidates, each with
  /// its parameters; those that cannot run are left out.
  std::vector<std::pair<double, Parameters>>
  measured(const std::vector<Parameters> &candidates, int rounds) {
    bench::Suite suite;
    suite.name = "tune";
    suite.rows = {row};
    bench::Row &only = suite.rows[0];
    only.peers.clear();
    only.ceiling = bench::Ceiling::Flops;
    only.sets = candidates;
    if (!leader.empty())
      only.sets.push_back(leader);
    bench::RunOptions run;
    run.rounds = rounds;
    run.seed = options.seed;
    run.stop = options.stop;
    const Result<json> document =
        runSuite(suite, bench, run, [](const json &) {});
    std::vector<std::pair<double, Parameters>> times;
    if (!document) {
      result.error = document.error().text();
      return times;
    }
    const json &measuredRow = document->at("rows").at(0);
    if (measuredRow.contains("error"))
      result.error = measuredRow.value("error", "");
    for (const json &one : measuredRow.value("contenders", json::array()))
      if (one.value("kind", "") == "ours" && one.contains("us"))
        times.emplace_back(one.value("us", 0.0),
                           one.value("set", Parameters()));
    for (const auto &[us, set] : times)
      if (set.empty())
        result.us = result.rulesUs = us;
    return times;
  }

  /// Measures the leader at full length and makes its record.
  void finish() {
    const std::vector<std::pair<double, Parameters>> times =
        measured({}, bench::numRounds);
    for (const auto &[us, set] : times)
      if (!set.empty())
        result.us = us;
    if (times.size() < 2 || result.us > result.rulesUs * (1 - leastGain)) {
      result.us = result.rulesUs;
      return;
    }
    TunedSchedule record;
    record.key = tunedKey(row.recipe, row.dims, bench.target);
    if (record.key.empty())
      return;
    record.target = bench.target;
    record.device = bench.device->info().name;
    record.recipe = row.recipe;
    record.dims = row.dims;
    record.set = leader;
    record.us = result.us;
    record.rulesUs = result.rulesUs;
    result.record = std::move(record);
  }

  const bench::Row &row;
  const bench::Bench &bench;
  const harness::Engine &engine;
  const TuneOptions &options;
  const Clock::time_point begin = Clock::now();
  TunedRow result;
  /// The fastest right schedule so far; empty: the rules' choice.
  Parameters leader;
  std::set<Parameters> tried = {{}};
  /// Hashes of the kernels that were measured.
  std::set<size_t> kernels;
};
} // namespace

TunedRow tandem::tune::tuneRow(const bench::Row &row, const bench::Bench &bench,
                               const harness::Engine &engine,
                               const TuneOptions &options) {
  return Search(row, bench, engine, options).run();
}
