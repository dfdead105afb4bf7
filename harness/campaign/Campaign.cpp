//===- Campaign.cpp - Many cases in parallel ------------------------------===//
#include "harness/campaign/Campaign.h"

#include "harness/gen/Generate.h"
#include "harness/gen/Rules.h"
#include "harness/shrink/ShrinkCase.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace tandem;
using namespace tandem::harness;
using Clock = std::chrono::steady_clock;

std::vector<Subject> tandem::harness::allSubjects() {
  std::vector<Subject> subjects;
  for (const OpInfo &op : allOps())
    if (isFuzzable(op))
      subjects.push_back({std::string(op.mnemonic), std::nullopt, 1});
  const int numOps = static_cast<int>(subjects.size());
  if (numOps)
    subjects.push_back({"chain", std::nullopt, numOps});
  return subjects;
}

/// More than 20 % of a run proves nothing (TESTING, section 2), and that is no
/// accident. A healthy generator gives at most p = 5 %; by Chernoff's bound the
/// chance that n of its cases have a share of q > p or more is at most
///
///     exp(-n (q ln(q/p) + (1 - q) ln((1 - q)/(1 - p))))
///
/// and a run is flagged only below one in a million (ln 10^6 = 13.8). At the
/// limit q = 20 % the parenthesis is 0.1398, so from 99 cases on the limit
/// alone decides; of 30 cases it takes 11.
bool tandem::harness::isTooVacuous(int64_t mistrusted, int64_t cases) {
  if (5 * mistrusted <= cases)
    return false;
  const double p = 0.05;
  const double n = static_cast<double>(cases);
  const double q = static_cast<double>(mistrusted) / n;
  const double rest = q < 1 ? (1 - q) * std::log((1 - q) / (1 - p)) : 0;
  return n * (q * std::log(q / p) + rest) >= std::log(1e6);
}

bool CampaignReport::isMistrusted() const {
  return isTooVacuous(verdicts[static_cast<size_t>(Verdict::Mistrusted)],
                      cases);
}

bool CampaignReport::isClean() const {
  return failures.empty() && failuresNotShrunk == 0 && !isMistrusted();
}

namespace {
/// What is kept of a case.
struct Record {
  bool isDone = false;
  size_t subject = 0;
  std::vector<Opcode> ops;
  Outcome outcome;
};

class Runner {
public:
  Runner(const Engine &engine, const CampaignOptions &options)
      : engine(engine), options(options), start(Clock::now()) {
    for (const Subject &subject : options.subjects)
      totalWeight += static_cast<uint64_t>(subject.weight);
  }

  Result<CampaignReport> run();

private:
  size_t subjectOf(int64_t index) const;
  Result<Case> caseOf(int64_t index) const;
  void work(Device &device);
  bool isOver(int64_t index) const;
  double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  void addFailures(CampaignReport &report, Device &device);
  void tally(CampaignReport &report);

  const Engine &engine;
  const CampaignOptions &options;
  Clock::time_point start;
  uint64_t totalWeight = 0;
  std::atomic<int64_t> next = 0, done = 0, failed = 0;
  std::mutex mutex;
  std::condition_variable finished;
  int running = 0;
  std::vector<Record> records;
  std::optional<Error> error;
};
} // namespace

static uint64_t seedOf(uint64_t seed, int64_t index, uint64_t salt) {
  return mix64(mix64(seed + 0x9e3779b97f4a7c15 * salt) ^
               (static_cast<uint64_t>(index) * 0xd1342543de82ef95 + salt));
}

size_t Runner::subjectOf(int64_t index) const {
  uint64_t left = seedOf(options.seed, index, 1) % totalWeight;
  for (size_t i = 0; i < options.subjects.size(); ++i) {
    const auto weight = static_cast<uint64_t>(options.subjects[i].weight);
    if (left < weight)
      return i;
    left -= weight;
  }
  return 0;
}

Result<Case> Runner::caseOf(int64_t index) const {
  const Subject &subject = options.subjects[subjectOf(index)];
  return randomCase(subject.scope, subject.recipe,
                    seedOf(options.seed, index, 2));
}

bool Runner::isOver(int64_t index) const {
  if (options.stop && options.stop->load())
    return true;
  if (options.cases > 0 && index >= options.cases)
    return true;
  return options.seconds > 0 && elapsed() >= options.seconds;
}

void Runner::work(Device &device) {
  for (;;) {
    const int64_t index = next.fetch_add(1);
    if (isOver(index))
      break;
    Result<Case> made = caseOf(index);
    Result<CaseSpec> spec = made ? specOf(*made) : made.error();
    if (!spec) {
      const std::scoped_lock lock(mutex);
      if (!error)
        error = spec.error();
      break;
    }
    Record record;
    record.isDone = true;
    record.subject = subjectOf(index);
    for (const Step &step : spec->recipe.steps)
      record.ops.push_back(step.op);
    record.outcome = runCase(*spec, engine, device, options.run);
    failed += record.outcome.failed();
    ++done;
    const std::scoped_lock lock(mutex);
    if (records.size() <= static_cast<size_t>(index))
      records.resize(static_cast<size_t>(index) + 1);
    records[static_cast<size_t>(index)] = std::move(record);
  }
  const std::scoped_lock lock(mutex);
  --running;
  finished.notify_all();
}

template <typename T>
static T median(std::vector<T> values) {
  if (values.empty())
    return T();
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void Runner::tally(CampaignReport &report) {
  std::vector<int64_t> elements, multiplyAdds;
  std::map<std::string, std::vector<double>> ratios;
  for (const Record &record : records) {
    if (!record.isDone)
      continue;
    const Outcome &outcome = record.outcome;
    ++report.cases;
    ++report.verdicts[static_cast<size_t>(outcome.verdict)];
    if (!outcome.reason.empty()) {
      // Numbers and names differ from case to case: count by what follows.
      const size_t colon = outcome.reason.find(": ");
      ++report.reasons[std::string(verdictName(outcome.verdict)) + ": " +
                       (outcome.verdict == Verdict::Mistrusted &&
                                colon != std::string::npos
                            ? outcome.reason.substr(colon + 2) + " in " +
                                  (record.ops.size() > 1
                                       ? "chain"
                                       : std::string(
                                             opInfo(record.ops[0]).mnemonic))
                        : outcome.verdict == Verdict::Unchecked
                            ? std::string("may overflow in between")
                            : outcome.reason)];
    }
    for (const std::string &family : outcome.families)
      ++report.schedules[family];
    report.exact += outcome.wasExact;
    report.repeated += outcome.repeated;
    report.comparedUnfused += outcome.comparedUnfused;
    report.comparedRows += outcome.comparedRows;
    report.threadInstructions += outcome.threadInstructions;
    elements.push_back(outcome.elements);
    report.totalElements += outcome.elements;
    if (outcome.multiplyAdds)
      multiplyAdds.push_back(outcome.multiplyAdds);
    report.totalMultiplyAdds += outcome.multiplyAdds;
    bool hasBound = false;
    for (const Receipt &receipt : outcome.receipts) {
      report.uncheckedElements += receipt.unchecked;
      report.nearTies += receipt.nearTies;
      hasBound |= receipt.hasBound;
    }
    for (Opcode op : record.ops) {
      OpTally &tally = report.ops[std::string(opInfo(op).mnemonic)];
      ++tally.cases;
      if (op == Opcode::SAMPLE_ARGMAX && !outcome.receipts.empty())
        report.indexElements += outcome.receipts.front().elements;
    }
    const bool isAlone = record.ops.size() == 1;
    if (isAlone)
      ++report.ops[std::string(opInfo(record.ops[0]).mnemonic)].alone;
    else
      ++report.ops["chain"].cases, ++report.ops["chain"].alone;
    if (hasBound && !outcome.failed() && outcome.ratio() > 0)
      ratios[isAlone ? std::string(opInfo(record.ops[0]).mnemonic) : "chain"]
          .push_back(outcome.ratio());
  }
  report.medianElements = median(std::move(elements));
  report.medianMultiplyAdds = median(std::move(multiplyAdds));
  for (auto &[op, values] : ratios) {
    report.ops[op].maxRatio = *std::max_element(values.begin(), values.end());
    report.ops[op].medianRatio = median(values);
  }
}

/// Shrinks the first failure of each class, in the order of the cases.
void Runner::addFailures(CampaignReport &report, Device &device) {
  for (size_t index = 0; index < records.size(); ++index) {
    const Record &record = records[index];
    if (!record.isDone || !record.outcome.failed())
      continue;
    const FailureClass &what = record.outcome.failure.what;
    // A chain that contains an op whose bug is known shows that bug.
    const auto known =
        std::find_if(report.failures.begin(), report.failures.end(),
                     [&](const CampaignFailure &f) {
                       return isSameBug(what, f.failure.what);
                     });
    if (known != report.failures.end()) {
      ++known->count;
      continue;
    }
    if (static_cast<int>(report.failures.size()) >= options.maxShrunk) {
      ++report.failuresNotShrunk;
      continue;
    }
    CampaignFailure found;
    found.index = static_cast<int64_t>(index);
    found.original = *caseOf(found.index);
    // Whoever stopped the search waits for the report, not for a small case:
    // the line replays and shrinks later.
    if (options.stop && options.stop->load()) {
      found.smallest = found.original;
      found.failure = record.outcome.failure;
      report.failures.push_back(std::move(found));
      continue;
    }
    ShrinkLimits limits = options.limits;
    limits.stop = options.stop;
    const ShrunkCase shrunk =
        shrinkCase(found.original, what, engine, device, options.run, limits);
    found.smallest = shrunk.smallest;
    found.shrinkSteps = shrunk.steps;
    found.isMinimal = shrunk.isMinimal;
    const CaseSpec spec = *specOf(found.smallest);
    const Outcome outcome = runCase(spec, engine, device, options.run);
    // It failed a moment ago; if it does not now, that is the news.
    found.failure = outcome.failed() ? outcome.failure : record.outcome.failure;
    if (!outcome.failed())
      found.failure.message += " (the smallest case fails now and then only)";
    else
      found.failure.blame = blameCase(spec, outcome, engine, device);
    report.failures.push_back(std::move(found));
  }
}

Result<CampaignReport> Runner::run() {
  if (options.subjects.empty())
    return Error("fuzz: nothing to fuzz");
  const int jobs = std::max(options.jobs, 1);
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < jobs; ++i) {
    Result<std::unique_ptr<Device>> device = engine.makeDevice();
    if (!device)
      return device.error();
    devices.push_back(device.take());
  }
  CampaignReport report;
  report.seed = options.seed;
  report.device = devices[0]->info().name;
  running = jobs;
  std::vector<std::thread> workers;
  for (int i = 0; i < jobs; ++i)
    workers.emplace_back(
        [this, &device = *devices[static_cast<size_t>(i)]] { work(device); });
  {
    std::unique_lock lock(mutex);
    while (running > 0) {
      finished.wait_for(lock, std::chrono::milliseconds(100));
      if (!options.progress)
        continue;
      lock.unlock();
      options.progress({done.load(), options.cases, failed.load(), elapsed()});
      lock.lock();
    }
  }
  for (std::thread &worker : workers)
    worker.join();
  if (error)
    return *error;
  tally(report);
  report.seconds = elapsed();
  addFailures(report, *devices[0]);
  report.wasStopped = options.stop && options.stop->load();
  return report;
}

Result<CampaignReport>
tandem::harness::runCampaign(const Engine &engine,
                             const CampaignOptions &options) {
  return Runner(engine, options).run();
}
