//===- Quantised.cpp - Weights in int8 and packed int4 --------------------===//
#include "codegen/ops/Quantised.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <algorithm>

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;
using tile::LinearLayout;

Usage codegen::usageOfQuantised(const Step &step, DType q) {
  if (step.op != Opcode::DEQUANT)
    return Usage::MatmulW;
  return q == DType::U8 ? Usage::Packed : Usage::Space;
}

QuantisedWeights::QuantisedWeights(RowBuilder &k, size_t first)
    : k(k), b(k.ops()),
      q(k.operandOf(first, usageOfQuantised(k.step(), k.inputType(first)))),
      scales(k.operandOf(first + 1, Usage::Groups)),
      isPacked(k.inputType(first) == DType::U8),
      group(k.params().getInt("group", 0)) {
  if (k.numInputs() > first + 2)
    zeros = &k.operandOf(first + 2, Usage::Groups);
}

void QuantisedWeights::noteScalars() {
  for (const ScheduledOperand *operand : {&q, &scales, zeros}) {
    if (!operand)
      continue;
    (void)k.pointer(*operand);
    for (const std::string &stride : operand->rowStrides)
      if (!stride.empty())
        (void)k.scalar(stride);
    if (operand != &q) {
      (void)k.scalar(operand->stride(1));
      (void)k.scalar(operand->shape(1));
    } else if (q.colStride != "1") {
      (void)k.scalar(q.colStride);
    }
  }
}

Value QuantisedWeights::offsets(const ScheduledOperand &operand,
                                Value numbers) {
  const std::string &stride = operand.rowStrides[0];
  if (stride == "1")
    return numbers;
  return arith::MulIOp::create(
      b, numbers,
      tile::SplatOp::create(b, numbers.getType(), k.scalar(stride)));
}

QuantisedWeights::Rows QuantisedWeights::rowsFrom(Value numbers, Value live) {
  return {offsets(q, numbers), offsets(scales, numbers),
          zeros ? offsets(*zeros, numbers) : Value(), live};
}

QuantisedWeights::Rows QuantisedWeights::spaceRows() {
  return {k.rowOffsets(q), k.rowOffsets(scales),
          zeros ? k.rowOffsets(*zeros) : Value(), k.maskOfRows()};
}

Value QuantisedWeights::groupOf(Value at) {
  if (!group)
    return k.scalarConstant(0);
  Value number = arith::DivUIOp::create(b, at, k.scalarConstant(group));
  Value last =
      arith::SubIOp::create(b, k.scalar(scales.shape(1)), k.scalarConstant(1));
  return arith::MinSIOp::create(b, number, last);
}

Tile QuantisedWeights::spread(Tile value, const LinearLayout &layout) {
  RankedTensorType type = tile::tileType(value.element(), layout);
  if (type == value.type())
    return value;
  return {tile::BroadcastOp::create(b, type, value.value), &k};
}

Tile QuantisedWeights::widened(const ScheduledOperand &operand, Value raw) {
  return k.convert(operand.desc.dtype, DType::F32, {raw, &k});
}

/// q as f32: int8 as it is, a nibble less 8.
Tile QuantisedWeights::integers(const LinearLayout &layout, const Rows &rows,
                                Value at, Value end) {
  Type i8 = b.getI8Type();
  RankedTensorType whole = tile::tileType(i8, layout);
  Value raw;
  if (isPacked) {
    Value two = k.scalarConstant(2);
    Value first = arith::DivUIOp::create(b, at, two);
    Value past = arith::DivUIOp::create(
        b, arith::AddIOp::create(b, end, k.scalarConstant(1)), two);
    raw = k.loadTile(q, k.pointer(q), tile::tileType(i8, layout.halveColumns()),
                     rows.q, rows.live, first, past, q.colStride, q.vector);
    raw = tile::UnpackOp::create(b, whole, raw, /*less=*/8);
  } else {
    raw = k.loadTile(q, k.pointer(q), whole, rows.q, rows.live, at, end,
                     q.colStride, q.vector);
  }
  auto f32 = cast<RankedTensorType>(whole.clone(b.getF32Type()));
  return {arith::SIToFPOp::create(b, f32, raw), &k};
}

/// One number a row: that of the group.
Tile QuantisedWeights::perRow(const ScheduledOperand &operand,
                              const LinearLayout &layout, Value rowOffsets,
                              Value live, Value number) {
  LinearLayout rows = layout.dropColumns();
  RankedTensorType type =
      tile::tileType(k.elementType(operand.desc.dtype), rows);
  Value column = arith::MulIOp::create(b, number, k.scalar(operand.stride(1)));
  RankedTensorType indices = tile::tileType(b.getI64Type(), rows);
  column = tile::SplatOp::create(b, indices, column);
  if (rowOffsets)
    column = arith::AddIOp::create(b, column, rowOffsets);
  Value raw = k.loadTile(operand, k.pointer(operand), type, column, live,
                         k.scalarConstant(0), k.scalarConstant(1), "1", 1);
  return widened(operand, raw);
}

/// One number a group of columns, each of which stands for \p count k. Where
/// groups are multiples of 8 columns, 8 neighbours of a thread share a read.
Tile QuantisedWeights::perGroup(const ScheduledOperand &operand,
                                const LinearLayout &layout, Value rowOffsets,
                                Value live, Value at, int64_t count) {
  if (!group)
    return spread(
        perRow(operand, layout, rowOffsets, live, k.scalarConstant(0)), layout);
  const int64_t group = this->group / count;
  if (count > 1)
    at = arith::DivUIOp::create(b, at, k.scalarConstant(count));
  RankedTensorType columns = tile::tileType(b.getI64Type(), layout.dropRows());
  int64_t granule = std::min<int64_t>(8, contiguousColumns(layout.dropRows()));
  while (group % granule)
    granule /= 2;
  Value numbers =
      tile::RangeOp::create(b, columns, at, static_cast<int32_t>(granule));
  auto splat = [&](Value scalar) -> Value {
    return tile::SplatOp::create(b, columns, scalar);
  };
  Value index =
      arith::DivUIOp::create(b, numbers, splat(k.scalarConstant(group)));
  Value last =
      arith::SubIOp::create(b, k.scalar(operand.shape(1)), k.scalarConstant(1));
  index = arith::MinSIOp::create(b, index, splat(last));
  Value offset =
      arith::MulIOp::create(b, index, splat(k.scalar(operand.stride(1))));
  Tile sum = spread({offset, &k}, layout);
  if (rowOffsets)
    sum.value = arith::AddIOp::create(b, sum.value,
                                      spread({rowOffsets, &k}, layout).value);
  RankedTensorType type =
      tile::tileType(k.elementType(operand.desc.dtype), layout);
  return widened(operand, tile::GatherOp::create(b, type, k.pointer(operand),
                                                 sum.value, live));
}

Tile QuantisedWeights::integersLessZeros(const LinearLayout &layout,
                                         const Rows &rows, Value at,
                                         Value end) {
  Tile value = integers(layout, rows, at, end);
  if (zeros)
    value.value = arith::SubFOp::create(
        b, value.value,
        perGroup(*zeros, layout, rows.zeros, rows.live, at).value);
  return value;
}

Tile QuantisedWeights::scalesOfRuns(const LinearLayout &layout,
                                    const Rows &rows, Value at, int64_t count) {
  return perGroup(scales, layout, rows.scales, rows.live, at, count);
}

Tile QuantisedWeights::rowScales(const LinearLayout &rows,
                                 const Rows &offsets) {
  return perRow(scales, rows, offsets.scales, offsets.live,
                k.scalarConstant(0));
}

Tile QuantisedWeights::weights(const LinearLayout &layout, const Rows &rows,
                               Value at, Value end, bool isOdd) {
  Tile value = integersLessZeros(layout, rows, at, end);
  Tile scale = perGroup(scales, layout, rows.scales, rows.live, at);
  Tile product = {arith::MulFOp::create(b, value.value, scale.value), &k};
  // Other types hold at most 11 bits: the product with 9 is exact.
  if (isOdd && scales.desc.dtype == DType::F32) {
    Value minus = arith::NegFOp::create(b, product.value);
    Tile rest = {math::FmaOp::create(b, value.value, scale.value, minus), &k};
    product = k.toOdd(product, rest);
  }
  return {tile::MaskOp::create(b, product.type(), product.value, at, end,
                               b.getF32FloatAttr(0)),
          &k};
}

Tile QuantisedWeights::integersOfGroup(const LinearLayout &layout,
                                       const Rows &rows, Value at, Value end,
                                       Value number) {
  Tile value = integers(layout, rows, at, end);
  if (zeros)
    value.value = arith::SubFOp::create(
        b, value.value,
        spread(perRow(*zeros, layout, rows.zeros, rows.live, number), layout)
            .value);
  return value;
}

Tile QuantisedWeights::columnScales(Value number) {
  RankedTensorType type =
      k.typeOf(k.elementType(scales.desc.dtype), false, true);
  Value column = arith::MulIOp::create(b, number, k.scalar(scales.stride(1)));
  column =
      tile::SplatOp::create(b, k.typeOf(b.getI64Type(), false, false), column);
  return widened(scales,
                 k.loadTile(scales, k.pointer(scales), type, column, Value(),
                            k.colStart, k.colEnd, scales.rowStrides[0], 1));
}
