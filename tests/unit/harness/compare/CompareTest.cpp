//===- CompareTest.cpp - What is accepted, and what must not be -----------===//
#include "harness/compare/Compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace tandem;
using namespace tandem::harness;

static constexpr double nan_ = std::numeric_limits<double>::quiet_NaN();
static constexpr double inf = std::numeric_limits<double>::infinity();

static bool accepts(DType type, double y, double ref, double bound) {
  std::byte bytes[8] = {};
  storeDouble(type, y, bytes);
  return isAccepted(type, bytes, ref, bound);
}

static refops::Expected expect(DType type, std::vector<double> values,
                               double error = 0) {
  refops::Expected e;
  e.desc = contiguous(type, {static_cast<int64_t>(values.size())});
  e.error.assign(values.size(), error);
  e.unchecked.assign(values.size(), 0);
  e.value = std::move(values);
  return e;
}

static Comparison compare(const refops::Expected &e,
                          const std::vector<double> &got,
                          std::vector<uint8_t> untouched = {}) {
  std::vector<std::byte> bytes(got.size() * dtypeSize(e.desc.dtype));
  for (size_t i = 0; i < got.size(); ++i)
    storeDouble(e.desc.dtype, got[i],
                bytes.data() + i * dtypeSize(e.desc.dtype));
  return compareOutput("y", e, bytes, untouched);
}

TEST_SUITE("harness compare") {
  TEST_CASE("a NaN that is not expected fails, whatever the bound") {
    for (double bound : {0.0, 1.0, 1e300})
      CHECK_FALSE(accepts(DType::F32, nan_, 1, bound));
    CHECK_FALSE(accepts(DType::F32, 1, nan_, 1));
    CHECK(accepts(DType::F32, nan_, nan_, 0));
  }

  TEST_CASE("a bound of zero asks for the rounded value bit for bit") {
    const double third = 1.0 / 3;
    const double right = roundTo(DType::F16, third);
    CHECK(accepts(DType::F16, right, third, 0));
    CHECK_FALSE(accepts(DType::F16, nextUp(DType::F16, right), third, 0));
    CHECK_FALSE(accepts(DType::F16, nextDown(DType::F16, right), third, 0));
    CHECK_FALSE(accepts(DType::F32, -0.0, 0.0, 0));
    std::byte zero[4] = {};
    storeDouble(DType::F32, -0.0, zero);
    CHECK(isAccepted(DType::F32, zero, 0.0, 0, {.signOfZero = false}));
    CHECK_FALSE(isAccepted(DType::F32, zero, 1e-40, 0, {.signOfZero = false}));
    CHECK(accepts(DType::F32, -0.0, 0.0, 1e-30));
  }

  TEST_CASE("the bound reaches exactly the rounded ends of the interval") {
    const double unit = std::ldexp(1.0, -10); // of f16 at 1
    CHECK(accepts(DType::F16, 1 + unit, 1 + 0.4 * unit, 0.2 * unit));
    CHECK_FALSE(accepts(DType::F16, 1 + unit, 1 + 0.4 * unit, 0.05 * unit));
    CHECK_FALSE(accepts(DType::F16, 1 + 2 * unit, 1, unit));
  }

  TEST_CASE("subnormal outputs need no rule of their own") {
    const double tiny = smallestSubnormal(DType::F16);
    CHECK(accepts(DType::F16, 0, 0.3 * tiny, 0.01 * tiny));
    CHECK(accepts(DType::F16, tiny, 0.6 * tiny, 0.01 * tiny));
    CHECK_FALSE(accepts(DType::F16, 0, 0.6 * tiny, 0.01 * tiny));
  }

  TEST_CASE("overflow is right where the interval reaches it") {
    CHECK(accepts(DType::F16, inf, 70000, 1));
    CHECK_FALSE(accepts(DType::F16, -inf, 70000, 1));
    CHECK_FALSE(accepts(DType::F16, inf, 60000, 1));
    CHECK(accepts(DType::F16, inf, 65519, 2));
    CHECK(accepts(DType::F16, 65504, 65519, 2));
    CHECK(accepts(DType::F8E4M3, 448, 1e6, 0));
    CHECK(accepts(DType::F8E5M2, 57344, inf, 0));
    const std::byte infinity{0x7C}; // of e5m2
    CHECK_FALSE(isAccepted(DType::F8E5M2, &infinity, inf, 0));
    CHECK(accepts(DType::F32, inf, inf, 0));
    CHECK_FALSE(accepts(DType::F32, largestFinite(DType::F32), inf, 0));
  }

  TEST_CASE("the ratio is 1 at the edge of what is accepted") {
    CHECK(observedRatio(DType::F32, 1, 1, 0) == 0);
    const double half = std::ldexp(1.0, -24);
    CHECK(observedRatio(DType::F32, 1, 1 + half, 0) == 0);
    CHECK(observedRatio(DType::F32, 1, 1 + half, half) == doctest::Approx(0.5));
    CHECK(observedRatio(DType::F32, 2, 1, 0.5) > 1.9);
    CHECK(observedRatio(DType::F8E4M3, 448, 1e6, 1) == 0);
    CHECK(std::isinf(observedRatio(DType::F32, nan_, 1, 1)));
    CHECK(std::isinf(observedRatio(DType::F16, inf, 1, 1)));
  }

  TEST_CASE("the first wrong element is named with its kind") {
    auto wrong = compare(expect(DType::F32, {1, 2, 3}), {1, 2, 4});
    REQUIRE(wrong.failure);
    CHECK(wrong.failure->what.kind == "value");
    CHECK(wrong.failure->message ==
          "y[2]: got 4, expected 3 exactly before rounding to float32");
    CHECK(compare(expect(DType::F32, {1, 2}), {1, nan_}).failure->what.kind ==
          "nan");
    CHECK(compare(expect(DType::F32, {1, 2}), {1, -inf}).failure->what.kind ==
          "inf");
    CHECK(compare(expect(DType::F32, {1, 0}), {1, -0.0}).failure->what.kind ==
          "zero-sign");
    CHECK_FALSE(compare(expect(DType::F32, {1, 2, 3}), {1, 2, 3}).failure);
  }

  TEST_CASE("an element that still holds its poison is unwritten") {
    auto c = compare(expect(DType::F32, {1, 2}), {1, -3e-13}, {0, 1});
    REQUIRE(c.failure);
    CHECK(c.failure->what.kind == "unwritten");
  }

  TEST_CASE("elements that the op leaves alone must be left alone") {
    auto e = expect(DType::F32, {1, 2});
    e.unchecked = {0, 2};
    CHECK_FALSE(compare(e, {1, -9}, {0, 1}).failure);
    auto touched = compare(e, {1, -9}, {0, 0});
    REQUIRE(touched.failure);
    CHECK(touched.failure->what.kind == "touched");
  }

  TEST_CASE("unchecked elements are counted, not compared") {
    auto e = expect(DType::F32, {1, 2, 3});
    e.unchecked = {0, 1, 1};
    auto c = compare(e, {1, 99, 98});
    CHECK_FALSE(c.failure);
    CHECK(c.receipt.unchecked == 2);
    CHECK(c.census.size() == 1);
  }

  TEST_CASE("int64 that share a double are told apart") {
    const int64_t right[] = {(int64_t(1) << 60) + 1, 5};
    int64_t got[] = {(int64_t(1) << 60) + 1, 5};
    auto e = expect(DType::I64, {0x1p60, 5});
    e.integers = {right[0], right[1]};
    CHECK_FALSE(
        compareOutput("y", e, std::as_bytes(std::span(got)), {}, {}).failure);
    --got[0];
    const auto wrong =
        compareOutput("y", e, std::as_bytes(std::span(got)), {}, {});
    REQUIRE(wrong.failure);
    CHECK(wrong.failure->message ==
          "y[0]: got 1152921504606846976, expected 1152921504606846977");
  }

  TEST_CASE("moved elements are compared by their bits") {
    const int64_t right[] = {(int64_t(1) << 60) + 1, 5};
    int64_t got[] = {(int64_t(1) << 60) + 1, 5};
    const auto e = expect(DType::I64, {0x1p60, 5});
    auto bytes = [](const int64_t (&values)[2]) {
      return std::as_bytes(std::span(values));
    };
    CompareRules rules;
    const auto correct = bytes(right);
    rules.bytes.assign(correct.begin(), correct.end());
    CHECK_FALSE(compareOutput("y", e, bytes(got), {}, rules).failure);
    --got[0];
    const auto wrong = compareOutput("y", e, bytes(got), {}, rules);
    REQUIRE(wrong.failure);
    CHECK(wrong.failure->what.kind == "bits");
    CHECK(wrong.failure->message ==
          "y[0]: got the bits 0x1000000000000000, expected "
          "0x1000000000000001");
  }

  TEST_CASE("near-ties allow their indices and no other") {
    auto e = expect(DType::I32, {3, 5});
    e.alternatives = {{}, {6, 9}};
    CHECK_FALSE(compare(e, {3, 9}).failure);
    CHECK_FALSE(compare(e, {3, 5}).failure);
    CHECK(compare(e, {3, 7}).failure);
    CHECK(compare(e, {9, 5}).failure);
    CHECK(compare(e, {3, 9}).receipt.nearTies == 1);
  }

  TEST_CASE("an output that a broken kernel could give is mistrusted") {
    CHECK(vacuity(compare(expect(DType::F32, {0, 0, 0, 1}), {0, 0, 0, 1}),
                  "") == "mostly zero");
    CHECK_FALSE(vacuity(compare(expect(DType::F32, {0, 0, 0, 1}), {0, 0, 0, 1}),
                        "zero"));
    // Zero within a bound is not the zero that the case declares.
    CHECK(vacuity(compare(expect(DType::F32, {0, 0, 0, 0, 1}, /*error=*/1),
                          {0, 0.5, 0, 0, 1}),
                  "zero") == "mostly zero");
    CHECK(vacuity(compare(expect(DType::F32, {nan_, nan_, 1}), {nan_, nan_, 1}),
                  "zero") == "mostly NaN");
    CHECK(vacuity(compare(expect(DType::F32, {5, 5, 5, 1}), {5, 5, 5, 1}),
                  "") == "mostly one constant");
    CHECK_FALSE(vacuity(compare(expect(DType::F32, {7}), {7}), ""));
    CHECK_FALSE(
        vacuity(compare(expect(DType::F32, {1, 2, 3, 0}), {1, 2, 3, 0}), ""));
  }
}
