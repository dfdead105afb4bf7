//===- Score.h - How many planted bugs the tester finds ---------*- C++ -*-===//
//
//     score = killed / (all that apply and are not proved equivalent)
//
// within 200 cases each (TESTING, section 5). A survivor is either proved
// equivalent in a note beside it, or becomes work.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_MUTATE_SCORE_H
#define TANDEM_HARNESS_MUTATE_SCORE_H

#include "harness/mutate/Mutant.h"

#include <atomic>
#include <nlohmann/json_fwd.hpp>

namespace tandem::harness {

enum class MutantStatus : uint8_t {
  Killed,
  Survived,
  Equivalent,
  /// No kernel of the cases has what the edit looks for.
  NotApplicable,
  /// Not tried: the run was stopped.
  NotTried
};
std::string_view statusName(MutantStatus status);

struct MutantResult {
  std::string op, stage, name, note;
  MutantStatus status = MutantStatus::NotTried;
  /// Cases that were tried, the killing one included.
  int cases = 0;
  /// Class of the failure that killed it.
  std::string failure;
};

struct MutationOptions {
  /// Mnemonics; empty for all.
  std::vector<std::string> ops;
  /// Without mutants of the oracle.
  bool onlyOps = false;
  int cases = 200;
  uint64_t seed = 1;
  int jobs = 1;
  /// Called by the calling thread about ten times a second.
  std::function<void(int64_t done, int64_t all, int64_t survived)> progress;
  const std::atomic<bool> *stop = nullptr;
};

struct MutationReport {
  uint64_t seed = 0;
  int cases = 0;
  std::vector<MutantResult> mutants;

  int64_t count(MutantStatus status) const;
  /// 1 when there is nothing to kill.
  double score() const;
  int medianCases() const;
  /// At least 95 %.
  bool passes() const { return score() >= 0.95; }
};

/// Tries every mutant. Equal seeds give equal reports, whatever the number of
/// workers. Fails if a device cannot be made or a case not generated.
Result<MutationReport> runMutation(const Engine &engine,
                                   const MutationOptions &options);

nlohmann::json mutationToJson(const MutationReport &report);
std::string mutationToText(const MutationReport &report);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_MUTATE_SCORE_H
