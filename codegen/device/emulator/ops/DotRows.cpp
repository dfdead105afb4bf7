//===- DotRows.cpp - Many tensor-core dot products at once ----------------===//
#include "codegen/device/emulator/ops/DotRows.h"

#include "codegen/device/emulator/Rounding.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

using namespace tandem::emulator;

DotBits tandem::emulator::dotBits(DotFormat format) {
  return format == DotFormat::E4M3 || format == DotFormat::E5M2
             ? DotBits{13, 13, false}
             : DotBits{25, 23, false};
}

void DotOperand::reset(int newRows, int newWidth) {
  rows = newRows;
  width = newWidth;
  auto n = static_cast<size_t>(rows) * static_cast<size_t>(width);
  values.resize(n);
  exponents.resize(n);
  isSpecial.assign(static_cast<size_t>(std::max(rows, width)), 0);
  isWide = false;
}

namespace {
struct Layout {
  int fraction, bias;
  uint32_t exponentMask;
  int sign; // its bit
};
constexpr Layout layoutOf(DotFormat format) {
  switch (format) {
  case DotFormat::F16:
    return {10, 15, 0x1f, 15};
  case DotFormat::BF16:
    return {7, 127, 0xff, 15};
  case DotFormat::TF32:
    return {23, 127, 0xff, 31};
  case DotFormat::E4M3:
    return {3, 7, 0xf, 7};
  case DotFormat::E5M2:
    return {2, 15, 0x1f, 7};
  }
  return {};
}
float widen(DotFormat format, uint32_t bits) {
  switch (format) {
  case DotFormat::F16:
    return halfToFloat(static_cast<uint16_t>(bits));
  case DotFormat::BF16:
    return bfloatToFloat(static_cast<uint16_t>(bits));
  case DotFormat::TF32:
    return floatOf(bits & ~uint32_t(0x1fff));
  case DotFormat::E4M3: {
    static const std::array<float, 256> table = [] {
      std::array<float, 256> values;
      for (size_t code = 0; code < values.size(); ++code)
        values[code] = e4m3ToFloat(static_cast<uint8_t>(code));
      return values;
    }();
    return table[bits & 0xff];
  }
  case DotFormat::E5M2:
    return e5m2ToFloat(static_cast<uint8_t>(bits));
  }
  return 0;
}
} // namespace

void tandem::emulator::setDotOperand(DotOperand &to, DotFormat format, int row,
                                     int column, uint32_t bits, bool negate,
                                     bool byColumn) {
  const Layout layout = layoutOf(format);
  auto at = static_cast<size_t>(row) * static_cast<size_t>(to.width) +
            static_cast<size_t>(column);
  float value = widen(format, bits);
  auto biased = static_cast<int>(bits >> layout.fraction & layout.exponentMask);
  int exponent = std::max(biased, 1) - layout.bias;
  to.values[at] = negate ? -value : value;
  to.exponents[at] = value == 0 ? dotZero : static_cast<int16_t>(exponent);
  if (!std::isfinite(value))
    to.isSpecial[static_cast<size_t>(byColumn ? column : row)] = 1;
  else if (value != 0 && (exponent < -60 || exponent > 60))
    to.isWide = true;
}

namespace {
/// Any exponents: one output, in integers.
float dotSlow(DotBits bits, const float *a, const int16_t *ae, const float *b,
              const int16_t *be, int k, int stride, float c) {
  int biased = static_cast<int>(bitsOf(c) >> 23 & 0xff);
  // An accumulator of f16 has its exponents.
  const int least = bits.keepsSticky ? 113 : 1;
  int largest = c == 0 ? dotZero * 2 : std::max(biased, least) - 127;
  for (int i = 0; i < k; ++i)
    largest = std::max(largest, ae[i] + be[i * stride]);
  if (largest < -1000)
    return 0.0f;
  // |x| < 2^(largest + 2), exact in double; truncated by the conversion.
  auto place = [&](double x) {
    return static_cast<int64_t>(std::ldexp(x, bits.fraction - largest));
  };
  int64_t sum = place(c);
  for (int i = 0; i < k; ++i)
    sum += place(double(a[i]) * b[i * stride]);
  if (sum == 0)
    return 0.0f;
  uint64_t magnitude = sum < 0 ? uint64_t(0) - static_cast<uint64_t>(sum)
                               : static_cast<uint64_t>(sum);
  int top = 63 - std::countl_zero(magnitude);
  int unit = largest - bits.fraction;
  int drop = std::max(0, top - (bits.keepsSticky ? 23 : bits.result));
  if (top + unit < -126)
    drop = std::max(drop, -149 - unit);
  if (drop > 63)
    return sum < 0 ? -0.0f : 0.0f;
  const uint64_t kept = magnitude >> drop << drop;
  magnitude =
      bits.keepsSticky && kept != magnitude ? kept | uint64_t(1) << drop : kept;
  double value = std::ldexp(static_cast<double>(magnitude), unit);
  return static_cast<float>(sum < 0 ? -value : value);
}

/// Outputs that a NaN or an infinity reaches: finite products do not matter.
float dotSpecial(const float *a, const float *b, int k, int stride, float c) {
  float sum = std::isfinite(c) ? 0.0f : c;
  for (int i = 0; i < k; ++i) {
    float x = a[i], y = b[i * stride];
    if (!std::isfinite(x) || !std::isfinite(y))
      sum += x * y;
  }
  return canonical(sum);
}

/// One row, \p block columns. False when an exponent is out of range.
template <int block, int F, int R, bool KeepsSticky>
bool dotBlock(const float *a, const int16_t *ae, const float *b,
              const int16_t *be, int k, int stride, float *c) {
  int16_t largest[block];
  float before[block];
  std::memcpy(before, c, sizeof before);
  // An accumulator of f16 has its exponents.
  for (int n = 0; n < block; ++n) {
    auto biased = static_cast<int>(bitsOf(before[n]) >> 23 & 0xff);
    int exponent = std::max(biased, KeepsSticky ? 113 : 1) - 127;
    largest[n] = static_cast<int16_t>(before[n] == 0 ? 2 * dotZero : exponent);
  }
  for (int i = 0; i < k; ++i) {
    int16_t mine = ae[i];
    const int16_t *theirs = be + i * stride;
    for (int n = 0; n < block; ++n) {
      auto sum = static_cast<int16_t>(mine + theirs[n]);
      largest[n] = std::max(largest[n], sum);
    }
  }
  // 2^(F - E), as bits. An output of zeros only has any E.
  int16_t low = largest[0], high = largest[0];
  for (int n = 0; n < block; ++n) {
    largest[n] = largest[n] < dotZero / 2 ? int16_t(0) : largest[n];
    low = std::min(low, largest[n]);
    high = std::max(high, largest[n]);
  }
  if (low < -98 || high > 121)
    return false;
  float scale[block];
  for (int n = 0; n < block; ++n)
    scale[n] = floatOf(static_cast<uint32_t>(127 + F - largest[n]) << 23);
  // Sums of at most eight addends below 2^(F + 2) each.
  double sum[block];
  for (int n = 0; n < block; ++n)
    sum[n] = static_cast<int32_t>(before[n] * scale[n]);
  for (int first = 0; first < k; first += 8) {
    int32_t part[block] = {};
    int last = std::min(first + 8, k);
    for (int i = first; i < last; ++i) {
      float mine = a[i];
      const float *theirs = b + i * stride;
      for (int n = 0; n < block; ++n)
        part[n] += static_cast<int32_t>(mine * theirs[n] * scale[n]);
    }
    for (int n = 0; n < block; ++n)
      sum[n] += part[n];
  }
  constexpr uint64_t kept = ~((uint64_t(1) << (52 - R)) - 1);
  for (int n = 0; n < block; ++n) {
    const uint64_t exact = bitsOf(sum[n]);
    const uint64_t sticky =
        KeepsSticky && (exact & ~kept) ? uint64_t(1) << (52 - R) : 0;
    double truncated = doubleOf((exact & kept) | sticky);
    double unit = doubleOf(static_cast<uint64_t>(1023 + largest[n] - F) << 52);
    c[n] = static_cast<float>(truncated * unit);
  }
  return true;
}

template <int block>
bool dotBlockOf(DotBits bits, const float *a, const int16_t *ae, const float *b,
                const int16_t *be, int k, int stride, float *c) {
  const bool isFp8 = bits.fraction == 13;
  if (bits.keepsSticky)
    return isFp8 ? dotBlock<block, 13, 23, true>(a, ae, b, be, k, stride, c)
                 : dotBlock<block, 25, 23, true>(a, ae, b, be, k, stride, c);
  return isFp8 ? dotBlock<block, 13, 13, false>(a, ae, b, be, k, stride, c)
               : dotBlock<block, 25, 23, false>(a, ae, b, be, k, stride, c);
}

bool dotColumns(DotBits bits, int count, const float *a, const int16_t *ae,
                const float *b, const int16_t *be, int k, int stride,
                float *c) {
  if (count == 16)
    return dotBlockOf<16>(bits, a, ae, b, be, k, stride, c);
  return count == 8 && dotBlockOf<8>(bits, a, ae, b, be, k, stride, c);
}
} // namespace

void tandem::emulator::dotRows(DotFormat format, const DotOperand &a,
                               const DotOperand &b, float *c, int stride,
                               bool keepsSticky) {
  DotBits bits = dotBits(format);
  bits.keepsSticky = keepsSticky;
  const int k = a.width, width = b.width;
  const bool isWide = a.isWide || b.isWide;
  for (int row = 0; row < a.rows; ++row) {
    const float *av = &a.values[static_cast<size_t>(row * k)];
    const int16_t *ae = &a.exponents[static_cast<size_t>(row * k)];
    float *out = c + static_cast<std::ptrdiff_t>(row) * stride;
    for (int n = 0, count = 0; n < width; n += count) {
      count = width - n >= 16 ? 16 : std::min(8, width - n);
      const float *bv = &b.values[static_cast<size_t>(n)];
      const int16_t *be = &b.exponents[static_cast<size_t>(n)];
      bool special = a.isSpecial[static_cast<size_t>(row)];
      bool infinite = false;
      for (int i = 0; i < count; ++i) {
        special |= b.isSpecial[static_cast<size_t>(n + i)] != 0;
        infinite |= (bitsOf(out[n + i]) & 0x7f800000) == 0x7f800000;
      }
      if (!special && !infinite && !isWide &&
          dotColumns(bits, count, av, ae, bv, be, k, width, out + n))
        continue;
      for (int i = 0; i < count; ++i) {
        bool isSpecial = a.isSpecial[static_cast<size_t>(row)] ||
                         b.isSpecial[static_cast<size_t>(n + i)] ||
                         !std::isfinite(out[n + i]);
        out[n + i] = isSpecial ? dotSpecial(av, bv + i, k, width, out[n + i])
                               : dotSlow(bits, av, ae, bv + i, be + i, k, width,
                                         out[n + i]);
      }
    }
  }
}

uint16_t tandem::emulator::dotToHalf(float sum) {
  const uint16_t half = floatToHalf(sum);
  return half == 0x8000 ? 0 : half;
}

void tandem::emulator::dotRowsInteger(const int32_t *a, const int32_t *b,
                                      int rows, int k, int n, int32_t *c,
                                      int stride, bool saturate) {
  std::vector<int64_t> sums(static_cast<size_t>(n));
  for (int row = 0; row < rows; ++row) {
    int32_t *out = c + static_cast<std::ptrdiff_t>(row) * stride;
    std::copy_n(out, n, sums.begin());
    for (int i = 0; i < k; ++i) {
      int32_t mine = a[row * k + i];
      const int32_t *theirs = b + static_cast<std::ptrdiff_t>(i) * n;
      for (int column = 0; column < n; ++column)
        sums[static_cast<size_t>(column)] += int64_t(mine) * theirs[column];
    }
    for (int column = 0; column < n; ++column) {
      int64_t sum = sums[static_cast<size_t>(column)];
      if (saturate)
        sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
      out[column] = static_cast<int32_t>(sum);
    }
  }
}

void tandem::emulator::dotRowsBits(const int32_t *a, const int32_t *b, int rows,
                                   int k, int n, uint32_t *c, int stride,
                                   bool isExclusiveOr) {
  for (int row = 0; row < rows; ++row) {
    uint32_t *out = c + static_cast<std::ptrdiff_t>(row) * stride;
    for (int i = 0; i < k; ++i) {
      const int32_t mine = a[row * k + i];
      const int32_t *theirs = b + static_cast<std::ptrdiff_t>(i) * n;
      for (int column = 0; column < n; ++column)
        out[column] += static_cast<uint32_t>(std::popcount(
            static_cast<uint32_t>(isExclusiveOr ? mine ^ theirs[column]
                                                : mine & theirs[column])));
    }
  }
}
