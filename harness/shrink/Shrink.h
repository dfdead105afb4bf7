//===- Shrink.h - The smallest case that still fails ------------*- C++ -*-===//
//
// Edits a choice sequence, never a case: shorter first, then smaller in order.
// Each pass is a function that proposes edits; a proposal counts when the case
// that it means still shows the same bug. The passes run in a fixed order until
// none of them helps, so equal input gives equal output.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_SHRINK_SHRINK_H
#define TANDEM_HARNESS_SHRINK_SHRINK_H

#include "harness/case/Choices.h"

#include <atomic>
#include <functional>
#include <optional>

namespace tandem::harness {

/// What the shrinker must know about a sequence: the choices that its case
/// really made, their spans, and whether the bug shows.
struct Trial {
  bool fails = false;
  ChoiceSequence record;
  std::vector<ChoiceSpan> spans;
};
using TrialFunction = std::function<Trial(const ChoiceSequence &)>;

struct ShrinkLimits {
  int steps = 500;
  double seconds = 300;
  /// Set from outside to stop after the case in flight.
  const std::atomic<bool> *stop = nullptr;
};

struct Shrunk {
  ChoiceSequence choices;
  int steps = 0;
  /// Whether no pass helped any more, rather than a limit being reached.
  bool isMinimal = false;
};

/// Shrinks \p failing; \p run must find it failing. The result fails.
Shrunk shrink(const ChoiceSequence &failing, const TrialFunction &run,
              const ShrinkLimits &limits = {});

} // namespace tandem::harness

#endif // TANDEM_HARNESS_SHRINK_SHRINK_H
