//===- Choices.h - The sequence of decisions behind a case ------*- C++ -*-===//
//
// Generators never see a random number: they ask for bounded choices. Drawn at
// random, the choices are recorded; replayed, a recorded sequence gives the
// same case again. So one shrinker, which only edits sequences, serves
// everything that is generated. The rules that make this work:
//
//   - 0 is the simplest choice, smaller is simpler;
//   - past the end of a replayed sequence every choice is 0, and a recorded
//     value that is out of bounds becomes the largest that is allowed, so that
//     every sequence means some case;
//   - spans name the part that a group of choices decides, so that the shrinker
//     can drop a whole step or reset a whole operand.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_CASE_CHOICES_H
#define TANDEM_HARNESS_CASE_CHOICES_H

#include "harness/case/Random.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tandem::harness {

using ChoiceSequence = std::vector<uint64_t>;

/// Shorter first, then smaller in order (trailing zeros do not count).
bool isSimpler(const ChoiceSequence &a, const ChoiceSequence &b);
void trimZeros(ChoiceSequence &sequence);

/// Choices [begin, end) decide what `label` names.
struct ChoiceSpan {
  std::string label;
  size_t begin = 0;
  size_t end = 0;
};

class Choices {
public:
  static Choices random(uint64_t seed) { return Choices(Random(seed)); }
  static Choices replay(ChoiceSequence recorded) {
    return Choices(std::move(recorded));
  }

  /// A number in [0, bound), uniform when drawn at random. \p bound > 0.
  uint64_t draw(uint64_t bound);
  /// As above, but distributed as \p sample says; its result is clamped.
  uint64_t draw(uint64_t bound,
                const std::function<uint64_t(Random &)> &sample);
  /// True once in \p oneIn times; false is the simple answer.
  bool rarely(uint64_t oneIn);
  /// An index, with these relative frequencies.
  size_t pick(const std::vector<int> &weights);

  /// Marks the choices made while \p body runs.
  template <typename Body>
  auto span(std::string label, Body body) {
    const size_t slot = open(std::move(label));
    struct Closer {
      Choices &choices;
      size_t slot;
      ~Closer() { choices.marks[slot].end = choices.made.size(); }
    } closer{*this, slot};
    return body();
  }

  /// What was chosen so far, out-of-bounds values replaced.
  const ChoiceSequence &record() const { return made; }
  /// In order of their begin; outer spans before inner ones.
  const std::vector<ChoiceSpan> &spans() const { return marks; }

private:
  explicit Choices(Random source) : source(source), isReplay(false) {}
  explicit Choices(ChoiceSequence recorded)
      : source(0), isReplay(true), given(std::move(recorded)) {}
  size_t open(std::string label);

  Random source;
  bool isReplay;
  ChoiceSequence given;
  ChoiceSequence made;
  std::vector<ChoiceSpan> marks;
};

} // namespace tandem::harness

#endif // TANDEM_HARNESS_CASE_CHOICES_H
