//===- ShrinkCase.h - Shrinking a failing case ------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_SHRINK_SHRINKCASE_H
#define TANDEM_HARNESS_SHRINK_SHRINKCASE_H

#include "harness/case/Case.h"
#include "harness/run/Runner.h"
#include "harness/shrink/Shrink.h"

namespace tandem::harness {

/// Shrinks \p failing while it shows \p what, the class of its failure.
struct ShrunkCase {
  Case smallest;
  int steps = 0;
  bool isMinimal = false;
};
ShrunkCase shrinkCase(const Case &failing, const FailureClass &what,
                      const Engine &engine, Device &device,
                      const RunOptions &options,
                      const ShrinkLimits &limits = {});

} // namespace tandem::harness

#endif // TANDEM_HARNESS_SHRINK_SHRINKCASE_H
