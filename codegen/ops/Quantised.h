//===- Quantised.h - Weights in int8 and packed int4 ------------*- C++ -*-===//
//
// What dequant and the quantised matrix products share: integers of a tile of
// W, scales and zero-points of their groups (SEMANTICS, "Weight-only
// quantisation"). Rows of the tile are rows of W, columns are k.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_OPS_QUANTISED_H
#define TANDEM_CODEGEN_OPS_QUANTISED_H

#include "codegen/ops/RowBuilder.h"

namespace tandem::codegen {

class QuantisedWeights {
public:
  /// Operand \p first of the current step holds q, the next ones scales and
  /// zeros.
  QuantisedWeights(RowBuilder &k, size_t first);

  /// Offsets of a tile's rows in each operand, and which rows exist (null: all
  /// do).
  struct Rows {
    mlir::Value q, scales, zeros, live;
  };
  /// Row \p numbers (Rx1) of W in a matrix product.
  Rows rowsFrom(mlir::Value numbers, mlir::Value live);
  /// The rows of a row-wise kernel.
  Rows spaceRows();

  /// (q - zero) * scale of columns [at, at + C) in f32, and 0 beyond \p end;
  /// \p isOdd rounds to odd, so that another rounding rounds the exact product.
  Tile weights(const tile::LinearLayout &layout, const Rows &rows,
               mlir::Value at, mlir::Value end, bool isOdd = false);
  /// q - zero of columns [at, at + C) in f32; garbage beyond \p end.
  Tile integersLessZeros(const tile::LinearLayout &layout, const Rows &rows,
                         mlir::Value at, mlir::Value end);
  /// Whether every \p count columns that start at a multiple share a scale.
  bool sharesScale(int64_t count) const { return group % count == 0; }
  /// Scales in f32, one for every \p count columns from \p at: the layout's
  /// columns stand for so many.
  Tile scalesOfRuns(const tile::LinearLayout &layout, const Rows &rows,
                    mlir::Value at, int64_t count);
  /// The scale of each row where one serves it whole.
  Tile rowScales(const tile::LinearLayout &rows, const Rows &offsets);
  /// q - zero of columns that lie in group \p group, exactly, in f32; garbage
  /// beyond \p end.
  Tile integersOfGroup(const tile::LinearLayout &layout, const Rows &rows,
                       mlir::Value at, mlir::Value end, mlir::Value group);
  /// Scales of group \p group for the kernel's columns, as f32 (1xC).
  Tile columnScales(mlir::Value group);

  /// Columns that share a scale; 0 where one scale serves a whole row.
  int64_t groupSize() const { return group; }
  /// The number of the group that column \p at lies in.
  mlir::Value groupOf(mlir::Value at);
  /// Makes the scalars that the methods need arguments of the kernel.
  void noteScalars();

private:
  Tile integers(const tile::LinearLayout &layout, const Rows &rows,
                mlir::Value at, mlir::Value end);
  Tile perGroup(const ScheduledOperand &operand,
                const tile::LinearLayout &layout, mlir::Value rowOffsets,
                mlir::Value live, mlir::Value at, int64_t count = 1);
  Tile perRow(const ScheduledOperand &operand, const tile::LinearLayout &layout,
              mlir::Value rowOffsets, mlir::Value live, mlir::Value group);
  mlir::Value offsets(const ScheduledOperand &operand, mlir::Value numbers);
  Tile spread(Tile value, const tile::LinearLayout &layout);
  Tile widened(const ScheduledOperand &operand, mlir::Value raw);

  RowBuilder &k;
  mlir::ImplicitLocOpBuilder &b;
  const ScheduledOperand &q, &scales;
  const ScheduledOperand *zeros = nullptr;
  bool isPacked;
  int64_t group;
};

/// The usage of q by the current step's kernel.
Usage usageOfQuantised(const Step &step, DType q);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_QUANTISED_H
