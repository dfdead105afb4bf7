//===- TensorCoreModelTest.cpp - The tensor core's truncations ------------===//
#include "codegen/evaluate/TensorCoreModel.h"

#include <doctest/doctest.h>

#include <limits>

using namespace tandem::evaluate;

static uint64_t dot(Kind kind, std::vector<double> a, std::vector<double> b,
                    float acc) {
  a.resize(16);
  b.resize(16);
  std::vector<uint64_t> x, y;
  for (int i = 0; i < 16; ++i) {
    x.push_back(roundedTo(kind, a[size_t(i)]));
    y.push_back(roundedTo(kind, b[size_t(i)]));
  }
  return tensorCoreDot(kind, x.data(), y.data(), 16, fromF32(acc));
}

static float value(uint64_t bits) { return asF32(bits); }

TEST_SUITE("tensor core model") {
  TEST_CASE("small integers are exact") {
    CHECK(value(dot(Kind::F16, {1, 2, 3}, {4, 5, -6}, 10)) == 6);
    CHECK(value(dot(Kind::BF16, {1, -1}, {7, 7}, 0)) == 0);
  }

  TEST_CASE("25 fraction bits are kept below the largest exponent") {
    // Beside 1, addends of 2^-24 and 2^-25 are kept, of 2^-26 lost: four of
    // 2^-25 give the last bit of the result, eight of 2^-26 nothing.
    const double tiny = std::ldexp(1.0, -13);
    CHECK(value(dot(Kind::F16, {1, tiny, tiny, tiny, tiny},
                    {1, tiny * 2, tiny * 2, tiny * 2, tiny * 2}, 0)) ==
          1 + std::ldexp(1.0f, -23));
    CHECK(value(dot(
              Kind::F16, {1, tiny, tiny, tiny, tiny, tiny, tiny, tiny, tiny},
              {1, tiny, tiny, tiny, tiny, tiny, tiny, tiny, tiny}, 0)) == 1);
  }

  TEST_CASE("results and addends truncate toward zero, also below zero") {
    const float last = std::ldexp(1.0f, -24);
    // -1 - 2^-24 lies half way between two floats: toward zero is -1.
    CHECK(value(dot(Kind::BF16, {1}, {-last}, -1)) == -1);
    CHECK(value(dot(Kind::BF16, {1}, {-last}, 1)) == 1 - last);
    // The product, 2^-30, is cut before it could borrow from 1.
    CHECK(value(dot(Kind::BF16, {1}, {std::ldexp(-1.0, -30)}, 1)) == 1);
  }

  TEST_CASE("a product's exponent is not renormalised") {
    // 1.5 * 1.5 = 2.25 has exponent 0 here, so 2^-25 beside it survives:
    // 2.25 + 4 * 2^-25 = 2.25 + 2^-23, cut to 2.25 by the result's 23 bits,
    // but eight of them reach the last bit, 2^-22.
    std::vector<double> a(9, std::ldexp(1.0, -12)), b(9, std::ldexp(1.0, -13));
    a[0] = b[0] = 1.5;
    CHECK(value(dot(Kind::F16, a, b, 0)) == 2.25f + std::ldexp(1.0f, -22));
  }

  TEST_CASE("infinities and NaN") {
    const double inf = std::numeric_limits<double>::infinity();
    CHECK(value(dot(Kind::F16, {inf}, {1}, 0)) == inf);
    CHECK(value(dot(Kind::F16, {inf}, {-1}, 0)) == -inf);
    CHECK(dot(Kind::F16, {inf}, {0}, 0) == 0x7fffffff);
    CHECK(dot(Kind::F16, {inf, inf}, {1, -1}, 0) == 0x7fffffff);
    CHECK(dot(Kind::F16, {std::nan("")}, {1}, 0) == 0x7fffffff);
    CHECK(value(dot(Kind::BF16, {3e38}, {3e38}, 0)) == inf);
  }
}
