//===- HeadKernel.cpp - Kernels that address heads themselves -------------===//
#include "codegen/ops/HeadKernel.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

Value HeadKernel::add(Value x, Value y) {
  return arith::AddIOp::create(b, x, y);
}
Value HeadKernel::subtract(Value x, Value y) {
  return arith::SubIOp::create(b, x, y);
}
Value HeadKernel::multiply(Value x, Value y) {
  return arith::MulIOp::create(b, x, y);
}
Value HeadKernel::divide(Value x, Value y) {
  return arith::DivUIOp::create(b, x, y);
}
Value HeadKernel::remainder(Value x, Value y) {
  return arith::RemUIOp::create(b, x, y);
}
Value HeadKernel::both(Value x, Value y) {
  return arith::AndIOp::create(b, x, y);
}
Value HeadKernel::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, predicate, x, y);
}

Value HeadKernel::step(const ScheduledOperand &operand, int dim, Value index) {
  return multiply(index, k.scalar(operand.stride(dim)));
}

Tile HeadKernel::splat(Value scalar, bool hasRows) {
  return {tile::SplatOp::create(b, k.typeOf(scalar.getType(), hasRows, false),
                                scalar),
          &k};
}

Tile HeadKernel::rowNumbers() {
  return {tile::RangeOp::create(b, k.typeOf(b.getI64Type(), true, false),
                                constant(0)),
          &k};
}

Tile HeadKernel::load(const ScheduledOperand &operand, Tile offsets, Value mask,
                      Value start, Value end) {
  bool hasRows = offsets.type().getDimSize(0) > 1;
  RankedTensorType type =
      k.typeOf(k.elementType(operand.desc.dtype), hasRows, true);
  return {k.loadTile(operand, k.pointer(operand), type, offsets.value, mask,
                     start, end, operand.colStride, operand.vector),
          &k};
}

Tile HeadKernel::loadElement(const ScheduledOperand &operand, Tile offsets,
                             Value mask) {
  bool hasRows = offsets.type().getDimSize(0) > 1;
  RankedTensorType type =
      k.typeOf(k.elementType(operand.desc.dtype), hasRows, false);
  return {k.loadTile(operand, k.pointer(operand), type, offsets.value, mask,
                     constant(0), constant(1), "1", 1),
          &k};
}

void HeadKernel::store(Tile value, const ScheduledOperand &operand,
                       Tile offsets, Value mask, Value start, Value end) {
  bool isUnit = operand.colStride == "1";
  // A single column is no group of neighbours.
  bool isColumn = value.type().getDimSize(1) == 1;
  tile::StoreOp::create(b, value.value, k.pointer(operand), offsets.value, mask,
                        start, end,
                        isUnit ? Value() : k.scalar(operand.colStride),
                        isColumn ? 1 : operand.vector);
}

Tile HeadKernel::sumColumns(Tile value) {
  bool hasRows = value.type().getDimSize(0) > 1;
  return {tile::ReduceOp::create(b, k.typeOf(value.element(), hasRows, false),
                                 tile::ReduceKind::Sum, value.value),
          &k};
}

Tile HeadKernel::alongRows(tile::ReduceKind kind, Tile value) {
  auto turned = [&](Value v) -> Value {
    auto type = cast<RankedTensorType>(v.getType());
    return tile::TransposeOp::create(
        b,
        tile::tileType(type.getElementType(), tile::layoutOf(type).transpose()),
        v);
  };
  Value lying = turned(value.value);
  auto type = cast<RankedTensorType>(lying.getType());
  Value reduced = tile::ReduceOp::create(
      b,
      tile::tileType(type.getElementType(), tile::layoutOf(type).dropColumns()),
      kind, lying);
  return {turned(reduced), &k};
}

Tile codegen::maximum(Tile x, Tile y) {
  x.k->unify(x, y);
  return {arith::MaximumFOp::create(x.k->ops(), x.value, y.value), x.k};
}
