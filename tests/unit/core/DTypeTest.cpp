//===- DTypeTest.cpp - Element types and their exact conversions ----------===//
#include "refops/core/DType.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace tandem;

namespace {
constexpr DType smallFloats[] = {DType::F16, DType::BF16, DType::F8E4M3,
                                 DType::F8E5M2};
constexpr double infinity = std::numeric_limits<double>::infinity();

uint32_t numCodes(DType type) { return dtypeSize(type) == 1 ? 256 : 65536; }

double valueOf(DType type, uint32_t code) {
  const uint16_t bytes = static_cast<uint16_t>(code); // little endian
  return loadDouble(type, &bytes);
}

uint32_t codeOf(DType type, double value) {
  uint16_t bytes = 0;
  storeDouble(type, value, &bytes);
  return bytes;
}

uint32_t codeOfInteger(DType type, int64_t value) {
  uint16_t bytes = 0;
  storeInteger(type, value, &bytes);
  return bytes;
}

/// The finite non-negative values in rising order; index = code.
std::vector<double> finiteValues(DType type) {
  std::vector<double> values;
  for (uint32_t code = 0; code < numCodes(type) / 2; ++code)
    if (const double value = valueOf(type, code); std::isfinite(value))
      values.push_back(value);
  return values;
}

template <typename T>
T stored(DType type, double value) {
  T result;
  storeDouble(type, value, &result);
  return result;
}
} // namespace

TEST_SUITE("dtype") {
  TEST_CASE("codes and names are frozen") {
    const char *names[] = {"float32",       "float16",     "bfloat16",
                           "float8_e4m3fn", "float8_e5m2", "int32",
                           "int8",          "int4",        "float64",
                           "int64",         "uint8"};
    for (int code = 0; code < 11; ++code) {
      CHECK(dtypeName(static_cast<DType>(code)) == names[code]);
      CHECK(dtypeNamed(names[code]) == static_cast<DType>(code));
    }
    CHECK(!dtypeNamed("float"));
    CHECK(!dtypeNamed(""));
  }

  TEST_CASE("the formats have the published extremes") {
    CHECK(largestFinite(DType::F16) == 65504);
    CHECK(largestFinite(DType::BF16) == 0x1.fep127);
    CHECK(largestFinite(DType::F8E4M3) == 448);
    CHECK(largestFinite(DType::F8E5M2) == 57344);
    CHECK(largestFinite(DType::F32) == 0x1.fffffep127);
    CHECK(smallestSubnormal(DType::F16) == 0x1p-24);
    CHECK(smallestSubnormal(DType::BF16) == 0x1p-133);
    CHECK(smallestSubnormal(DType::F8E4M3) == 0x1p-9);
    CHECK(smallestSubnormal(DType::F8E5M2) == 0x1p-16);
    CHECK(smallestSubnormal(DType::F32) == 0x1p-149);
    CHECK(valueOf(DType::F16, 0x3c00) == 1);
    CHECK(valueOf(DType::BF16, 0xc040) == -3);
    CHECK(valueOf(DType::F8E4M3, 0x38) == 1);
    CHECK(valueOf(DType::F8E5M2, 0x3c) == 1);
    CHECK(valueOf(DType::F8E5M2, 0x7c) == infinity);
    CHECK(std::isnan(valueOf(DType::F8E4M3, 0xff)));
    CHECK(finiteValues(DType::F8E4M3).size() == 127);
    CHECK(finiteValues(DType::F8E5M2).size() == 124);
    CHECK(finiteValues(DType::F16).size() == 31744);
    CHECK(finiteValues(DType::BF16).size() == 32640);
  }

  TEST_CASE("every code of 8 and 16 bits survives a round trip") {
    for (DType type : smallFloats) {
      CAPTURE(dtypeName(type));
      int wrong = 0;
      for (uint32_t code = 0; code < numCodes(type); ++code) {
        const double value = valueOf(type, code);
        // float8 has infinities that storing saturates.
        const bool saturates = dtypeSize(type) == 1 && std::isinf(value);
        if (std::isnan(value))
          wrong += !std::isnan(valueOf(type, codeOf(type, value)));
        else if (saturates)
          wrong += std::fabs(valueOf(type, codeOf(type, value))) !=
                   largestFinite(type);
        else
          wrong += codeOf(type, value) != code;
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("every midpoint goes to the even code, and its neighbours apart") {
    for (DType type : smallFloats) {
      CAPTURE(dtypeName(type));
      const std::vector<double> values = finiteValues(type);
      int wrong = 0;
      for (uint32_t code = 0; code + 1 < values.size(); ++code) {
        const double midpoint = (values[code] + values[code + 1]) / 2;
        const uint32_t even = code % 2 == 0 ? code : code + 1;
        const uint32_t sign = numCodes(type) / 2;
        wrong += codeOf(type, midpoint) != even;
        wrong += codeOf(type, -midpoint) != (even | sign);
        wrong += codeOf(type, std::nextafter(midpoint, 0)) != code;
        wrong += codeOf(type, std::nextafter(midpoint, infinity)) != code + 1;
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("overflow is infinity in 16 bits and the largest value in 8") {
    // Half a spacing above the largest value is the first that overflows.
    CHECK(std::isinf(roundTo(DType::F16, 65520)));
    CHECK(roundTo(DType::F16, std::nextafter(65520, 0)) == 65504);
    CHECK(roundTo(DType::F16, -infinity) == -infinity);
    CHECK(std::isinf(roundTo(DType::BF16, 0x1.ffp127)));
    for (DType type : {DType::F8E4M3, DType::F8E5M2}) {
      CHECK(roundTo(type, 1e9) == largestFinite(type));
      CHECK(roundTo(type, -infinity) == -largestFinite(type));
      CHECK(std::isnan(roundTo(type, NAN)));
    }
  }

  TEST_CASE("values far below the smallest subnormal keep only their sign") {
    for (DType type : smallFloats) {
      const uint32_t sign = numCodes(type) / 2;
      CHECK(codeOf(type, -0.0) == sign);
      CHECK(codeOf(type, -1e-300) == sign);
      CHECK(codeOf(type, 5e-324) == 0);
      CHECK(codeOf(type, smallestSubnormal(type) / 2) == 0);
      CHECK(codeOf(type, -std::nextafter(smallestSubnormal(type) / 2, 1)) ==
            (sign | 1));
    }
  }

  TEST_CASE("a double is rounded once, not through float32") {
    // A hair above the midpoint of 1 and the next f16: f32 loses the hair, and
    // a second rounding would then go to even, down.
    const double value = 1 + 0x1p-11 + 0x1p-40;
    CHECK(static_cast<double>(static_cast<float>(value)) == 1 + 0x1p-11);
    CHECK(roundTo(DType::F16, value) == 1 + 0x1p-10);
    CHECK(roundTo(DType::BF16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
    CHECK(roundTo(DType::F32, 1 + 0x1p-24 + 0x1p-50) == 1 + 0x1p-23);
    CHECK(roundTo(DType::F32, 0x1p-150) == 0);
    CHECK(roundTo(DType::F32, std::nextafter(0x1p-150, 1)) == 0x1p-149);
    CHECK(roundTo(DType::F64, 0.1) == 0.1);
  }

  TEST_CASE("neighbours of every code are one step away") {
    for (DType type : smallFloats) {
      CAPTURE(dtypeName(type));
      const std::vector<double> values = finiteValues(type);
      int wrong = 0;
      for (size_t code = 0; code + 1 < values.size(); ++code) {
        wrong += nextUp(type, values[code]) != values[code + 1];
        wrong += nextDown(type, values[code + 1]) != values[code];
        wrong += nextUp(type, -values[code + 1]) != -values[code];
        wrong += nextDown(type, -values[code]) != -values[code + 1];
      }
      CHECK(wrong == 0);
    }
    CHECK(nextUp(DType::F16, 65504) == infinity);
    CHECK(nextUp(DType::F8E5M2, 57344) == infinity);
    CHECK(nextUp(DType::F8E4M3, 448) == 448);
    CHECK(nextUp(DType::F16, -infinity) == -65504);
    CHECK(nextUp(DType::F16, infinity) == infinity);
    CHECK(std::isnan(nextUp(DType::BF16, NAN)));
    CHECK(nextUp(DType::F32, 0) == 0x1p-149);
    CHECK(nextDown(DType::F32, 1) == 1 - 0x1p-24);
    CHECK(nextUp(DType::F64, 1) == 1 + 0x1p-52);
  }

  TEST_CASE("floats become integers by truncation, saturation and NaN to 0") {
    CHECK(stored<int8_t>(DType::I8, 127.9) == 127);
    CHECK(stored<int8_t>(DType::I8, 128) == 127);
    CHECK(stored<int8_t>(DType::I8, -1.9) == -1);
    CHECK(stored<int8_t>(DType::I8, -128.9) == -128);
    CHECK(stored<int8_t>(DType::I8, -infinity) == -128);
    CHECK(stored<int8_t>(DType::I8, NAN) == 0);
    CHECK(stored<uint8_t>(DType::U8, -3) == 0);
    CHECK(stored<uint8_t>(DType::U8, 255.5) == 255);
    CHECK(stored<uint8_t>(DType::U8, 1e9) == 255);
    CHECK(stored<int32_t>(DType::I32, 2147483647.5) == 2147483647);
    CHECK(stored<int32_t>(DType::I32, 1e30) == 2147483647);
    CHECK(stored<int32_t>(DType::I32, -1e30) ==
          std::numeric_limits<int32_t>::min());
    CHECK(stored<int64_t>(DType::I64, 0x1p63) ==
          std::numeric_limits<int64_t>::max());
    CHECK(stored<int64_t>(DType::I64, 0x1.fffffffffffffp62) ==
          0x7ffffffffffffc00);
    CHECK(stored<int64_t>(DType::I64, -0x1p63) ==
          std::numeric_limits<int64_t>::min());
  }

  TEST_CASE("integers become floats with one rounding") {
    // 2^60 + 2^52 + 1 lies above the midpoint of two bf16; double loses the 1.
    const int64_t value = (int64_t(1) << 60) + (int64_t(1) << 52) + 1;
    CHECK(codeOfInteger(DType::BF16, value) ==
          codeOf(DType::BF16, 0x1p60 + 0x1p53));
    CHECK(codeOfInteger(DType::BF16, value - 1) == codeOf(DType::BF16, 0x1p60));
    CHECK(codeOfInteger(DType::BF16, -value) ==
          codeOf(DType::BF16, -0x1p60 - 0x1p53));
    CHECK(codeOfInteger(DType::F16, 65519) == codeOf(DType::F16, 65504));
    CHECK(std::isinf(valueOf(DType::F16, codeOfInteger(DType::F16, 65520))));
    CHECK(valueOf(DType::F8E4M3, codeOfInteger(DType::F8E4M3, -1000)) == -448);
    CHECK(valueOf(DType::BF16,
                  codeOfInteger(DType::BF16,
                                std::numeric_limits<int64_t>::min())) ==
          -0x1p63);
    std::mt19937_64 random(1);
    int wrong = 0;
    for (int i = 0; i < 100000; ++i) {
      const int64_t integer = static_cast<int64_t>(random()) >> (random() % 60);
      float actual = 0;
      storeInteger(DType::F32, integer, &actual);
      wrong += actual != static_cast<float>(integer);
    }
    CHECK(wrong == 0);
    int8_t clamped = 0;
    storeInteger(DType::I8, -1000, &clamped);
    CHECK(clamped == -128);
    uint8_t unsignedByte = 9;
    storeInteger(DType::U8, -1, &unsignedByte);
    CHECK(unsignedByte == 0);
  }

  TEST_CASE("copies between equal types keep NaN payloads") {
    const uint32_t payload = 0xffa12345;
    uint32_t copied = 0;
    convertElement(DType::F32, &payload, DType::F32, &copied);
    CHECK(copied == payload);
    const uint16_t half = 0xfd01;
    uint16_t copiedHalf = 0;
    convertElement(DType::F16, &half, DType::F16, &copiedHalf);
    CHECK(copiedHalf == half);
    const uint8_t infinite = 0x7c;
    uint8_t copiedByte = 0;
    convertElement(DType::F8E5M2, &infinite, DType::F8E5M2, &copiedByte);
    CHECK(copiedByte == infinite);
  }

  TEST_CASE("conversions go by the kind of the source") {
    const int64_t large = (int64_t(1) << 60) + (int64_t(1) << 52) + 1;
    uint16_t bf16 = 0;
    convertElement(DType::I64, &large, DType::BF16, &bf16);
    CHECK(valueOf(DType::BF16, bf16) == 0x1p60 + 0x1p53);
    const float nan = NAN;
    int32_t integer = 5;
    convertElement(DType::F32, &nan, DType::I32, &integer);
    CHECK(integer == 0);
    const int8_t negative = -7;
    float number = 0;
    convertElement(DType::I8, &negative, DType::F32, &number);
    CHECK(number == -7);
    CHECK(loadDouble(DType::I8, &negative) == -7);
    CHECK(loadInteger(DType::U8, &negative) == 249);
  }
}
