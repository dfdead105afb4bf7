//===- MatmulPipeline.h - A product on asynchronous copies ------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_OPS_MATMULPIPELINE_H
#define TANDEM_CODEGEN_OPS_MATMULPIPELINE_H

#include "codegen/ops/RowBuilder.h"

namespace tandem::codegen {

/// Writes the loop over tiles of a kernel whose schedule is a pipeline: one
/// group of warps copies x and W into a ring, the other multiplies. \p epilogue
/// is called where a tile's sum is known, with the sum, its first row and its
/// first column (i32).
void buildPipeline(
    RowBuilder &k,
    llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> epilogue);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_MATMULPIPELINE_H
