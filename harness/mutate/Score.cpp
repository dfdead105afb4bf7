//===- Score.cpp - How many planted bugs the tester finds -----------------===//
#include "harness/mutate/Score.h"

#include "harness/gen/Generate.h"
#include "harness/gen/Rules.h"
#include "harness/run/Runner.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

using namespace tandem;
using namespace tandem::harness;
using nlohmann::json;

std::string_view tandem::harness::statusName(MutantStatus status) {
  static constexpr std::string_view names[] = {
      "killed", "survived", "equivalent", "not applicable", "not tried"};
  return names[static_cast<size_t>(status)];
}

std::string_view tandem::harness::stageName(MutantStage stage) {
  static constexpr std::string_view names[] = {"recipe", "tile", "ptx",
                                               "output", "oracle"};
  return names[static_cast<size_t>(stage)];
}

namespace {
/// An oracle mutant is judged by one bug: what it sees early it sees often.
constexpr int oracleCases = 60;

/// The real engine with one mutant's bug, and how often its edit changed
/// something.
struct Planted {
  Engine engine;
  std::shared_ptr<std::atomic<int64_t>> changes;
};

class Tester {
public:
  Tester(const Engine &engine, const MutationOptions &options)
      : engine(engine), options(options) {}
  Result<MutationReport> run();

private:
  void work();
  void judge(const Mutant &mutant, MutantResult &result);
  void judgeOracle(const Mutant &mutant, MutantResult &result);
  /// Cases until the first failure that is not of class \p blindTo, at most
  /// \p most; 0 if there is none.
  int casesToKill(const Planted &planted, const Mutant &mutant,
                  const std::string &blindTo, int most, std::string &failure);
  const CaseSpec *caseOf(const std::string &op, int index);
  void fail(const Error &what);
  bool isStopped() { return options.stop && options.stop->load(); }

  const Engine &engine;
  const MutationOptions &options;
  std::vector<Mutant> mutants;
  std::vector<MutantResult> results;
  std::atomic<size_t> next = 0;
  std::atomic<int64_t> done = 0, survived = 0;
  std::mutex mutex;
  std::condition_variable finished;
  int running = 0;
  std::map<std::pair<std::string, int>, std::unique_ptr<CaseSpec>> cases;
  std::optional<Error> error;
};
} // namespace

static Planted plant(const Engine &engine, const Mutant &mutant) {
  Planted planted{engine, std::make_shared<std::atomic<int64_t>>(0)};
  const auto changes = planted.changes;
  if (mutant.editRecipe)
    planted.engine = withEditedRecipe(
        planted.engine, [changes, edit = mutant.editRecipe](Recipe &recipe) {
          const Recipe before = recipe;
          edit(recipe);
          *changes += !(before == recipe);
        });
  if (mutant.editText) {
    const TextEdit edit = [changes,
                           edit = mutant.editText](const std::string &text) {
      std::string edited = edit(text);
      *changes += edited != text;
      return edited;
    };
    planted.engine = mutant.stage == MutantStage::Tile
                         ? withEditedTileStage(planted.engine, edit)
                         : withEditedPtx(planted.engine, edit);
  }
  if (mutant.editOutput) {
    *changes = 1;
    planted.engine = withEditedOutputs(planted.engine, mutant.editOutput);
  }
  return planted;
}

void Tester::fail(const Error &what) {
  const std::scoped_lock lock(mutex);
  if (!error)
    error = what;
}

const CaseSpec *Tester::caseOf(const std::string &op, int index) {
  const std::pair key(op, index);
  {
    const std::scoped_lock lock(mutex);
    const auto known = cases.find(key);
    if (known != cases.end())
      return known->second.get();
  }
  Result<Case> made =
      randomCase(op, std::nullopt,
                 mix64(options.seed * 0x9e3779b97f4a7c15 + uint64_t(index)));
  Result<CaseSpec> spec = made ? specOf(*made) : made.error();
  if (!spec) {
    fail(spec.error());
    return nullptr;
  }
  const std::scoped_lock lock(mutex);
  auto &slot = cases[key];
  if (!slot)
    slot = std::make_unique<CaseSpec>(spec.take());
  return slot.get();
}

int Tester::casesToKill(const Planted &planted, const Mutant &mutant,
                        const std::string &blindTo, int most,
                        std::string &failure) {
  Result<std::unique_ptr<Device>> device = planted.engine.makeDevice();
  if (!device) {
    fail(device.error());
    return 0;
  }
  for (int i = 1; i <= most && !isStopped(); ++i) {
    const CaseSpec *spec = caseOf(mutant.op, i);
    if (!spec)
      return 0;
    const Outcome outcome = runCase(*spec, planted.engine, **device);
    if (!outcome.failed())
      continue;
    const FailureClass &what = outcome.failure.what;
    if (!blindTo.empty() && (what.stage + " " + what.kind).starts_with(blindTo))
      continue;
    failure = what.text();
    return i;
  }
  return 0;
}

void Tester::judgeOracle(const Mutant &mutant, MutantResult &result) {
  const Planted whole = plant(engine, mutant);
  const int most = std::min(options.cases, oracleCases);
  result.cases = casesToKill(whole, mutant, "", most, result.failure);
  Planted partial = plant(engine, mutant);
  if (mutant.editReference)
    partial.engine = withEditedReference(partial.engine, mutant.editReference);
  std::string seen;
  const bool seesAll =
      casesToKill(partial, mutant, mutant.blindTo, most, seen) > 0;
  result.status =
      result.cases && !seesAll ? MutantStatus::Killed : MutantStatus::Survived;
  if (result.status == MutantStatus::Survived)
    result.failure = seesAll ? "also seen as " + seen : "";
}

void Tester::judge(const Mutant &mutant, MutantResult &result) {
  result.op = mutant.op;
  result.stage = stageName(mutant.stage);
  result.name = mutant.name;
  result.note = mutant.equivalent;
  if (mutant.stage == MutantStage::Oracle)
    return judgeOracle(mutant, result);
  const Planted planted = plant(engine, mutant);
  result.cases =
      casesToKill(planted, mutant, "", options.cases, result.failure);
  result.status = result.cases                ? MutantStatus::Killed
                  : isStopped()               ? MutantStatus::NotTried
                  : *planted.changes == 0     ? MutantStatus::NotApplicable
                  : mutant.equivalent.empty() ? MutantStatus::Survived
                                              : MutantStatus::Equivalent;
  if (!result.cases)
    result.cases = options.cases;
}

void Tester::work() {
  for (;;) {
    const size_t index = next.fetch_add(1);
    if (index >= mutants.size() || isStopped())
      break;
    judge(mutants[index], results[index]);
    survived += results[index].status == MutantStatus::Survived;
    ++done;
  }
  const std::scoped_lock lock(mutex);
  --running;
  finished.notify_all();
}

Result<MutationReport> Tester::run() {
  auto isWanted = [&](const std::string &op) {
    return options.ops.empty() ||
           std::find(options.ops.begin(), options.ops.end(), op) !=
               options.ops.end();
  };
  for (const OpInfo &op : opTable())
    if (isFuzzable(op) && isWanted(std::string(op.mnemonic)))
      for (Mutant &mutant : mutantsOf(op))
        mutants.push_back(std::move(mutant));
  if (!options.onlyOps)
    for (Mutant &mutant : oracleMutants())
      if (isWanted(mutant.op))
        mutants.push_back(std::move(mutant));
  results.resize(mutants.size());
  running = std::max(options.jobs, 1);
  std::vector<std::thread> workers;
  for (int i = running; i-- > 0;)
    workers.emplace_back([this] { work(); });
  {
    std::unique_lock lock(mutex);
    while (running > 0) {
      finished.wait_for(lock, std::chrono::milliseconds(100));
      if (!options.progress)
        continue;
      lock.unlock();
      options.progress(done, static_cast<int64_t>(mutants.size()), survived);
      lock.lock();
    }
  }
  for (std::thread &worker : workers)
    worker.join();
  if (error)
    return *error;
  return MutationReport{options.seed, options.cases, std::move(results)};
}

Result<MutationReport>
tandem::harness::runMutation(const Engine &engine,
                             const MutationOptions &options) {
  return Tester(engine, options).run();
}
