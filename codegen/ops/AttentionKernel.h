//===- AttentionKernel.h - Where a CTA of attention stands ------*- C++ -*-===//
//
// What both ways to compute attention share: which sequence, key/value head,
// query heads and positions a CTA has, and where its operands lie.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_OPS_ATTENTIONKERNEL_H
#define TANDEM_CODEGEN_OPS_ATTENTIONKERNEL_H

#include "codegen/ops/HeadKernel.h"

#include <limits>

namespace tandem::codegen {

class AttentionKernel : protected HeadKernel {
protected:
  static constexpr double minusInf = -std::numeric_limits<double>::infinity();

  explicit AttentionKernel(RowBuilder &k);

  /// The number of a dim that follows the batch.
  int dim(int number) const { return number + isBatched; }
  mlir::Value offset(const ScheduledOperand &operand, int headDim,
                     mlir::Value head);
  void place();
  /// Start, length and whether the window lies in the cache.
  void findWindow();
  /// The positions of this CTA: whole rounds, as many for each part that has
  /// any, so that how a window is cut depends on its length alone.
  std::pair<mlir::Value, mlir::Value> positionsOfPart(int64_t round);
  /// Where the new row of this head starts: [kvh, D], [B, kvh, D] or
  /// [B, kvh * D].
  mlir::Value newOffset(const ScheduledOperand &fresh);
  /// Whether this CTA has the new row, and whether it writes it to the cache.
  std::pair<mlir::Value, mlir::Value> hasNewRow();
  /// Writes it, in the cache's type, where \p mask holds.
  void append(const ScheduledOperand &fresh, const ScheduledOperand &cache,
              mlir::Value mask);
  Tile cast(const ScheduledOperand &fresh, const ScheduledOperand &cache,
            Tile raw) {
    return k.convert(fresh.desc.dtype, cache.desc.dtype, raw);
  }

  const bool isStep;
  const ScheduledOperand &q, &keys, &values;
  const ScheduledOperand *out;
  /// What each part of the window has seen, where parts are different CTAs.
  const ScheduledOperand *partials;
  const int splits;
  const bool isBatched, isPartial;
  const int numHeads;
  const DType valueType;
  mlir::Value columns, zero;
  double scale = 1;
  mlir::Value batch, kvHead, headTile, groupSize, part;
  mlir::Value position, start, length, isGood;
};

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_ATTENTIONKERNEL_H
