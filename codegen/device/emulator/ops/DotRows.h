//===- DotRows.h - Many tensor-core dot products at once --------*- C++ -*-===//
//
// The model of TensorCore.h for operands that are already unpacked: as floats,
// whose products are exact, and exponents. An addend's truncation toward zero
// to F fraction bits below 2^E is then one multiplication by a power of two and
// one conversion to an integer. Rows where that leaves the range of float, or
// where an operand is not finite, take the slow way.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_DOTROWS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_DOTROWS_H

#include <cstdint>
#include <vector>

namespace tandem::emulator {

enum class DotFormat : uint8_t { F16, BF16, TF32, E4M3, E5M2 };

/// Fraction bits of an aligned addend (F) and of a result (R).
struct DotBits {
  int fraction = 25;
  int result = 23;
  bool keepsSticky = false;
};
/// 25 and 23; 13 and 13 for FP8: measured on an H200 (docs/decisions/0003).
DotBits dotBits(DotFormat format);

/// A matrix of operands, rows of \p width: of A, or of B with k as row.
struct DotOperand {
  int rows = 0, width = 0;
  std::vector<float> values;
  std::vector<int16_t> exponents; // of the leading place; dotZero for 0
  std::vector<uint8_t> isSpecial; // by row of A, by column of B: NaN, infinity
  /// Exponents outside [-60, 60] are in it.
  bool isWide = false;

  void reset(int rows, int width);
};
inline constexpr int16_t dotZero = -8000;

/// Stores element (row, column); \p byColumn says what isSpecial counts.
void setDotOperand(DotOperand &to, DotFormat format, int row, int column,
                   uint32_t bits, bool negate, bool byColumn);

/// c[row][n] += a[row][.] . b[.][n], c's rows \p stride apart. With
/// \p keepsSticky what truncation drops shows in the last place, so that
/// dotToHalf rounds the exact sum: results of f16 are never truncated first.
void dotRows(DotFormat format, const DotOperand &a, const DotOperand &b,
             float *c, int stride, bool keepsSticky = false);

/// A result of f16: to nearest, and zero is never negative.
uint16_t dotToHalf(float sum);

/// Exact, modulo 2^32 or saturated.
void dotRowsInteger(const int32_t *a, const int32_t *b, int rows, int k, int n,
                    int32_t *c, int stride, bool saturate);

/// Adds the numbers of ones of a AND b, or of a XOR b; k words each.
void dotRowsBits(const int32_t *a, const int32_t *b, int rows, int k, int n,
                 uint32_t *c, int stride, bool isExclusiveOr);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_DOTROWS_H
