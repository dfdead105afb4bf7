//===- Element.h - Numbers of the tile evaluator, as bits -------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_EVALUATE_ELEMENT_H
#define TANDEM_CODEGEN_EVALUATE_ELEMENT_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tandem::evaluate {

/// Element types that tile code computes with.
enum class Kind : uint8_t {
  I1,
  I8,
  I16,
  I32,
  I64, // index and pointers too
  F16,
  BF16,
  F32,
  F64,
  E4M3,
  E5M2
};

int bitsOf(Kind kind);
inline int bytesOf(Kind kind) {
  return kind == Kind::I1 ? 1 : bitsOf(kind) / 8;
}
bool isFloat(Kind kind);

/// A tile, dense and row-major, or a scalar (1x1). Elements are bit patterns in
/// the low bits, zero above.
struct Tile {
  Kind kind = Kind::I64;
  int64_t rows = 1, cols = 1;
  std::vector<uint64_t> bits;

  Tile() = default;
  Tile(Kind kind, int64_t rows, int64_t cols)
      : kind(kind), rows(rows), cols(cols), bits(size_t(rows * cols)) {}
  static Tile scalar(Kind kind, uint64_t bits) {
    Tile tile(kind, 1, 1);
    tile.bits[0] = bits;
    return tile;
  }
  uint64_t &at(int64_t row, int64_t col) { return bits[row * cols + col]; }
  uint64_t at(int64_t row, int64_t col) const { return bits[row * cols + col]; }
  int64_t scalarValue() const { return int64_t(bits[0]); }
};

inline float asF32(uint64_t bits) {
  return std::bit_cast<float>(uint32_t(bits));
}
/// NaNs become the one that the hardware's arithmetic returns.
inline uint64_t fromF32(float value) {
  return std::isnan(value) ? 0x7fffffffu : std::bit_cast<uint32_t>(value);
}
inline double asF64(uint64_t bits) { return std::bit_cast<double>(bits); }
inline uint64_t fromF64(double value) {
  return std::isnan(value) ? 0x7fffffffffffffffu
                           : std::bit_cast<uint64_t>(value);
}
/// Sign-extends an integer element.
int64_t asSigned(Kind kind, uint64_t bits);
/// Keeps the kind's low bits.
uint64_t truncated(Kind kind, uint64_t bits);

/// A float element, exactly.
double toDouble(Kind kind, uint64_t bits);
/// Rounds once to nearest-even; float8 saturates.
uint64_t roundedTo(Kind kind, double value);
/// An integer element to a float kind, rounded once.
uint64_t intToFloat(Kind to, uint64_t bits, Kind from, bool isUnsigned);
/// Truncates and saturates; NaN gives 0.
uint64_t floatToInt(Kind to, double value, bool isUnsigned);

} // namespace tandem::evaluate

#endif // TANDEM_CODEGEN_EVALUATE_ELEMENT_H
