//===- TensorDotRowsTest.cpp - The fast tensor core is the plain one ------===//
#include "codegen/device/emulator/ops/DotRows.h"
#include "codegen/device/emulator/ops/TensorCore.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>

using namespace tandem::emulator;

namespace {
/// An f16 or bf16 with an exponent in the middle of \p span, or anywhere.
uint16_t operand(std::mt19937 &g, bool isHalf, int span) {
  if (span == 0)
    return static_cast<uint16_t>(g());
  if (g() % 16 == 0)
    return static_cast<uint16_t>(g() & 0x8000);
  int fraction = isHalf ? 10 : 7, bias = isHalf ? 15 : 127;
  auto exponent = static_cast<uint32_t>(
      bias - span / 2 + static_cast<int>(g() % static_cast<unsigned>(span)));
  return static_cast<uint16_t>((g() & 1) << 15 | exponent << fraction |
                               (g() & ((1u << fraction) - 1)));
}
} // namespace

TEST_SUITE("emulator tensor core") {
  TEST_CASE("rows of dot products equal the plain model bit for bit") {
    std::mt19937 g(7);
    for (bool isHalf : {true, false})
      for (int span : {3, 12, 28, 0})
        for (int round = 0; round < 60; ++round) {
          CAPTURE(isHalf);
          CAPTURE(span);
          CAPTURE(round);
          uint16_t a[16][16], b[16][8];
          float c[16][8], expected[16][8];
          DotOperand fastA, fastB;
          DotFormat format = isHalf ? DotFormat::F16 : DotFormat::BF16;
          fastA.reset(16, 16);
          fastB.reset(16, 8);
          for (int i = 0; i < 16; ++i)
            for (int k = 0; k < 16; ++k) {
              a[i][k] = operand(g, isHalf, span);
              setDotOperand(fastA, format, i, k, a[i][k], false, false);
            }
          for (int k = 0; k < 16; ++k)
            for (int n = 0; n < 8; ++n) {
              b[k][n] = operand(g, isHalf, span);
              setDotOperand(fastB, format, k, n, b[k][n], false, true);
            }
          for (auto &row : c)
            for (float &value : row) {
              auto bits = static_cast<uint32_t>(g());
              value = span == 0 ? std::bit_cast<float>(bits)
                      : bits % 9 == 0
                          ? 0.0f
                          : std::ldexp(float(int(bits >> 8) - (1 << 23)),
                                       int(bits % 24) - 32);
            }
          tensorDot(isHalf ? DotType::F16 : DotType::BF16, 16, a, b, c,
                    expected);
          dotRows(format, fastA, fastB, &c[0][0], 8);
          int wrong = 0;
          for (int i = 0; i < 16; ++i)
            for (int n = 0; n < 8; ++n)
              wrong += std::bit_cast<uint32_t>(c[i][n]) !=
                       std::bit_cast<uint32_t>(expected[i][n]);
          CHECK(wrong == 0);
        }
  }

  TEST_CASE("eight-bit products keep 13 bits") {
    // 1 + 2^-13 + 2^-14: the last addend lies below 2^-13 and is cut.
    DotOperand a, b;
    a.reset(1, 32);
    b.reset(32, 8);
    auto set = [&](int k, uint32_t x, uint32_t y) {
      setDotOperand(a, DotFormat::E4M3, 0, k, x, false, false);
      for (int n = 0; n < 8; ++n)
        setDotOperand(b, DotFormat::E4M3, k, n, y, false, true);
    };
    for (int k = 0; k < 32; ++k)
      set(k, 0, 0);
    set(0, 0x38, 0x38); // 1 * 1
    set(1, 0x08, 0x02); // 2^-6 * 2^-8
    float c[8] = {};
    dotRows(DotFormat::E4M3, a, b, c, 8);
    CHECK(c[0] == 1.0f);
    set(1, 0x08, 0x04); // 2^-6 * 2^-7
    c[0] = 0;
    dotRows(DotFormat::E4M3, a, b, c, 8);
    CHECK(c[0] == 1.0f + 0x1p-13f);
  }
}
