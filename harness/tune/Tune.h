//===- Tune.h - The search for a faster schedule ----------------*- C++ -*-===//
//
// The two parameters that decide most together, then one after the other, as
// long as a round over all of them gains: the values of a parameter are
// measured together with the schedule that leads and with the rules' choice
// (harness/bench, so peers and clocks are the same), and the fastest leads from
// then on *if the harness finds it right first*. What leads at the end is
// measured once more at full length, and becomes a record when it beats the
// rules by more than `leastGain`.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_TUNE_TUNE_H
#define TANDEM_HARNESS_TUNE_TUNE_H

#include "codegen/TunedSchedules.h"
#include "harness/bench/RunSuite.h"
#include "harness/run/Engine.h"

namespace tandem::tune {

/// A record must be faster than the rules' choice by this share of its time:
/// repeated medians differ by less.
inline constexpr double leastGain = 0.015;

struct TuneOptions {
  /// No measurement of a row begins later.
  double secondsARow = 30;
  int rounds = 7;
  uint64_t seed = 1;
  const std::atomic<bool> *stop = nullptr;
};

struct TunedRow {
  std::string name;
  /// Where it beats the rules.
  std::optional<TunedSchedule> record;
  double us = 0, rulesUs = 0;
  /// Schedules that were measured, refused by the compiler or as too large, and
  /// refused by the differential check, each of these with its reason.
  int measured = 0, refused = 0;
  std::vector<std::string> wrong;
  /// Why there is no result.
  std::string error;
};

TunedRow tuneRow(const bench::Row &row, const bench::Bench &bench,
                 const harness::Engine &engine, const TuneOptions &options);

} // namespace tandem::tune

#endif // TANDEM_HARNESS_TUNE_TUNE_H
