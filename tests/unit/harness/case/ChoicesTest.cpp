//===- ChoicesTest.cpp - Choices replay, clamp and mark -------------------===//
#include "harness/case/Choices.h"

#include <doctest/doctest.h>

using namespace tandem::harness;

TEST_SUITE("harness choices") {
  TEST_CASE("a replayed record makes the same choices") {
    Choices first = Choices::random(7);
    std::vector<uint64_t> drawn;
    for (uint64_t bound : {2, 10, 1000, 1, 3})
      drawn.push_back(first.draw(bound));
    Choices again = Choices::replay(first.record());
    for (size_t i = 0; uint64_t bound : {2, 10, 1000, 1, 3})
      CHECK(again.draw(bound) == drawn[i++]);
    CHECK(again.record() == first.record());
  }

  TEST_CASE("past the end every choice is the simplest") {
    Choices choices = Choices::replay({});
    CHECK(choices.draw(100) == 0);
    CHECK(choices.pick({1, 1, 1}) == 0);
    CHECK_FALSE(choices.rarely(1));
  }

  TEST_CASE("a recorded value out of bounds becomes the largest allowed") {
    Choices choices = Choices::replay({99, 5});
    CHECK(choices.draw(10) == 9);
    CHECK(choices.draw(10) == 5);
    CHECK(choices.record() == ChoiceSequence{9, 5});
  }

  TEST_CASE("a choice without alternative takes no place") {
    Choices choices = Choices::replay({3});
    CHECK(choices.draw(1) == 0);
    CHECK(choices.draw(5) == 3);
  }

  TEST_CASE("spans cover what was chosen inside them") {
    Choices choices = Choices::replay({1, 2, 3});
    choices.draw(9);
    choices.span("outer", [&] {
      choices.draw(9);
      choices.span("inner", [&] { choices.draw(9); });
    });
    REQUIRE(choices.spans().size() == 2);
    CHECK(choices.spans()[0].label == "outer");
    CHECK(choices.spans()[0].begin == 1);
    CHECK(choices.spans()[0].end == 3);
    CHECK(choices.spans()[1].begin == 2);
  }

  TEST_CASE("shorter is simpler, then smaller in order") {
    CHECK(isSimpler({9}, {1, 1}));
    CHECK(isSimpler({1, 9}, {2, 0, 0, 1}));
    CHECK(isSimpler({1, 2}, {1, 3}));
    CHECK_FALSE(isSimpler({1, 0, 0}, {1}));
  }

  TEST_CASE("weights decide how often, not what is recorded") {
    Choices choices = Choices::random(1);
    int counts[3] = {};
    for (int i = 0; i < 3000; ++i)
      ++counts[choices.pick({1, 0, 9})];
    CHECK(counts[1] == 0);
    CHECK(counts[2] > 2500);
    CHECK(counts[0] > 200);
  }
}
