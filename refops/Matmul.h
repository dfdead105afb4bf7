//===- Matmul.h - The product that GEMM_TILE and GEMV_TILE share -*- C++
//-*-===//
#ifndef TANDEM_REFOPS_MATMUL_H
#define TANDEM_REFOPS_MATMUL_H

#include "refops/RefOp.h"

namespace tandem::refops {

/// out[.., n] = sum_k x[.., k] * W[n, k] (+ bias[n]) for the window of output
/// columns that the call's params name; W may be quantised.
Result<void> matmul(OpCall<double> &call, const char *defaultLayout);
Result<void> matmul(OpCall<Bounded> &call, const char *defaultLayout);

/// The reference of GEMM_TILE and GEMV_TILE.
template <typename T>
Result<void> matmulTile(OpCall<T> &call) {
  return matmul(call, "nk");
}

} // namespace tandem::refops

#endif // TANDEM_REFOPS_MATMUL_H
