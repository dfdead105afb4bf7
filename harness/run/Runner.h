//===- Runner.h - Running one case ------------------------------*- C++ -*-===//
//
// From a spelt-out case to its verdict: fill, compile, check the contract,
// launch, check findings, guards and index errors, compare with the reference
// within the bound, and with the kernel itself (twice, unfused, fewer rows).
// The first check that fails decides the class.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_RUN_RUNNER_H
#define TANDEM_HARNESS_RUN_RUNNER_H

#include "harness/case/CaseSpec.h"
#include "harness/compare/Verdict.h"
#include "harness/run/Engine.h"

namespace tandem::harness {

struct RunOptions {
  /// Inputs whose sums are exact demand equal bits.
  bool exact = true;
  /// Fused against unfused, and one row against many.
  bool self = true;
};

struct Outcome {
  Verdict verdict = Verdict::Passed;
  /// Why it is mistrusted, unchecked or skipped.
  std::string reason;
  /// When failed.
  Failure failure;
  std::vector<Receipt> receipts;
  /// Extra comparisons that were made.
  bool wasExact = false, comparedUnfused = false, comparedRows = false,
       repeated = false;
  uint64_t threadInstructions = 0;
  int64_t elements = 0, multiplyAdds = 0;
  /// The families of the kernels that ran (ProgramLaunch::family).
  std::vector<std::string> families;

  bool failed() const { return verdict == Verdict::Failed; }
  /// The largest ratio of its receipts.
  double ratio() const;
};

/// Runs \p spec on \p device.
Outcome runCase(const CaseSpec &spec, const Engine &engine, Device &device,
                const RunOptions &options = {});

/// Reruns a failing case on the tile device, and names the first bad stage:
/// `insn -> tile`, `tile -> PTX`, or, when \p device is the GPU and the
/// emulator is right, `ptxas or driver`. Says why when it cannot tell.
std::string blameCase(const CaseSpec &spec, const Outcome &outcome,
                      const Engine &engine, Device &device);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_RUN_RUNNER_H
