//===- HeadKernel.h - Kernels that address heads themselves -----*- C++ -*-===//
//
// Attention and the recurrence do not lie in one row space: a CTA has one
// sequence and one head, and each operand is addressed by its own dims. The
// tile is the schedule's, tileRows x tileCols; operators broadcast as in every
// lowering.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_OPS_HEADKERNEL_H
#define TANDEM_CODEGEN_OPS_HEADKERNEL_H

#include "codegen/ops/RowBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tandem::codegen {

class HeadKernel {
public:
  explicit HeadKernel(RowBuilder &k) : k(k), b(k.ops()) {}

protected:
  /// Scalars of all threads.
  mlir::Value constant(int64_t value) { return k.scalarConstant(value); }
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value subtract(mlir::Value x, mlir::Value y);
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value divide(mlir::Value x, mlir::Value y);
  mlir::Value remainder(mlir::Value x, mlir::Value y);
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                      mlir::Value y);
  /// index * stride of the operand's dim.
  mlir::Value step(const ScheduledOperand &operand, int dim, mlir::Value index);

  /// A scalar in each element of a 1x1 or Rx1 tile.
  Tile splat(mlir::Value scalar, bool hasRows = false);
  /// Numbers of the tile's rows, Rx1.
  Tile rowNumbers();
  /// The operand's columns [start, end): one row at \p offset (i64 scalar), or
  /// each row of the tile at offsets Rx1. Rows where \p mask (i1, of the same
  /// shape, null for all) is false are 0 and not read.
  Tile load(const ScheduledOperand &operand, Tile offsets, mlir::Value mask,
            mlir::Value start, mlir::Value end);
  /// One element a row, the one at its offset.
  Tile loadElement(const ScheduledOperand &operand, Tile offsets,
                   mlir::Value mask);
  void store(Tile value, const ScheduledOperand &operand, Tile offsets,
             mlir::Value mask, mlir::Value start, mlir::Value end);
  Tile widen(const ScheduledOperand &operand, Tile raw) {
    return k.convert(operand.desc.dtype, DType::F32, raw);
  }

  /// Along the columns: RxC to Rx1.
  Tile sumColumns(Tile value);
  /// Along the rows: RxC to 1xC, Rx1 to 1x1.
  Tile sumRows(Tile value) { return alongRows(tile::ReduceKind::Sum, value); }
  Tile maxRows(Tile value) { return alongRows(tile::ReduceKind::Max, value); }

  RowBuilder &k;
  mlir::ImplicitLocOpBuilder &b;

private:
  Tile alongRows(tile::ReduceKind kind, Tile value);
};

/// The larger, NaN if either is NaN.
Tile maximum(Tile x, Tile y);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_HEADKERNEL_H
