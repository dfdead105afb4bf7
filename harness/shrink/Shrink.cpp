//===- Shrink.cpp - The smallest case that still fails --------------------===//
#include "harness/shrink/Shrink.h"

#include <algorithm>
#include <chrono>
#include <set>

using namespace tandem::harness;

namespace {
class Shrinker {
public:
  Shrinker(const TrialFunction &run, const ShrinkLimits &limits)
      : run(run), limits(limits),
        deadline(
            std::chrono::steady_clock::now() +
            std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                std::chrono::duration<double>(limits.seconds))) {}

  Shrunk shrink(const ChoiceSequence &failing);

private:
  /// Adopts \p candidate if it is simpler and fails.
  bool attempt(ChoiceSequence candidate);
  bool isOver() const {
    return steps >= limits.steps || (limits.stop && limits.stop->load()) ||
           std::chrono::steady_clock::now() >= deadline;
  }

  void dropSpans(std::string_view label);
  void resetSpans();
  void deleteBlocks(size_t size);
  void zeroEach();
  void lowerEach();
  void lowerTogether();
  void moveRight();

  const TrialFunction &run;
  const ShrinkLimits &limits;
  std::chrono::steady_clock::time_point deadline;
  Trial best;
  std::set<ChoiceSequence> seen;
  int steps = 0;
};
} // namespace

bool Shrinker::attempt(ChoiceSequence candidate) {
  trimZeros(candidate);
  if (isOver() || !isSimpler(candidate, best.record) ||
      !seen.insert(candidate).second)
    return false;
  ++steps;
  Trial trial = run(candidate);
  if (!trial.fails)
    return false;
  // Out-of-bounds values were replaced by smaller ones, so the record of a
  // candidate is never less simple, but trailing choices may be new.
  trimZeros(trial.record);
  if (!isSimpler(trial.record, best.record))
    return false;
  best = std::move(trial);
  return true;
}

/// Removes whole spans, the last one first: a step of a chain.
void Shrinker::dropSpans(std::string_view label) {
  for (size_t i = best.spans.size(); i-- > 0 && !isOver();) {
    if (i >= best.spans.size() || best.spans[i].label != label)
      continue;
    const ChoiceSpan span = best.spans[i];
    ChoiceSequence candidate = best.record;
    const size_t end = std::min(span.end, candidate.size());
    if (span.begin >= end)
      continue;
    candidate.erase(candidate.begin() + std::ptrdiff_t(span.begin),
                    candidate.begin() + std::ptrdiff_t(end));
    attempt(std::move(candidate));
  }
}

/// Sets whole spans to their simplest: a contiguous operand, plain values, the
/// earliest schedule.
void Shrinker::resetSpans() {
  for (size_t i = 0; i < best.spans.size() && !isOver(); ++i) {
    const ChoiceSpan span = best.spans[i];
    ChoiceSequence candidate = best.record;
    for (size_t at = span.begin; at < std::min(span.end, candidate.size());
         ++at)
      candidate[at] = 0;
    attempt(std::move(candidate));
  }
}

void Shrinker::deleteBlocks(size_t size) {
  for (size_t at = best.record.size(); at-- > 0 && !isOver();) {
    if (at + size > best.record.size())
      continue;
    ChoiceSequence candidate = best.record;
    candidate.erase(candidate.begin() + std::ptrdiff_t(at),
                    candidate.begin() + std::ptrdiff_t(at + size));
    attempt(std::move(candidate));
  }
}

void Shrinker::zeroEach() {
  for (size_t at = best.record.size(); at-- > 0 && !isOver();) {
    if (at >= best.record.size() || best.record[at] == 0)
      continue;
    ChoiceSequence candidate = best.record;
    candidate[at] = 0;
    attempt(std::move(candidate));
  }
}

/// Finds for each choice the smallest value that fails, by bisection (right for
/// "fails from here on up"), then steps down by the sizes that tiles and their
/// neighbours differ by (for predicates like "not a multiple of 8").
void Shrinker::lowerEach() {
  for (size_t at = 0; at < best.record.size() && !isOver(); ++at) {
    auto with = [&](uint64_t value) {
      ChoiceSequence candidate = best.record;
      candidate[at] = value;
      return candidate;
    };
    uint64_t passing = 0; // zeroEach tried it
    while (at < best.record.size() && best.record[at] > passing + 1) {
      const uint64_t middle = passing + (best.record[at] - passing) / 2;
      if (!attempt(with(middle)))
        passing = middle;
      if (isOver())
        return;
    }
    bool helped = true;
    while (helped && !isOver()) {
      helped = false;
      for (uint64_t down : {64, 32, 16, 8, 4, 2, 1})
        if (at < best.record.size() && best.record[at] >= down &&
            attempt(with(best.record[at] - down))) {
          helped = true;
          break;
        }
    }
  }
}

/// Lowers two equal choices at once: dims that must agree.
void Shrinker::lowerTogether() {
  for (size_t a = 0; a < best.record.size() && !isOver(); ++a)
    for (size_t b = a + 1; b < best.record.size() && !isOver(); ++b) {
      if (best.record[a] == 0 || best.record[a] != best.record[b])
        continue;
      for (uint64_t value :
           {uint64_t(0), best.record[a] / 2, best.record[a] - 1}) {
        ChoiceSequence candidate = best.record;
        candidate[a] = candidate[b] = value;
        if (attempt(std::move(candidate)))
          break;
      }
    }
}

/// Moves all of a choice to a later one, for predicates on sums; what is left
/// behind can then be dropped.
void Shrinker::moveRight() {
  for (size_t a = 0; a < best.record.size() && !isOver(); ++a)
    for (size_t b = a + 1; b < std::min(a + 4, best.record.size()) && !isOver();
         ++b) {
      if (best.record[a] < 2 || best.record[b] < 2)
        continue;
      ChoiceSequence candidate = best.record;
      candidate[b] += candidate[a];
      candidate[a] = 0;
      attempt(std::move(candidate));
    }
}

Shrunk Shrinker::shrink(const ChoiceSequence &failing) {
  best = run(failing);
  trimZeros(best.record);
  if (!best.fails)
    return {failing, 1, false};
  seen.insert(best.record);
  ChoiceSequence before;
  do {
    before = best.record;
    dropSpans("step");
    resetSpans();
    zeroEach();
    for (size_t size : {8, 4, 2, 1})
      deleteBlocks(size);
    lowerEach();
    lowerTogether();
    moveRight();
  } while (best.record != before && !isOver());
  return {best.record, steps, best.record == before && !isOver()};
}

Shrunk tandem::harness::shrink(const ChoiceSequence &failing,
                               const TrialFunction &run,
                               const ShrinkLimits &limits) {
  return Shrinker(run, limits).shrink(failing);
}
