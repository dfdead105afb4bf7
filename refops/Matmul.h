//===- Matmul.h - The product that GEMM_TILE and GEMV_TILE share -*- C++
//-*-===//
#ifndef TANDEM_REFOPS_MATMUL_H
#define TANDEM_REFOPS_MATMUL_H

#include "refops/RefOp.h"

namespace tandem::refops {

/// out[.., n] = sum_k x[.., k] * W[n, k] (+ bias[n]) for the window of output
/// columns that the call's params name.
Result<void> matmul(OpCall<double> &call);
Result<void> matmul(OpCall<Bounded> &call);

} // namespace tandem::refops

#endif // TANDEM_REFOPS_MATMUL_H
