//===- Verify.h - Whether an op is admitted ---------------------*- C++ -*-===//
//
// The admission gate: an op's reference must reproduce its known answers, and
// its kernels must agree with the reference on inputs that nobody tuned them
// for. Verdicts are cached in files
//
//   { "key": HASH, "op", "admitted", "cases", "failure", "checksum": HASH }
//
// whose key covers the PTX of every kernel tried, the code of reference and
// harness, the device and its driver. A file with another checksum counts as
// absent.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_VERIFY_VERIFY_H
#define TANDEM_HARNESS_VERIFY_VERIFY_H

#include "harness/run/Runner.h"

namespace tandem::harness {

struct Admission {
  std::string op;
  bool isAdmitted = false;
  /// Known answers and differential cases behind the verdict.
  int knownAnswers = 0;
  int64_t cases = 0;
  /// Why it is refused: the failing case and what is wrong.
  std::string failure;
  bool fromCache = false;
};

struct VerifyOptions {
  int casesPerOp = 40;
  /// Where verdicts are kept; empty for nowhere.
  std::string cacheFolder;
  /// Identity of the code that gives the verdict.
  std::string buildId;
  RunOptions run;
};

/// Decides on \p op. \p checkKnown checks the known answers of its reference
/// and gives their number.
Admission verifyOp(const OpInfo &op, const Engine &engine, Device &device,
                   const std::function<Result<int>()> &checkKnown,
                   const VerifyOptions &options);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_VERIFY_VERIFY_H
