//===- NormPrologue.h - An rmsnorm in front of a product --------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_OPS_NORMPROLOGUE_H
#define TANDEM_CODEGEN_OPS_NORMPROLOGUE_H

#include "codegen/ops/RowBuilder.h"

namespace tandem::codegen {

/// The kernel's RMSNORM, whose result a product reads as x. Each CTA computes
/// it for its own rows: their sums of squares in a loop of their own, then
/// column by column where the product loads x.
class NormPrologue {
public:
  NormPrologue(RowBuilder &k);

  /// The norm's result.
  DType type() const { return k.stepAt(step).results[0].dtype; }
  /// The norm's x.
  const ScheduledOperand &source() const { return x; }
  /// Makes the scalars that `apply` needs arguments of the kernel.
  void noteScalars();

  /// rsqrt(mean + eps) of each row from the sum of its \p depth squares (Rx1).
  mlir::Value scaleOf(mlir::Value sum, mlir::Value depth);
  /// Columns [at, at + C) of x, in f32, normalised, in the norm's type.
  Tile apply(Tile columns, mlir::Value scale, mlir::Value at, mlir::Value end);

private:
  RowBuilder &k;
  mlir::ImplicitLocOpBuilder &b;
  int step;
  const ScheduledOperand &x, &w;
};

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_NORMPROLOGUE_H
