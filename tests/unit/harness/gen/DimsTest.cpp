//===- DimsTest.cpp - Sizes keep the promises of their generator ----------===//
#include "harness/gen/Dims.h"

#include <doctest/doctest.h>

#include <set>

using namespace tandem::harness;

TEST_SUITE("harness dims") {
  TEST_CASE("the minimum is 1, and 0 comes next where it is allowed") {
    Choices none = Choices::replay({});
    CHECK(drawDim(none, 1000, true) == 1);
    CHECK(drawDim(none, 1000, false) == 1);
    Choices one = Choices::replay({1, 1, 2, 2});
    CHECK(drawDim(one, 1000, true) == 0);
    CHECK(drawDim(one, 1000, false) == 2);
    CHECK(drawDim(one, 1000, true) == 2);
    CHECK(drawDim(one, 1000, false) == 3);
  }

  TEST_CASE("sizes stay within their limit and replay") {
    Choices choices = Choices::random(3);
    std::vector<int64_t> sizes;
    for (int64_t max : {1, 2, 7, 100, 5000, 262144})
      for (int i = 0; i < 300; ++i) {
        sizes.push_back(drawDim(choices, max, true));
        CHECK(sizes.back() >= 0);
        CHECK(sizes.back() <= max);
      }
    Choices again = Choices::replay(choices.record());
    for (size_t i = 0; int64_t max : {1, 2, 7, 100, 5000, 262144})
      for (int k = 0; k < 300; ++k)
        CHECK(drawDim(again, max, true) == sizes[i++]);
  }

  TEST_CASE("every neighbour of a tile boundary turns up") {
    Choices choices = Choices::random(5);
    std::set<int64_t> seen;
    for (int i = 0; i < 20000; ++i)
      seen.insert(drawDim(choices, 262144, true));
    for (int64_t size : {0,    1,    2,    31,   32,    33,     63,     64,
                         65,   127,  128,  129,  1023,  1024,   1025,   2047,
                         2049, 4095, 4096, 4097, 32000, 128256, 151936, 200000})
      CHECK_MESSAGE(seen.count(size), "size ", size);
  }
}
