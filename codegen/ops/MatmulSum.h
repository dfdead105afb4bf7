//===- MatmulSum.h - The loops over k of a product --------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_OPS_MATMULSUM_H
#define TANDEM_CODEGEN_OPS_MATMULSUM_H

#include "codegen/ops/RowBuilder.h"

namespace tandem::codegen {

/// Columns of x whose squares a tile adds at a time in front of a matmul.
inline constexpr int64_t normDepth = 64;

/// The f32 sums of the kernel's tile; each says nothing in the contract.
mlir::Value sumOnTensorCores(RowBuilder &k);
mlir::Value sumByFma(RowBuilder &k);
mlir::Value sumOfGemv(RowBuilder &k);
/// Whether a gemv sums x times q - zero and multiplies the sums by scales, not
/// each weight.
bool scalesSumsOfGemv(const RowBuilder &k);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_MATMULSUM_H
