//===- RunSuite.h - Measuring a suite row by row ----------------*- C++ -*-===//
//
// For each row: buffers, our kernel, ceilings and peers, all captured into
// graphs and timed together (Measure.h). A contender that fails is recorded and
// the row goes on; a row that fails is recorded and the suite goes on. Results
// are JSON, the form in which they are stored, printed and documented.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_BENCH_RUNSUITE_H
#define TANDEM_HARNESS_BENCH_RUNSUITE_H

#include "codegen/Compiler.h"
#include "harness/bench/Measure.h"
#include "harness/bench/Suite.h"

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>

namespace tandem::bench {

/// Asks peers that live in Python: a request and its answer are JSON
/// (docs/decisions/0008-one-timer.md).
using PeerHost = std::function<nlohmann::json(const nlohmann::json &)>;

/// What a suite is measured with.
struct Bench {
  Device *device = nullptr;
  std::function<Result<std::shared_ptr<const Program>>(
      const Recipe &, const std::vector<Operand> &inputs,
      const std::vector<Operand> &outputs, const CompileOptions &)>
      compile;
  std::function<Result<LoadedProgram>(Device &, const Program &)> load;
  std::function<Result<std::unique_ptr<PreparedProgram>>(
      Device &, const Program &, const LoadedProgram &,
      const std::vector<Operand> &inputs, const std::vector<Operand> &outputs)>
      prepare;
  std::string target = "sm_90a";
  /// Empty where there is no Python.
  PeerHost peers;
};

struct RunOptions {
  /// Peers that are wanted, of those that a row names.
  std::vector<std::string> peers;
  /// Only rows whose name has this text.
  std::string filter;
  /// No row begins later.
  double seconds = 240;
  /// Rounds of all contenders of a row.
  int rounds = numRounds;
  uint64_t seed = 1;
  const std::atomic<bool> *stop = nullptr;
  /// Rows of an earlier run's document, which are not measured again.
  nlohmann::json known = nlohmann::json::array();
};

/// Measures \p suite; \p progress is given the document so far after each row.
/// Fails when the device cannot be measured on at all. A kernel that takes the
/// GPU away from the process ends the run with `"lost": true`: the rows that
/// are left need another process.
Result<nlohmann::json>
runSuite(const Suite &suite, const Bench &bench, const RunOptions &options,
         const std::function<void(const nlohmann::json &)> &progress);

/// The short table of runSuite's document, with the certificate below it.
std::string tableOf(const nlohmann::json &document);

/// Whether every row was measured: none failed, was refused or left out.
bool isComplete(const nlohmann::json &document);

} // namespace tandem::bench

#endif // TANDEM_HARNESS_BENCH_RUNSUITE_H
