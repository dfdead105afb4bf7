//===- rope.cpp - Lowering of insn.rope -----------------------------------===//
#include "codegen/ops/Math.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

namespace {
/// Column j turns with column j + half, or j - half: both halves of a pair are
/// computed where they are written.
class Rope {
public:
  Rope(RowBuilder &k)
      : k(k), b(k.ops()), x(k.operandOf(0, Usage::Space)),
        positions(k.operandOf(1, Usage::Positions)),
        frequencies(k.operandOf(2, Usage::Frequencies)),
        columns(k.spaceColumns()) {}

  void emit() {
    // An even number: the default is all of D.
    const bool turnsAll = !k.params().has("rotary_dim");
    Value turned = turnsAll
                       ? k.scalar(k.plan().colEnd)
                       : k.scalarConstant(k.params().getInt("rotary_dim", 0));
    Value half = arith::DivUIOp::create(b, turned, k.scalarConstant(2));
    Value inLow = below(half), turns = below(turned);
    Value minus = arith::SubIOp::create(b, columns.value, splat(half));
    Value zero = splat(k.scalarConstant(0));
    Value pair = arith::AddIOp::create(b, columns.value, splat(half));
    Value partner = select(inLow, pair, select(turns, minus, columns.value));
    // Beyond the end an offset must still lie in the operand.
    partner = select(below(k.colEnd), partner, zero);
    Value frequency = select(inLow, columns.value, select(turns, minus, zero));

    auto [sin, cos] = sinCos(position() * gathered(frequencies, frequency));
    Tile turnedBy = k.select({inLow, &k}, -sin, sin);
    Tile own = k.input32(0);
    Tile y = fma(gatheredRows(partner), turnedBy, own * cos);
    k.result(turnsAll ? y : k.select({turns, &k}, y, own));
  }

private:
  Value splat(Value scalar) {
    return tile::SplatOp::create(b, columns.type(), scalar);
  }
  Value below(Value end) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, columns.value,
                                 splat(end));
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }

  /// f32(position) of each row, or of all: then one angle serves all heads that
  /// a thread holds.
  Tile position() {
    const bool isShared = k.plan().sharesOuterRuns;
    const bool hasRows = positions.variesByRow() && !isShared;
    RankedTensorType type =
        k.typeOf(k.elementType(positions.desc.dtype), hasRows, false);
    Value raw = k.loadTile(positions, k.pointer(positions), type,
                           isShared ? k.firstRowOffset(positions)
                                    : k.rowOffsets(positions),
                           hasRows ? k.maskOfRows() : Value(),
                           k.scalarConstant(0), k.scalarConstant(1), "1", 1);
    return k.convert(positions.desc.dtype, DType::F32, {raw, &k});
  }

  Tile gathered(const ScheduledOperand &table, Value index) {
    RankedTensorType type = k.typeOf(b.getF32Type(), false, true);
    Value offset =
        arith::MulIOp::create(b, index, splat(k.scalar(table.stride(0))));
    return {tile::GatherOp::create(b, type, k.pointer(table), offset, Value()),
            &k};
  }

  /// Columns \p index of x, widened.
  Tile gatheredRows(Value index) {
    Tile offsets = {index, &k};
    if (x.colStride != "1")
      offsets.value =
          arith::MulIOp::create(b, index, splat(k.scalar(x.colStride)));
    Value mask;
    if (Value rows = k.rowOffsets(x)) {
      Tile all = {rows, &k};
      k.unify(offsets, all);
      offsets.value = arith::AddIOp::create(b, offsets.value, all.value);
      mask = k.maskOfRows();
    }
    auto type = cast<RankedTensorType>(
        offsets.type().clone(k.elementType(x.desc.dtype)));
    Value raw = tile::GatherOp::create(b, type, k.pointer(x), offsets.value,
                                       mask, x.partnerVector);
    return k.convert(x.desc.dtype, DType::F32, {raw, &k});
  }

  RowBuilder &k;
  ImplicitLocOpBuilder &b;
  const ScheduledOperand &x, &positions, &frequencies;
  Tile columns;
};
} // namespace

static void emit(RowBuilder &k) {
  // Nothing turns: a copy, and there are no frequencies.
  if (k.params().getInt("rotary_dim", 1) == 0)
    return k.resultRaw(
        k.convert(k.inputType(0), k.resultType(), k.inputRaw(0)));
  Rope(k).emit();
}

OpLowering codegen::lowering_rope() { return {emit}; }
