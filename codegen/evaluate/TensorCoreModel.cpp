//===- TensorCoreModel.cpp - One dot product of the tensor core -----------===//
#include "codegen/evaluate/TensorCoreModel.h"

#include <algorithm>
#include <climits>

using namespace tandem::evaluate;

namespace {
/// significand * 2^(exponent - fraction), significand < 2^(fraction + 1).
struct Parts {
  bool isNegative = false;
  uint64_t significand = 0;
  int exponent = 0; // of the leading bit of a normal number
  bool isInf = false, isNaN = false;
};

struct Format {
  int exponentBits, fractionBits;
  int bias() const { return (1 << (exponentBits - 1)) - 1; }
};

/// Addends keep this many bits below the largest exponent.
constexpr int keptBits = 25;
} // namespace

static Format formatOf(Kind kind) {
  if (kind == Kind::F16)
    return {5, 10};
  if (kind == Kind::BF16)
    return {8, 7};
  return {8, 23};
}

static Parts split(const Format &format, uint64_t bits) {
  Parts parts;
  const uint64_t fractionMask = (uint64_t(1) << format.fractionBits) - 1;
  const int highest = (1 << format.exponentBits) - 1;
  const int field = int(bits >> format.fractionBits) & highest;
  parts.isNegative = bits >> (format.exponentBits + format.fractionBits) & 1;
  parts.significand = bits & fractionMask;
  if (field == highest) {
    parts.isNaN = parts.significand != 0;
    parts.isInf = !parts.isNaN;
    return parts;
  }
  parts.exponent = std::max(field, 1) - format.bias();
  if (field)
    parts.significand |= fractionMask + 1;
  return parts;
}

/// \p significand * 2^(-fraction) in units of 2^-keptBits after moving it down
/// by \p down, toward zero.
static int64_t align(uint64_t significand, int fraction, int down) {
  const int shift = keptBits - fraction - down;
  if (shift >= 0)
    return int64_t(significand << shift);
  return shift <= -64 ? 0 : int64_t(significand >> -shift);
}

static uint64_t infinity(bool isNegative) {
  return isNegative ? 0xff800000u : 0x7f800000u;
}

/// sum * 2^(exponent - keptBits) as f32, toward zero.
static uint64_t toF32(int64_t sum, int exponent) {
  if (!sum)
    return 0;
  const bool isNegative = sum < 0;
  const uint64_t magnitude = isNegative ? uint64_t(-sum) : uint64_t(sum);
  const int leading = 63 - std::countl_zero(magnitude);
  int resultExponent = exponent - keptBits + leading;
  if (resultExponent > 127)
    return infinity(isNegative);
  // Subnormals have their last bit at 2^-149.
  const int lastBit = std::max(resultExponent - 23, -149);
  const int shift = lastBit - (exponent - keptBits);
  const uint64_t kept =
      shift >= 0 ? (shift > 63 ? 0 : magnitude >> shift) : magnitude << -shift;
  const uint64_t sign = uint64_t(isNegative) << 31;
  if (resultExponent < -126)
    return sign | kept;
  return sign | (uint64_t(resultExponent + 127) << 23) | (kept & 0x7fffff);
}

uint64_t tandem::evaluate::tensorCoreDot(Kind kind, const uint64_t *a,
                                         const uint64_t *b, int k,
                                         uint64_t acc) {
  const Format format = formatOf(kind);
  const Parts accParts = split(formatOf(Kind::F32), acc);
  bool isNaN = accParts.isNaN, plusInf = false, minusInf = false;
  if (accParts.isInf)
    (accParts.isNegative ? minusInf : plusInf) = true;

  std::vector<Parts> products;
  int largest = accParts.significand ? accParts.exponent : INT_MIN;
  for (int i = 0; i < k; ++i) {
    const Parts x = split(format, a[i]), y = split(format, b[i]);
    const bool isNegative = x.isNegative != y.isNegative;
    if (x.isNaN || y.isNaN) {
      isNaN = true;
    } else if (x.isInf || y.isInf) {
      const Parts &other = x.isInf ? y : x;
      if (!other.isInf && !other.significand)
        isNaN = true;
      (isNegative ? minusInf : plusInf) = true;
    } else if (x.significand && y.significand) {
      products.push_back(
          {isNegative, x.significand * y.significand, x.exponent + y.exponent});
      largest = std::max(largest, products.back().exponent);
    }
  }
  if (isNaN || (plusInf && minusInf))
    return 0x7fffffff;
  if (plusInf || minusInf)
    return infinity(minusInf);
  if (largest == INT_MIN)
    return 0;

  int64_t sum = 0;
  auto accumulate = [&](const Parts &parts, int fraction) {
    const int64_t addend =
        align(parts.significand, fraction, largest - parts.exponent);
    sum += parts.isNegative ? -addend : addend;
  };
  if (accParts.significand)
    accumulate(accParts, 23);
  for (const Parts &product : products)
    accumulate(product, 2 * format.fractionBits);
  return toF32(sum, largest);
}
