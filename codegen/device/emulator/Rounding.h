//===- Rounding.h - Exact rounding of floats --------------------*- C++ -*-===//
//
// Directed rounding without touching the processor's mode: an operation is done
// in double and its last bit made sticky ("rounded to odd": an inexact result
// never has an even significand), so that one more rounding, in any direction,
// to a format of at most 51 bits is the rounding of the exact result.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ROUNDING_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ROUNDING_H

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace tandem::emulator {

enum class Round : uint8_t { Nearest, Zero, Down, Up, NearestAway };

inline Round roundNamed(std::string_view name) {
  return name.starts_with(".rz")   ? Round::Zero
         : name.starts_with(".rm") ? Round::Down
         : name.starts_with(".rp") ? Round::Up
         : name == ".rna"          ? Round::NearestAway
                                   : Round::Nearest;
}

inline uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t bitsOf(double value) { return std::bit_cast<uint64_t>(value); }
inline float floatOf(uint32_t bits) { return std::bit_cast<float>(bits); }
inline double doubleOf(uint64_t bits) { return std::bit_cast<double>(bits); }

// What the hardware writes for every NaN result.
inline constexpr uint32_t nanBits32 = 0x7fffffff;
inline constexpr uint64_t nanBits64 = 0x7ff8000000000000;
inline constexpr uint16_t nanBits16 = 0x7fff;

inline float canonical(float value) {
  return value != value ? floatOf(nanBits32) : value;
}
inline double canonical(double value) {
  return value != value ? doubleOf(nanBits64) : value;
}
/// Subnormals become zero of their sign.
/// The NaN of f64 arithmetic: the last operand that is one, made quiet, or a
/// negative one without payload. (f32 and half precision have one NaN.)
template <typename... T>
double nanOf(T... operands) {
  uint64_t bits = 0xfff8000000000000;
  ((bits = operands != operands ? bitsOf(operands) | uint64_t(1) << 51 : bits),
   ...);
  return doubleOf(bits);
}
inline float flush(float value) {
  uint32_t bits = bitsOf(value);
  return floatOf((bits & 0x7f800000) ? bits : bits & 0x80000000);
}
/// To [0, 1]; NaN becomes +0.
inline float saturate(float value) {
  return value > 0 ? (value < 1 ? value : 1.0f) : 0.0f;
}
inline double saturate(double value) {
  return value > 0 ? (value < 1 ? value : 1.0) : 0.0;
}

/// \p rounded is nearest to an exact value that lies \p error away from it.
inline double makeOdd(double rounded, double error) {
  uint64_t bits = bitsOf(rounded);
  if (error == 0 || error != error || (bits & 1) || rounded == 0 ||
      !std::isfinite(rounded))
    return rounded;
  return doubleOf((error > 0) == (rounded > 0) ? bits + 1 : bits - 1);
}

/// a + b, rounded to odd.
inline double addOdd(double a, double b) {
  double sum = a + b;
  double bPart = sum - a;
  double error = (a - (sum - bPart)) + (b - bPart);
  return std::isfinite(sum) ? makeOdd(sum, error) : sum;
}
/// a / b and sqrt(a), rounded to odd; operands come from float.
inline double divideOdd(double a, double b) {
  double quotient = a / b;
  if (!std::isfinite(quotient) || quotient == 0)
    return quotient;
  double remainder = -__builtin_fma(quotient, b, -a);
  return makeOdd(quotient, b > 0 ? remainder : -remainder);
}
inline double sqrtOdd(double a) {
  double root = std::sqrt(a);
  if (!std::isfinite(root) || root == 0)
    return root;
  return makeOdd(root, -__builtin_fma(root, root, -a));
}

/// Rounds a value (exact, or rounded to odd) to float.
inline float toFloat(double value, Round mode) {
  auto nearest = static_cast<float>(value);
  if (mode == Round::Nearest || nearest != nearest ||
      static_cast<double>(nearest) == value || std::isinf(value))
    return nearest;
  bool isAbove = static_cast<double>(nearest) > value;
  bool down = mode == Round::Down || (mode == Round::Zero && value > 0);
  if (mode == Round::NearestAway) {
    // A tie went to even: it has to go away from zero.
    double away = value > 0 ? std::nextafterf(nearest, INFINITY)
                            : std::nextafterf(nearest, -INFINITY);
    bool isTie = std::fabs(away - value) ==
                 std::fabs(static_cast<double>(nearest) - value);
    return isTie ? static_cast<float>(away) : nearest;
  }
  if (down)
    return isAbove ? std::nextafterf(nearest, -INFINITY) : nearest;
  return isAbove ? nearest : std::nextafterf(nearest, INFINITY);
}

/// Rounds a value (exact, or rounded to odd) to a format with \p exponentBits
/// and \p fractionBits, as bits without special NaN handling: NaN gives all
/// ones below the sign. Overflow gives infinity, or the largest value where the
/// mode says so.
inline uint32_t encodeFloat(double value, unsigned exponentBits,
                            unsigned fractionBits, Round mode) {
  uint64_t bits = bitsOf(value);
  uint32_t sign = static_cast<uint32_t>(bits >> 63)
                  << (exponentBits + fractionBits);
  uint32_t infinity = ((1u << exponentBits) - 1) << fractionBits;
  if (value != value)
    return (1u << (exponentBits + fractionBits)) - 1;
  if (value == 0)
    return sign;
  if (std::isinf(value))
    return sign | infinity;
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  uint64_t significand = bits & ((uint64_t(1) << 52) - 1);
  if (exponent == -1023)
    exponent = -1022;
  else
    significand |= uint64_t(1) << 52;
  int least = 1 - bias;
  int drop =
      52 - static_cast<int>(fractionBits) + std::max(0, least - exponent);
  uint64_t kept = drop > 63 ? 0 : significand >> drop;
  uint64_t rest = drop > 63 ? 1 : significand & ((uint64_t(1) << drop) - 1);
  uint64_t half = drop > 63 ? 2 : uint64_t(1) << (drop - 1);
  bool up = false;
  switch (mode) {
  case Round::Nearest:
    up = rest > half || (rest == half && (kept & 1));
    break;
  case Round::NearestAway:
    up = rest >= half;
    break;
  case Round::Zero:
    break;
  case Round::Down:
    up = sign && rest;
    break;
  case Round::Up:
    up = !sign && rest;
    break;
  }
  // The carry out of the fraction raises the exponent by itself.
  uint64_t result = kept + up;
  if (exponent >= least)
    result += static_cast<uint64_t>(exponent - least) << fractionBits;
  if (result >= infinity)
    result = mode == Round::Zero || (mode == Round::Down && !sign) ||
                     (mode == Round::Up && sign)
                 ? infinity - 1
                 : infinity;
  return sign | static_cast<uint32_t>(result);
}

// Half precision ------------------------------------------------------------

inline float halfToFloat(uint16_t half) {
  uint32_t magnitude = half & 0x7fffu;
  // 2^112 moves the exponent to float's bias, subnormals included.
  float value = floatOf(magnitude << 13) * floatOf(0x77800000);
  uint32_t bits =
      magnitude >= 0x7c00 ? 0x7f800000 | magnitude << 13 : bitsOf(value);
  return floatOf(bits | uint32_t(half & 0x8000) << 16);
}
inline float bfloatToFloat(uint16_t bits) {
  return floatOf(uint32_t(bits) << 16);
}
inline uint16_t floatToBfloat(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
  return value != value ? nanBits16 : static_cast<uint16_t>(rounded >> 16);
}
inline uint16_t toHalf(double value, Round mode = Round::Nearest) {
  return value != value
             ? nanBits16
             : static_cast<uint16_t>(encodeFloat(value, 5, 10, mode));
}
inline uint16_t toBfloat(double value, Round mode = Round::Nearest) {
  return value != value ? nanBits16
                        : static_cast<uint16_t>(encodeFloat(value, 8, 7, mode));
}
/// To nearest even; vectorises.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  // Normal results: rebias and round in integers. Subnormal ones: adding a
  // float of the right exponent rounds at the right bit.
  uint32_t normal =
      (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  uint32_t tiny = bitsOf(floatOf(magnitude) + 0.5f) - 0x3f000000;
  uint32_t result = magnitude < 0x38800000 ? tiny : normal;
  result = magnitude >= 0x47800000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? 0x7fff : result;
  sign = magnitude > 0x7f800000 ? 0 : sign;
  return static_cast<uint16_t>(result | sign);
}

// Eight bits ----------------------------------------------------------------

/// e4m3 has no infinity and one NaN, 0x7f. satfinite: beyond the largest finite
/// value, 448, it stays there.
inline uint8_t toE4m3(double value) {
  if (value != value)
    return 0x7f;
  auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  double magnitude = std::fabs(value);
  if (magnitude >= 448)
    return sign | 0x7e;
  if (magnitude < 0x1p-6)
    return sign | static_cast<uint8_t>(std::nearbyint(magnitude * 0x1p9));
  // With one exponent bit more the top code is an ordinary one; 2^8 moves
  // bias 7 to bias 15.
  uint32_t code = encodeFloat(magnitude, 5, 3, Round::Nearest) - (8u << 3);
  return sign | static_cast<uint8_t>(std::min(code, 0x7eu));
}
inline uint8_t toE5m2(double value) {
  if (value != value)
    return 0x7f;
  auto code = static_cast<uint8_t>(encodeFloat(value, 5, 2, Round::Nearest));
  return (code & 0x7f) >= 0x7c ? static_cast<uint8_t>((code & 0x80) | 0x7b)
                               : code;
}
inline float e4m3ToFloat(uint8_t code) {
  int exponent = code >> 3 & 15;
  int fraction = code & 7;
  if ((code & 0x7f) == 0x7f)
    return floatOf(nanBits32);
  float magnitude = exponent ? std::ldexp(8.0f + fraction, exponent - 10)
                             : std::ldexp(static_cast<float>(fraction), -9);
  return code & 0x80 ? -magnitude : magnitude;
}
inline float e5m2ToFloat(uint8_t code) {
  return halfToFloat(static_cast<uint16_t>(code << 8));
}

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ROUNDING_H
