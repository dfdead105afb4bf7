//===- attention_combine.cpp - Lowering of insn.attention_combine ---------===//
#include "codegen/ops/HeadKernel.h"
#include "codegen/ops/Math.h"

#include <bit>
#include <limits>

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

/// A sum of weights below this would be no sum: without any shard the result is
/// 0 / leastSum.
static constexpr double leastSum = 1e-20;

namespace {
/// One shard's columns beyond D, and which rows are read.
struct Shard {
  const ScheduledOperand *operand;
  Tile sum, isUsed, max;
};
} // namespace

/// Column D + \p number of each row where \p mask holds.
static Tile loadColumn(RowBuilder &k, const ScheduledOperand &operand,
                       int number, Value mask) {
  int last = static_cast<int>(operand.desc.rank()) - 1;
  Value at = k.scalar(operand.shape(last) + " - " + std::to_string(2 - number));
  Value end = arith::AddIOp::create(k.ops(), at, k.scalarConstant(1));
  RankedTensorType type = k.typeOf(k.ops().getF32Type(), true, false);
  return {k.loadTile(operand, k.pointer(operand), type, k.rowOffsets(operand),
                     mask, at, end, operand.colStride, 1),
          &k};
}

static Tile sumOf(std::vector<Tile> terms) {
  while (terms.size() > 1) {
    std::vector<Tile> next;
    for (size_t i = 0; i + 1 < terms.size(); i += 2)
      next.push_back(terms[i] + terms[i + 1]);
    if (terms.size() % 2)
      next.push_back(terms.back());
    terms = std::move(next);
  }
  return terms.front();
}

static void emit(RowBuilder &k) {
  ImplicitLocOpBuilder &b = k.ops();
  std::vector<Shard> shards;
  Tile max;
  for (size_t i = 0; i < k.numInputs(); ++i) {
    Shard shard{&k.operandOf(i, Usage::Partial), {}, {}, {}};
    shard.sum = loadColumn(k, *shard.operand, 1, k.liveRows());
    Tile zero = k.like(shard.sum, 0);
    shard.isUsed = {arith::CmpFOp::create(b, arith::CmpFPredicate::UGT,
                                          shard.sum.value, zero.value),
                    &k};
    Value isRead = arith::AndIOp::create(b, shard.isUsed.value, k.liveRows());
    shard.max = loadColumn(k, *shard.operand, 0, isRead);
    Tile none = k.like(shard.max, -std::numeric_limits<double>::infinity());
    Tile own = k.select(less(zero, shard.sum), shard.max, none);
    max = i ? maximum(max, own) : own;
    shards.push_back(shard);
  }
  std::vector<Tile> sums, parts;
  for (const Shard &shard : shards) {
    Tile weight = k.select(shard.isUsed, exp(shard.max - max), k.like(max, 0));
    Tile own = k.select(shard.isUsed, shard.sum, k.like(max, 0));
    sums.push_back(own * weight);
    const ScheduledOperand &operand = *shard.operand;
    Value isRead = arith::AndIOp::create(b, shard.isUsed.value, k.liveRows());
    Tile part = {k.loadTile(operand, k.pointer(operand),
                            k.typeOf(b.getF32Type(), true, true),
                            k.rowOffsets(operand), isRead, k.colStart, k.colEnd,
                            operand.colStride, operand.vector),
                 &k};
    parts.push_back(part * weight);
  }
  // The product, then a tree of neighbours.
  k.contract().depth = std::to_string(std::bit_width(shards.size() - 1) + 1);
  k.contract().order =
      "a balanced tree of " + std::to_string(shards.size()) + " shards";
  Tile sum = sumOf(std::move(sums));
  k.result(sumOf(std::move(parts)) / maximum(sum, k.like(sum, leastSum)));
}

OpLowering codegen::lowering_attention_combine() { return {emit}; }
