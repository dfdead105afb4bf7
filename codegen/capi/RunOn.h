//===- RunOn.h - One call on host memory ------------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_CAPI_RUNON_H
#define TANDEM_CODEGEN_CAPI_RUNON_H

#include "codegen/capi/Objects.h"

namespace tandem::capi {

/// What a report says went wrong, one message each.
Error problemsOf(const LaunchReport &report);

struct Ran {
  std::shared_ptr<const Program> program;
  LaunchReport report;
};

/// Compiles for this very call and runs it; outputs and states are copied back
/// to the host views. The status of a failure is in \p status.
Result<Ran> runOn(Device &device, const Recipe &recipe, const Options &options,
                  const std::vector<View> &inputs,
                  const std::vector<View> &outputs, tandem_status &status);

} // namespace tandem::capi

#endif // TANDEM_CODEGEN_CAPI_RUNON_H
