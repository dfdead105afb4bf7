//===- DType.h - Element types and their exact conversions ------*- C++ -*-===//
//
// The numbers that the instruction set computes with, as bit patterns. Floats
// of 8 and 16 bits are read exactly into double and written with one rounding
// to nearest-even. The codes are frozen: recipes, plans and caches store them.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_DTYPE_H
#define TANDEM_REFOPS_CORE_DTYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

enum class DType : uint8_t {
  F32 = 0,
  F16 = 1,
  BF16 = 2,
  F8E4M3 = 3,
  F8E5M2 = 4,
  I32 = 5,
  I8 = 6,
  I4 = 7,  // only as the `qdtype` of packed weights; never a tensor's type
  F64 = 8, // references only
  I64 = 9,
  U8 = 10,
};

/// The recipe name: float32, float16, bfloat16, float8_e4m3fn, float8_e5m2,
/// float64, int8, int32, int64, uint8, int4.
std::string_view dtypeName(DType type);

/// The type with that recipe name, or nothing.
std::optional<DType> dtypeNamed(std::string_view name);

/// Bytes of one element. I4 has none of its own: asserts.
size_t dtypeSize(DType type);

bool isFloat(DType type);
bool isInteger(DType type);

/// Widens the element at \p bytes exactly to double (I64 beyond 2^53: to the
/// nearest double; use loadInteger for those).
double loadDouble(DType type, const void *bytes);

/// Reads an integer element exactly. Asserts on a float type.
int64_t loadInteger(DType type, const void *bytes);

/// Writes \p value as an element: floats are rounded once to nearest-even
/// (float8 saturates, NaN stays NaN), integers truncate, saturate and turn NaN
/// into 0 (SEMANTICS, "Conventions").
void storeDouble(DType type, double value, void *bytes);

/// Writes an integer to an element of any type: saturating for integers, one
/// rounding to nearest-even for floats.
void storeInteger(DType type, int64_t value, void *bytes);

/// Rounds \p value once to \p type and widens it again.
double roundTo(DType type, double value);

/// The largest finite value of a float type; the spacing of its subnormals.
double largestFinite(DType type);
double smallestSubnormal(DType type);

/// The values next to a representable \p value of a float type; from the
/// largest finite value up it is +inf (for float8_e4m3fn: stays).
double nextUp(DType type, double value);
double nextDown(DType type, double value);

/// Converts one element as COPY does: equal types keep every bit; int to float
/// and float to int as storeDouble/storeInteger.
void convertElement(DType from, const void *source, DType to, void *target);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_DTYPE_H
