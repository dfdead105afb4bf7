//===- Execution.h - One launch of a case -----------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_RUN_EXECUTION_H
#define TANDEM_HARNESS_RUN_EXECUTION_H

#include "harness/case/CaseSpec.h"
#include "harness/compare/Verdict.h"
#include "harness/run/Engine.h"

#include <optional>

namespace tandem::harness {

/// Input values on the host, contiguous, row-major.
struct HostTensor {
  TensorDesc desc;
  std::vector<std::byte> bytes;
  View view() { return {desc, bytes.data()}; }
};

/// Makes the values of all inputs. Elements that share an address are equal.
Result<std::vector<HostTensor>> makeInputs(const CaseSpec &spec);

/// What a launch left behind.
struct Execution {
  std::shared_ptr<const Program> program;
  LaunchReport report;
  /// What the call wrote (writtenValues) in row-major order, and which of their
  /// elements are still poison (empty for an output that is an input's memory).
  std::vector<std::vector<std::byte>> outputs;
  std::vector<std::vector<uint8_t>> untouched;
  /// The first thing that went wrong before the numbers were looked at.
  std::optional<Failure> failure;
  /// Why nothing ran.
  std::string skipped;
};

/// Compiles and launches \p spec once, with \p fill under its outputs.
Execution execute(const CaseSpec &spec, const std::vector<HostTensor> &inputs,
                  const Engine &engine, Device &device, uint8_t fill,
                  uint64_t scheduleSeed);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_RUN_EXECUTION_H
