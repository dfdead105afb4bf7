//===- TensorCore.h - Dot products as the hardware does them ----*- C++ -*-===//
//
// Measured on an H200 (docs/numerics): one instruction adds all its products
// and the accumulator at once. With E the largest exponent among the products
// (exponent of a + exponent of b, not renormalised) and the accumulator, each
// addend is truncated toward zero to 25 fraction bits relative to 2^E, the sum
// is exact, and the result is truncated toward zero to 23 fraction bits.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_TENSORCORE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_TENSORCORE_H

#include <cstdint>

namespace tandem::emulator {

enum class DotType : uint8_t { F16, BF16 };

/// d = a * b + c for 16 x 8 outputs and \p k (8 or 16) products each.
/// a[row][k], b[k][column], c and d[row][column]; c may be d.
void tensorDot(DotType type, int k, const uint16_t (&a)[16][16],
               const uint16_t (&b)[16][8], const float (&c)[16][8],
               float (&d)[16][8]);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_TENSORCORE_H
