//===- rope.cpp - Lowering of insn.rope -----------------------------------===//
#include "codegen/ops/Math.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

namespace {
/// Column j turns with column j + half, or j - half: both halves of a pair are
/// computed where they are written.
class Rope {
  /// Columns of the tile in some layout, and where each stands.
  struct Columns {
    Tile numbers; // 1xC
    Value inLow, turns;
    Value minus; // the number less half
  };

public:
  Rope(RowBuilder &k)
      : k(k), b(k.ops()), x(k.operandOf(0, Usage::Space)),
        positions(k.operandOf(1, Usage::Positions)),
        frequencies(k.operandOf(2, Usage::Frequencies)),
        turnsAll(!k.params().has("rotary_dim")) {}

  void emit() {
    // An even number: the default is all of D.
    turned = turnsAll ? k.scalar(k.plan().colEnd)
                      : k.scalarConstant(k.params().getInt("rotary_dim", 0));
    half = arith::DivUIOp::create(b, turned, k.scalarConstant(2));
    const Columns columns = columnsIn(k.colLayout);
    Value zero = splat(columns, k.scalarConstant(0));
    Value pair =
        arith::AddIOp::create(b, columns.numbers.value, splat(columns, half));
    Value partner =
        select(columns.inLow, pair,
               select(columns.turns, columns.minus, columns.numbers.value));
    // Beyond the end an offset must still lie in the operand.
    partner = select(below(columns, k.colEnd), partner, zero);

    // On their way while angles are computed.
    (void)k.inputRaw(0);
    Value partners = gatheredRows(partner);
    auto [turnedBy, cos] =
        sharesPosition() ? sharedAngles() : factors(columns, position());
    Tile own = k.input32(0);
    Tile y = fma(k.convert(x.desc.dtype, DType::F32, {partners, &k}), turnedBy,
                 own * cos);
    k.result(turnsAll ? y : k.select({columns.turns, &k}, y, own));
  }

private:
  Columns columnsIn(const tile::LinearLayout &layout) {
    RankedTensorType type = tile::tileType(b.getI64Type(), layout);
    Columns columns;
    columns.numbers = {tile::RangeOp::create(b, type, k.colStart), &k};
    columns.inLow = below(columns, half);
    columns.turns = below(columns, turned);
    columns.minus =
        arith::SubIOp::create(b, columns.numbers.value, splat(columns, half));
    return columns;
  }
  Value splat(const Columns &columns, Value scalar) {
    return tile::SplatOp::create(b, columns.numbers.type(), scalar);
  }
  Value below(const Columns &columns, Value end) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                 columns.numbers.value, splat(columns, end));
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }

  /// What a column's partner and the column itself are multiplied with.
  std::pair<Tile, Tile> factors(const Columns &columns, Tile position) {
    Value zero = splat(columns, k.scalarConstant(0));
    Value frequency = select(columns.inLow, columns.numbers.value,
                             select(columns.turns, columns.minus, zero));
    auto [sin, cos] = sinCos(position * gathered(frequencies, frequency));
    return {k.select({columns.inLow, &k}, -sin, sin), cos};
  }

  /// Whether one position turns all rows of the tile.
  bool sharesPosition() const {
    return k.plan().sharesOuterRuns || !positions.variesByRow();
  }

  /// An angle costs more than all else: threads take different ones, and tell
  /// each other.
  std::pair<Tile, Tile> sharedAngles() {
    const tile::LinearLayout spread =
        tile::LinearLayout::blocked(1, k.plan().tileCols, 1, k.plan().warps);
    const tile::LinearLayout one = spread.dropColumns();
    Tile at = loadPosition(one);
    at.value = tile::BroadcastOp::create(
        b, tile::tileType(b.getF32Type(), spread), at.value);
    auto [turnedBy, cos] = factors(columnsIn(spread), at);
    auto shared = [&](Tile value) -> Tile {
      return {tile::ConvertLayoutOp::create(
                  b, tile::tileType(b.getF32Type(), k.colLayout), value.value),
              &k};
    };
    return {shared(turnedBy), shared(cos)};
  }

  /// f32(position) of the tile's first row, 1x1.
  Tile loadPosition(const tile::LinearLayout &layout) {
    Value offset = k.firstRowOffset(positions);
    if (offset)
      offset = tile::SplatOp::create(
          b, tile::tileType(b.getI64Type(), layout),
          offset.getDefiningOp<tile::SplatOp>().getScalar());
    Value raw = k.loadTile(
        positions, k.pointer(positions),
        tile::tileType(k.elementType(positions.desc.dtype), layout), offset,
        Value(), k.scalarConstant(0), k.scalarConstant(1), "1", 1);
    return k.convert(positions.desc.dtype, DType::F32, {raw, &k});
  }

  /// f32(position) of each row.
  Tile position() {
    RankedTensorType type =
        k.typeOf(k.elementType(positions.desc.dtype), true, false);
    Value raw = k.loadTile(positions, k.pointer(positions), type,
                           k.rowOffsets(positions), k.maskOfRows(),
                           k.scalarConstant(0), k.scalarConstant(1), "1", 1);
    return k.convert(positions.desc.dtype, DType::F32, {raw, &k});
  }

  Tile gathered(const ScheduledOperand &table, Value index) {
    auto type = cast<RankedTensorType>(index.getType());
    Value stride = tile::SplatOp::create(b, type, k.scalar(table.stride(0)));
    Value offset = arith::MulIOp::create(b, index, stride);
    return {tile::GatherOp::create(
                b, cast<RankedTensorType>(type.clone(b.getF32Type())),
                k.pointer(table), offset, Value()),
            &k};
  }

  /// Columns \p index of x.
  Value gatheredRows(Value index) {
    Tile offsets = {index, &k};
    if (x.colStride != "1")
      offsets.value = arith::MulIOp::create(
          b, index,
          tile::SplatOp::create(b, offsets.type(), k.scalar(x.colStride)));
    Value mask;
    if (Value rows = k.rowOffsets(x)) {
      Tile all = {rows, &k};
      k.unify(offsets, all);
      offsets.value = arith::AddIOp::create(b, offsets.value, all.value);
      mask = k.maskOfRows();
    }
    auto type = cast<RankedTensorType>(
        offsets.type().clone(k.elementType(x.desc.dtype)));
    return tile::GatherOp::create(b, type, k.pointer(x), offsets.value, mask,
                                  x.partnerVector);
  }

  RowBuilder &k;
  ImplicitLocOpBuilder &b;
  const ScheduledOperand &x, &positions, &frequencies;
  const bool turnsAll;
  Value turned, half;
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
