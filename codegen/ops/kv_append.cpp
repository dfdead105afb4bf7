//===- kv_append.cpp - Lowering of insn.kv_append -------------------------===//
#include "codegen/ops/RowBuilder.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

/// The slot that `pos` names for each row: one number, or one a sequence.
static Value positionOf(RowBuilder &k, Value row) {
  ImplicitLocOpBuilder &b = k.ops();
  std::optional<size_t> arg = k.params().operandOf("pos");
  if (!arg)
    return tile::SplatOp::create(b, row.getType(), k.param("pos", Value()));
  const ScheduledOperand &pos = k.operandOf(*arg, Usage::Param);
  if (pos.desc.rank() == 0)
    return tile::SplatOp::create(b, row.getType(), k.param("pos", Value()));
  Value step = tile::SplatOp::create(
      b, row.getType(),
      k.scalar("(" + pos.shape(0) + " > 1) * " + pos.stride(0)));
  Value offset = arith::MulIOp::create(b, row, step);
  RankedTensorType type = k.typeOf(b.getI32Type(), true, false);
  Value raw = k.loadTile(pos, k.pointer(pos), type, offset, k.liveRows(),
                         k.scalarConstant(0), k.scalarConstant(1), "1", 1);
  return arith::ExtSIOp::create(b, row.getType(), raw);
}

/// Rows whose slot lies outside of the cache are reported and not written.
static void emit(RowBuilder &k) {
  ImplicitLocOpBuilder &b = k.ops();
  const ScheduledOperand &cache = k.operandOf(1, Usage::Cache);
  const bool isBatched = cache.desc.rank() == 4;
  Value row = k.indexAlong(0);
  auto splat = [&](const std::string &expression) -> Value {
    return tile::SplatOp::create(b, row.getType(), k.scalar(expression));
  };
  // A batched cache has one slot a sequence; else rows follow one another.
  Value first = positionOf(k, row);
  Value slot = isBatched ? first : Value(arith::AddIOp::create(b, first, row));
  Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, slot,
                                         splat(cache.shape(isBatched ? 1 : 0)));
  Value live = k.liveRows();
  Value isGood = arith::AndIOp::create(b, live, isInside);
  k.reportRows(arith::XOrIOp::create(b, live, isGood), row);
  Value offset =
      arith::MulIOp::create(b, first, splat(cache.stride(isBatched ? 1 : 0)));
  k.storeAt(cache, k.convert(k.inputType(0), cache.desc.dtype, k.inputRaw(0)),
            offset, isGood);
}

OpLowering codegen::lowering_kv_append() { return {emit}; }
