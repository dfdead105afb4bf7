//===- Choices.cpp - The sequence of decisions behind a case --------------===//
#include "harness/case/Choices.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace tandem::harness;

void tandem::harness::trimZeros(ChoiceSequence &sequence) {
  while (!sequence.empty() && sequence.back() == 0)
    sequence.pop_back();
}

bool tandem::harness::isSimpler(const ChoiceSequence &a,
                                const ChoiceSequence &b) {
  ChoiceSequence left = a, right = b;
  trimZeros(left);
  trimZeros(right);
  if (left.size() != right.size())
    return left.size() < right.size();
  return left < right;
}

uint64_t Choices::draw(uint64_t bound) {
  return draw(bound, [bound](Random &random) { return random.below(bound); });
}

uint64_t Choices::draw(uint64_t bound,
                       const std::function<uint64_t(Random &)> &sample) {
  assert(bound > 0 && "nothing to choose from");
  // A choice without an alternative takes no place in the sequence.
  if (bound == 1)
    return 0;
  uint64_t value = 0;
  if (!isReplay)
    value = sample(source);
  else if (made.size() < given.size())
    value = given[made.size()];
  value = std::min(value, bound - 1);
  made.push_back(value);
  return value;
}

bool Choices::rarely(uint64_t oneIn) {
  return draw(2, [oneIn](Random &random) { return random.below(oneIn) == 0; });
}

size_t Choices::pick(const std::vector<int> &weights) {
  return draw(weights.size(), [&](Random &random) -> uint64_t {
    const int total = std::accumulate(weights.begin(), weights.end(), 0);
    auto left = static_cast<int>(random.below(static_cast<uint64_t>(total)));
    for (size_t i = 0; i < weights.size(); ++i)
      if ((left -= weights[i]) < 0)
        return i;
    return 0;
  });
}

size_t Choices::open(std::string label) {
  marks.push_back({std::move(label), made.size(), made.size()});
  return marks.size() - 1;
}
