//===- TensorCore.cpp - Dot products as the hardware does them ------------===//
#include "codegen/device/emulator/ops/TensorCore.h"

#include "codegen/device/emulator/Rounding.h"

#include <algorithm>

using namespace tandem::emulator;

namespace {
constexpr int fractionBits = 25; // F
constexpr int resultBits = 23;   // R
// An exponent so small that a zero never decides E, alone or in a product.
constexpr int zeroExponent = -20000;

struct Parts {
  int32_t significand; // signed, 2^fraction is 1.0
  int32_t exponent;    // of the leading place, subnormals not renormalised
};

struct Format {
  int fraction, bias;
  uint32_t exponentMask;
};
constexpr Format formatOf(DotType type) {
  return type == DotType::F16 ? Format{10, 15, 0x1f} : Format{7, 127, 0xff};
}

Parts split(uint16_t bits, const Format &format) {
  auto biased =
      static_cast<int32_t>(bits >> format.fraction & format.exponentMask);
  int32_t significand = bits & ((1 << format.fraction) - 1);
  if (biased)
    significand |= 1 << format.fraction;
  int32_t exponent = std::max(biased, 1) - format.bias;
  if (!significand)
    exponent = zeroExponent;
  return {bits & 0x8000 ? -significand : significand, exponent};
}
Parts split(float value) {
  uint32_t bits = bitsOf(value);
  auto biased = static_cast<int32_t>(bits >> 23 & 0xff);
  int32_t significand = bits & 0x7fffff;
  if (biased)
    significand |= 1 << 23;
  int32_t exponent = significand ? std::max(biased, 1) - 127 : zeroExponent;
  return {bits >> 31 ? -significand : significand, exponent};
}
bool isFinite(uint16_t bits, const Format &format) {
  return (bits >> format.fraction & format.exponentMask) != format.exponentMask;
}

/// sum * 2^(E - F), truncated toward zero.
float finish(int64_t sum, int exponent) {
  if (sum == 0)
    return 0.0f;
  uint64_t magnitude = sum < 0 ? uint64_t(0) - static_cast<uint64_t>(sum)
                               : static_cast<uint64_t>(sum);
  int top = 63 - std::countl_zero(magnitude);
  int unit = exponent - fractionBits;
  int drop = std::max(0, top - resultBits);
  if (top + unit < -126)
    drop = std::max(drop, -149 - unit);
  if (drop > 63)
    return sum < 0 ? -0.0f : 0.0f;
  magnitude = magnitude >> drop << drop;
  // Exact: 24 bits times a power of two; beyond float's range it is infinite.
  double value = std::ldexp(static_cast<double>(magnitude), unit);
  return static_cast<float>(sum < 0 ? -value : value);
}

/// Outputs that a NaN or an infinity reaches.
float special(DotType type, int k, const uint16_t *a, const uint16_t *b,
              int bStride, float c) {
  auto widen = [&](uint16_t bits) {
    return type == DotType::F16 ? halfToFloat(bits) : bfloatToFloat(bits);
  };
  // Only signs and kinds matter: finite products are replaced by zero.
  float sum = std::isfinite(c) ? 0.0f : c;
  for (int i = 0; i < k; ++i) {
    float x = widen(a[i]), y = widen(b[i * bStride]);
    if (!std::isfinite(x) || !std::isfinite(y))
      sum += x * y;
  }
  return canonical(sum);
}

/// \p Shift places a product: its fraction has 2f bits, the sum F.
template <int K, int Shift>
void dotRows(const Parts (&a)[16][16], const Parts (&b)[16][8],
             const float (&c)[16][8], float (&d)[16][8]) {
  int32_t bSignificand[K][8], bExponent[K][8];
  for (int i = 0; i < K; ++i)
    for (int n = 0; n < 8; ++n) {
      bSignificand[i][n] = b[i][n].significand;
      bExponent[i][n] = b[i][n].exponent;
    }
  for (int row = 0; row < 16; ++row) {
    int32_t largest[8], accumulator[8], accumulatorExponent[8];
    for (int n = 0; n < 8; ++n) {
      Parts parts = split(c[row][n]);
      accumulator[n] = parts.significand;
      accumulatorExponent[n] = largest[n] = parts.exponent;
    }
    for (int i = 0; i < K; ++i) {
      int32_t exponent = a[row][i].exponent;
      for (int n = 0; n < 8; ++n)
        largest[n] = std::max(largest[n], exponent + bExponent[i][n]);
    }
    // Truncation toward zero of a signed value: bias negative ones first.
    auto place = [](int32_t value, int32_t up) {
      int32_t left = std::max(up, 0);
      int32_t right = std::min(std::max(-up, 0), 31);
      auto lost = static_cast<int32_t>((uint32_t(1) << right) - 1);
      return ((value + ((value >> 31) & lost)) >> right) * (1 << left);
    };
    int64_t sum[8];
    for (int n = 0; n < 8; ++n)
      sum[n] = place(accumulator[n],
                     accumulatorExponent[n] - largest[n] + fractionBits - 23);
    for (int i = 0; i < K; ++i) {
      int32_t significand = a[row][i].significand;
      int32_t exponent = a[row][i].exponent;
      for (int n = 0; n < 8; ++n)
        sum[n] += place(significand * bSignificand[i][n],
                        exponent + bExponent[i][n] - largest[n] + Shift);
    }
    for (int n = 0; n < 8; ++n)
      d[row][n] = finish(sum[n], largest[n]);
  }
}
} // namespace

void tandem::emulator::tensorDot(DotType type, int k,
                                 const uint16_t (&a)[16][16],
                                 const uint16_t (&b)[16][8],
                                 const float (&c)[16][8], float (&d)[16][8]) {
  Format format = formatOf(type);
  Parts aParts[16][16], bParts[16][8];
  bool rowFinite[16], columnFinite[8];
  std::fill_n(rowFinite, 16, true);
  std::fill_n(columnFinite, 8, true);
  for (int row = 0; row < 16; ++row)
    for (int i = 0; i < k; ++i) {
      aParts[row][i] = split(a[row][i], format);
      rowFinite[row] &= isFinite(a[row][i], format);
    }
  for (int i = 0; i < k; ++i)
    for (int n = 0; n < 8; ++n) {
      bParts[i][n] = split(b[i][n], format);
      columnFinite[n] &= isFinite(b[i][n], format);
    }
  float before[16][8];
  std::copy_n(&c[0][0], 128, &before[0][0]);
  constexpr int f16Shift = fractionBits - 20, bf16Shift = fractionBits - 14;
  if (type == DotType::F16)
    k == 16 ? dotRows<16, f16Shift>(aParts, bParts, before, d)
            : dotRows<8, f16Shift>(aParts, bParts, before, d);
  else
    k == 16 ? dotRows<16, bf16Shift>(aParts, bParts, before, d)
            : dotRows<8, bf16Shift>(aParts, bParts, before, d);
  for (int row = 0; row < 16; ++row)
    for (int n = 0; n < 8; ++n)
      if (!rowFinite[row] || !columnFinite[n] || !std::isfinite(before[row][n]))
        d[row][n] = special(type, k, a[row], &b[0][n], 8, before[row][n]);
}
