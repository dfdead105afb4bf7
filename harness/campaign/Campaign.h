//===- Campaign.h - Many cases in parallel ----------------------*- C++ -*-===//
//
// Searches for failures, shrinks the first of each class, and counts. Case i of
// a seed is the same whatever the number of workers, and nothing in the report
// depends on time, so two runs with one seed print the same.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_CAMPAIGN_CAMPAIGN_H
#define TANDEM_HARNESS_CAMPAIGN_CAMPAIGN_H

#include "harness/case/Case.h"
#include "harness/run/Runner.h"
#include "harness/shrink/Shrink.h"

#include <atomic>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>

namespace tandem::harness {

/// What is fuzzed: an op, `chain`, or a recipe file.
struct Subject {
  std::string scope;
  std::optional<Recipe> recipe;
  /// Relative frequency.
  int weight = 1;
};

/// Every fuzzable op, and chains as often as all ops together.
std::vector<Subject> allSubjects();

struct CampaignProgress {
  int64_t done = 0;
  int64_t planned = 0; // 0: limited by time
  int64_t failed = 0;
  double seconds = 0;
};

struct CampaignOptions {
  std::vector<Subject> subjects = allSubjects();
  /// 0: until `seconds` are over.
  int64_t cases = 1000;
  double seconds = 0;
  uint64_t seed = 1;
  int jobs = 1;
  RunOptions run;
  ShrinkLimits limits;
  /// Distinct failures to shrink; further ones are only counted.
  int maxShrunk = 10;
  /// Called about ten times a second by the calling thread.
  std::function<void(const CampaignProgress &)> progress;
  /// Set from outside to stop after the cases in flight.
  const std::atomic<bool> *stop = nullptr;
};

struct CampaignFailure {
  int64_t index = 0;
  Case original;
  Case smallest;
  Failure failure; // of the smallest case
  int shrinkSteps = 0;
  bool isMinimal = false;
  /// Cases that showed the same bug.
  int64_t count = 1;
};

/// Cases that an op is part of; `chain` counts the recipes of several steps.
struct OpTally {
  int64_t cases = 0;
  /// Cases whose result tells about this op alone.
  int64_t alone = 0;
  /// Over those of them with a bound above 0 and a result that is not exact: an
  /// exact one says nothing of the bound's size.
  double maxRatio = 0, medianRatio = 0;
  bool operator==(const OpTally &) const = default;
};

/// Whether so many mistrusted cases fail a run: more than 20 % of it, and more
/// than chance gives a healthy generator once in a million runs.
bool isTooVacuous(int64_t mistrusted, int64_t cases);

struct CampaignReport {
  uint64_t seed = 0;
  std::string device;
  int64_t cases = 0;
  int64_t verdicts[numVerdicts] = {};
  std::map<std::string, OpTally> ops;
  /// Why cases were mistrusted, unchecked or skipped.
  std::map<std::string, int64_t> reasons;
  /// Kernels that ran, by family (ProgramLaunch::family).
  std::map<std::string, int64_t> schedules;
  int64_t exact = 0, repeated = 0, comparedUnfused = 0, comparedRows = 0;
  int64_t totalElements = 0, medianElements = 0;
  int64_t totalMultiplyAdds = 0, medianMultiplyAdds = 0;
  int64_t uncheckedElements = 0, nearTies = 0, indexElements = 0;
  uint64_t threadInstructions = 0;
  std::vector<CampaignFailure> failures;
  int64_t failuresNotShrunk = 0;
  /// Not part of the JSON form.
  double seconds = 0;
  bool wasStopped = false;

  /// isTooVacuous.
  bool isMistrusted() const;
  bool isClean() const;
};

/// Fails only if no device can be made or a subject cannot be generated.
Result<CampaignReport> runCampaign(const Engine &engine,
                                   const CampaignOptions &options);

/// The report without timing: equal for equal seeds.
nlohmann::json reportToJson(const CampaignReport &report);
/// For a person, timing included.
std::string reportToText(const CampaignReport &report);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_CAMPAIGN_CAMPAIGN_H
