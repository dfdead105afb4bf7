//===- DType.cpp - Element types and their exact conversions --------------===//
#include "refops/core/DType.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

using namespace tandem;

namespace {
/// A binary float of at most 16 bits: sign, exponent, fraction. Codes of
/// positive values grow with the value, subnormals included.
struct SmallFloat {
  int bits;
  int fractionBits;
  /// Exponent of the smallest normal value.
  int minExponent;
  uint32_t maxFiniteCode;
  /// What comes after maxFiniteCode is infinity; otherwise it is NaN.
  bool hasInfinity;
  /// Overflow and infinities become the largest finite value.
  bool saturates;
};

constexpr SmallFloat f16Format = {16, 10, -14, 0x7bff, true, false};
constexpr SmallFloat bf16Format = {16, 7, -126, 0x7f7f, true, false};
constexpr SmallFloat e4m3Format = {8, 3, -6, 0x7e, false, true};
constexpr SmallFloat e5m2Format = {8, 2, -14, 0x7b, true, true};

struct DTypeRow {
  std::string_view name;
  size_t size;
  bool isFloat;
};
constexpr std::array<DTypeRow, 11> rows = {{{"float32", 4, true},
                                            {"float16", 2, true},
                                            {"bfloat16", 2, true},
                                            {"float8_e4m3fn", 1, true},
                                            {"float8_e5m2", 1, true},
                                            {"int32", 4, false},
                                            {"int8", 1, false},
                                            {"int4", 0, false},
                                            {"float64", 8, true},
                                            {"int64", 8, false},
                                            {"uint8", 1, false}}};
} // namespace

static const DTypeRow &rowOf(DType type) {
  assert(static_cast<size_t>(type) < rows.size() && "not a dtype");
  return rows[static_cast<size_t>(type)];
}

static const SmallFloat *smallFloat(DType type) {
  switch (type) {
  case DType::F16:
    return &f16Format;
  case DType::BF16:
    return &bf16Format;
  case DType::F8E4M3:
    return &e4m3Format;
  case DType::F8E5M2:
    return &e5m2Format;
  default:
    return nullptr;
  }
}

std::string_view tandem::dtypeName(DType type) { return rowOf(type).name; }

std::optional<DType> tandem::dtypeNamed(std::string_view name) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].name == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

size_t tandem::dtypeSize(DType type) {
  assert(type != DType::I4 && "packed: an element has no size of its own");
  return rowOf(type).size;
}

bool tandem::isFloat(DType type) { return rowOf(type).isFloat; }
bool tandem::isInteger(DType type) { return !rowOf(type).isFloat; }

template <typename T>
static T load(const void *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
static void store(T value, void *bytes) {
  std::memcpy(bytes, &value, sizeof(T));
}

static double decode(const SmallFloat &format, uint32_t code) {
  const uint32_t signBit = 1u << (format.bits - 1);
  const uint32_t magnitude = code & (signBit - 1);
  double value;
  if (magnitude > format.maxFiniteCode) {
    const bool isInfinity =
        format.hasInfinity && magnitude == format.maxFiniteCode + 1;
    value = isInfinity ? std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::quiet_NaN();
  } else {
    const uint32_t field = magnitude >> format.fractionBits;
    const uint64_t fraction = magnitude & ((1u << format.fractionBits) - 1);
    if (field == 0)
      value = std::ldexp(static_cast<double>(fraction),
                         format.minExponent - format.fractionBits);
    else
      value = std::bit_cast<double>(
          static_cast<uint64_t>(static_cast<int>(field) - 1 +
                                format.minExponent + 1023)
              << 52 |
          fraction << (52 - format.fractionBits));
  }
  return code & signBit ? -value : value;
}

/// The code of \p value: one rounding to nearest-even of the 53-bit
/// significand, at the format's spacing.
static uint32_t encode(const SmallFloat &format, double value) {
  const uint64_t word = std::bit_cast<uint64_t>(value);
  const uint32_t sign = word >> 63 ? 1u << (format.bits - 1) : 0;
  const uint32_t allOnes = (1u << (format.bits - 1)) - 1;
  if (std::isnan(value))
    return allOnes; // the NaN that the hardware's conversions give
  if (std::isinf(value))
    return sign |
           (format.saturates ? format.maxFiniteCode : format.maxFiniteCode + 1);

  const int exponent = static_cast<int>(word >> 52 & 0x7ff) - 1023;
  if (exponent == -1023) // zero, or a double subnormal: far below every half
    return sign;
  const uint64_t significand = (word & ((uint64_t(1) << 52) - 1)) | uint64_t(1)
                                                                        << 52;
  // Below the smallest normal value the spacing stays that of subnormals.
  const int scale = std::max(exponent, format.minExponent);
  const int shift = 52 - format.fractionBits + (scale - exponent);
  if (shift > 53)
    return sign; // less than half of the smallest subnormal
  uint64_t rounded = significand >> shift;
  const uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
  const uint64_t half = uint64_t(1) << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1)))
    ++rounded;
  // A normal significand carries its leading bit into the exponent field, and
  // so does a carry out of the rounding.
  const uint64_t code = (static_cast<uint64_t>(scale - format.minExponent)
                         << format.fractionBits) +
                        rounded;
  if (code > format.maxFiniteCode)
    return sign |
           (format.saturates ? format.maxFiniteCode : format.maxFiniteCode + 1);
  return sign | static_cast<uint32_t>(code);
}

double tandem::loadDouble(DType type, const void *bytes) {
  switch (type) {
  case DType::F32:
    return load<float>(bytes);
  case DType::F64:
    return load<double>(bytes);
  case DType::BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(bytes))
                                << 16);
  case DType::F16:
    return decode(f16Format, load<uint16_t>(bytes));
  case DType::F8E4M3:
    return decode(e4m3Format, load<uint8_t>(bytes));
  case DType::F8E5M2:
    return decode(e5m2Format, load<uint8_t>(bytes));
  default:
    return static_cast<double>(loadInteger(type, bytes));
  }
}

int64_t tandem::loadInteger(DType type, const void *bytes) {
  switch (type) {
  case DType::I32:
    return load<int32_t>(bytes);
  case DType::I8:
    return load<int8_t>(bytes);
  case DType::I64:
    return load<int64_t>(bytes);
  case DType::U8:
    return load<uint8_t>(bytes);
  default:
    assert(false && "not an integer tensor type");
    return 0;
  }
}

template <typename T>
static void storeSaturated(double value, void *bytes) {
  // The limits as doubles: lowest() is a power of two or 0; the first value
  // that is too large is exact as well.
  constexpr double lowest = static_cast<double>(std::numeric_limits<T>::min());
  const double tooLarge = std::ldexp(1.0, std::numeric_limits<T>::digits);
  T result;
  if (std::isnan(value))
    result = 0;
  else if (value <= lowest)
    result = std::numeric_limits<T>::min();
  else if (value >= tooLarge)
    result = std::numeric_limits<T>::max();
  else
    result = static_cast<T>(value);
  store(result, bytes);
}

void tandem::storeDouble(DType type, double value, void *bytes) {
  switch (type) {
  case DType::F32:
    return store(static_cast<float>(value), bytes);
  case DType::F64:
    return store(value, bytes);
  case DType::F16:
  case DType::BF16:
    return store(static_cast<uint16_t>(encode(*smallFloat(type), value)),
                 bytes);
  case DType::F8E4M3:
  case DType::F8E5M2:
    return store(static_cast<uint8_t>(encode(*smallFloat(type), value)), bytes);
  case DType::I32:
    return storeSaturated<int32_t>(value, bytes);
  case DType::I8:
    return storeSaturated<int8_t>(value, bytes);
  case DType::I64:
    return storeSaturated<int64_t>(value, bytes);
  case DType::U8:
    return storeSaturated<uint8_t>(value, bytes);
  case DType::I4:
    assert(false && "packed: never a tensor's type");
  }
}

template <typename T>
static void storeClamped(int64_t value, void *bytes) {
  const int64_t lowest = static_cast<int64_t>(std::numeric_limits<T>::min());
  const int64_t highest = static_cast<int64_t>(std::numeric_limits<T>::max());
  store(static_cast<T>(std::min(std::max(value, lowest), highest)), bytes);
}

/// The 53 leading bits of \p value, with the last one set when any bit below it
/// was (round to odd): a later rounding to 51 bits or fewer is then right.
static double roundedToOdd(int64_t value) {
  uint64_t magnitude =
      value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int excess = std::bit_width(magnitude) - 53;
  if (excess > 0) {
    const uint64_t rest = magnitude & ((uint64_t(1) << excess) - 1);
    magnitude = (magnitude >> excess | (rest != 0 ? 1 : 0)) << excess;
  }
  const double result = static_cast<double>(magnitude);
  return value < 0 ? -result : result;
}

void tandem::storeInteger(DType type, int64_t value, void *bytes) {
  switch (type) {
  case DType::I32:
    return storeClamped<int32_t>(value, bytes);
  case DType::I8:
    return storeClamped<int8_t>(value, bytes);
  case DType::I64:
    return store(value, bytes);
  case DType::U8:
    return storeClamped<uint8_t>(value, bytes);
  case DType::F64:
    return store(static_cast<double>(value), bytes);
  default:
    return storeDouble(type, roundedToOdd(value), bytes);
  }
}

double tandem::roundTo(DType type, double value) {
  if (type == DType::F32)
    return static_cast<float>(value);
  if (const SmallFloat *format = smallFloat(type))
    return decode(*format, encode(*format, value));
  std::array<std::byte, 8> bytes;
  storeDouble(type, value, bytes.data());
  return loadDouble(type, bytes.data());
}

double tandem::largestFinite(DType type) {
  if (const SmallFloat *format = smallFloat(type))
    return decode(*format, format->maxFiniteCode);
  assert(isFloat(type) && "only floats have a largest finite value");
  return type == DType::F32 ? std::numeric_limits<float>::max()
                            : std::numeric_limits<double>::max();
}

double tandem::smallestSubnormal(DType type) {
  if (const SmallFloat *format = smallFloat(type))
    return decode(*format, 1);
  assert(isFloat(type) && "only floats have subnormals");
  return type == DType::F32 ? std::numeric_limits<float>::denorm_min()
                            : std::numeric_limits<double>::denorm_min();
}

double tandem::nextUp(DType type, double value) {
  assert(isFloat(type) && "only floats have neighbours");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(value) || value == infinity)
    return value;
  if (value == -infinity)
    return -largestFinite(type);
  if (type == DType::F64)
    return std::nextafter(value, infinity);
  if (type == DType::F32)
    return std::nextafterf(static_cast<float>(value),
                           std::numeric_limits<float>::infinity());
  const SmallFloat &format = *smallFloat(type);
  if (value == 0)
    return decode(format, 1);
  const uint32_t code = encode(format, value);
  if (value < 0)
    return decode(format, code - 1);
  // Without an infinity the code after the largest finite value is NaN.
  return code == format.maxFiniteCode && !format.hasInfinity
             ? value
             : decode(format, code + 1);
}

double tandem::nextDown(DType type, double value) {
  return -nextUp(type, -value);
}

void tandem::convertElement(DType from, const void *source, DType to,
                            void *target) {
  if (from == to)
    std::memmove(target, source, dtypeSize(from));
  else if (isFloat(from))
    storeDouble(to, loadDouble(from, source), target);
  else
    storeInteger(to, loadInteger(from, source), target);
}
