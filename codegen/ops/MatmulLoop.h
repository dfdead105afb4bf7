//===- MatmulLoop.h - The sums of gemm_tile and gemv_tile -------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_OPS_MATMULLOOP_H
#define TANDEM_CODEGEN_OPS_MATMULLOOP_H

#include "codegen/ops/RowBuilder.h"

namespace tandem::codegen {

/// sum_k x[m, k] W[n, k] for the kernel's tile, in f32, by the schedule's
/// means: tensor cores, fma, or (gemv) elementwise fma and one reduction. The
/// contract says which.
Tile matmulSum(RowBuilder &k);
Tile gemvSum(RowBuilder &k);

/// Adds the bias, makes columns outside the step's window 0 where all of them
/// are computed, and gives the step's result.
void finishMatmul(RowBuilder &k, Tile sum);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_MATMULLOOP_H
