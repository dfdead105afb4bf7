//===- HostNumbersTest.cpp - Numbers that the host computes ---------------===//
#include "refops/core/HostNumbers.h"

#include <doctest/doctest.h>

using namespace tandem;

TEST_SUITE("host numbers") {
  TEST_CASE("frequencies are powers of theta, rounded once") {
    // 10000^(-i/4) is 10^-i.
    CHECK(ropeFrequencies(10000, 4) ==
          std::vector<float>{1.0f, 0.1f, 0.01f, 0.001f});
    // In f32 arithmetic 10000^(-1/64) comes out one unit lower or higher with
    // many libraries; in 50 digits it is 0.86596432336006535...
    CHECK(ropeFrequencies(10000, 64)[1] == 0.86596432336006535f);
    CHECK(ropeFrequencies(500000, 64)[63] == 2.4551407911316089e-6f);
    CHECK(ropeFrequencies(10000, 0).empty());
  }

  TEST_CASE("the default scale is rounded once") {
    CHECK(inverseRoot(64) == 0.125f);
    CHECK(inverseRoot(128) == 0.08838834764831845f);
    CHECK(inverseRoot(3) == 0.5773502691896258f);
  }
}
