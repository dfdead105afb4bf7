//===- ShrinkTest.cpp - The minimal failing input is this value -----------===//
#include "harness/shrink/Shrink.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace tandem::harness;

/// Draws a list: a wish for one more, then a number below 1000.
static std::vector<uint64_t> drawList(Choices &choices) {
  std::vector<uint64_t> list;
  bool more = true;
  while (more && list.size() < 20)
    more = choices.span("step", [&] {
      if (!choices.draw(2, [](Random &r) { return r.below(10) < 8; }))
        return false;
      list.push_back(choices.draw(1000));
      return true;
    });
  return list;
}

template <typename Predicate>
static std::vector<uint64_t> minimalList(Predicate fails, uint64_t seed) {
  auto run = [&](const ChoiceSequence &sequence) {
    Choices choices = Choices::replay(sequence);
    Trial trial;
    trial.fails = fails(drawList(choices));
    trial.record = choices.record();
    trial.spans = choices.spans();
    return trial;
  };
  // The first failing list from this seed on.
  for (;; ++seed) {
    Choices choices = Choices::random(seed);
    if (!fails(drawList(choices)))
      continue;
    const Shrunk shrunk = shrink(choices.record(), run);
    CHECK(shrunk.isMinimal);
    CHECK(shrunk.steps <= 500);
    const Shrunk again = shrink(choices.record(), run);
    CHECK(again.choices == shrunk.choices);
    Choices replay = Choices::replay(shrunk.choices);
    return drawList(replay);
  }
}

using List = std::vector<uint64_t>;

TEST_SUITE("harness shrink") {
  TEST_CASE("any element of 1000 and more, wherever it stands: exactly that") {
    for (uint64_t seed : {1, 20, 300})
      CHECK(minimalList(
                [](const List &l) {
                  return std::any_of(l.begin(), l.end(),
                                     [](uint64_t v) { return v >= 497; });
                },
                seed) == List{497});
  }

  TEST_CASE("three elements or more: three zeros") {
    for (uint64_t seed : {1, 20, 300})
      CHECK(minimalList([](const List &l) { return l.size() >= 3; }, seed) ==
            List{0, 0, 0});
  }

  TEST_CASE("a sum of 900 and more: the fewest elements") {
    for (uint64_t seed : {1, 20, 300})
      CHECK(minimalList(
                [](const List &l) {
                  return std::accumulate(l.begin(), l.end(), uint64_t(0)) >=
                         900;
                },
                seed) == List{900});
  }

  TEST_CASE("above a tile and no multiple of 8: the tile plus one") {
    for (uint64_t seed : {1, 20, 300})
      CHECK(minimalList(
                [](const List &l) {
                  return std::any_of(l.begin(), l.end(), [](uint64_t v) {
                    return v > 64 && v % 8 != 0;
                  });
                },
                seed) == List{65});
  }

  TEST_CASE("a repeated value: the two smallest") {
    CHECK(minimalList(
              [](List l) {
                std::sort(l.begin(), l.end());
                return std::adjacent_find(l.begin(), l.end()) != l.end();
              },
              1) == List{0, 0});
  }

  TEST_CASE("the limit on steps is kept") {
    int runs = 0;
    auto run = [&](const ChoiceSequence &sequence) {
      ++runs;
      Trial trial;
      trial.fails = true;
      trial.record = sequence;
      trial.fails = sequence.size() > 100;
      return trial;
    };
    ShrinkLimits limits;
    limits.steps = 17;
    const Shrunk shrunk = shrink(ChoiceSequence(200, 5), run, limits);
    CHECK(runs == 18);
    CHECK_FALSE(shrunk.isMinimal);
    CHECK(shrunk.choices.size() > 100);
  }
}
