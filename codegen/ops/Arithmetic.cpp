//===- Arithmetic.cpp - Operators on tiles with implicit broadcast --------===//
#include "codegen/ops/RowBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

void RowBuilder::unify(Tile &x, Tile &y) {
  // Also for tiles in layouts of an op's own.
  if (tile::layoutOf(x.type()) == tile::layoutOf(y.type()))
    return;
  bool rows = x.type().getDimSize(0) > 1 || y.type().getDimSize(0) > 1;
  bool cols = x.type().getDimSize(1) > 1 || y.type().getDimSize(1) > 1;
  x.value = broadcastTo(x.value, rows, cols);
  y.value = broadcastTo(y.value, rows, cols);
}

template <typename Op>
static Tile binary(Tile x, Tile y) {
  x.k->unify(x, y);
  return {Op::create(x.k->ops(), x.value, y.value), x.k};
}

Tile codegen::operator+(Tile a, Tile b) { return binary<arith::AddFOp>(a, b); }
Tile codegen::operator-(Tile a, Tile b) { return binary<arith::SubFOp>(a, b); }
Tile codegen::operator*(Tile a, Tile b) { return binary<arith::MulFOp>(a, b); }
Tile codegen::operator/(Tile a, Tile b) { return binary<arith::DivFOp>(a, b); }
Tile codegen::operator+(Tile a, double b) { return a + a.k->like(a, b); }
Tile codegen::operator-(Tile a, double b) { return a - a.k->like(a, b); }
Tile codegen::operator*(Tile a, double b) { return a * a.k->like(a, b); }
Tile codegen::operator-(Tile a) {
  return {arith::NegFOp::create(a.k->ops(), a.value), a.k};
}

Tile codegen::fma(Tile a, Tile b, Tile c) {
  RowBuilder &k = *a.k;
  k.unify(a, b);
  k.unify(a, c);
  k.unify(b, c);
  return {math::FmaOp::create(k.ops(), a.value, b.value, c.value), &k};
}

Tile codegen::less(Tile a, Tile b) {
  a.k->unify(a, b);
  return {arith::CmpFOp::create(a.k->ops(), arith::CmpFPredicate::OLT, a.value,
                                b.value),
          a.k};
}

Tile codegen::isNan(Tile a) {
  return {arith::CmpFOp::create(a.k->ops(), arith::CmpFPredicate::UNO, a.value,
                                a.value),
          a.k};
}

Tile codegen::abs(Tile a) {
  RowBuilder &k = *a.k;
  auto bits = a.type().clone(k.ops().getI32Type());
  Value whole = arith::BitcastOp::create(k.ops(), bits, a.value);
  Tile mask = k.likeInt({whole, &k}, k.ops().getI32Type(), 0x7fffffff);
  Value magnitude = arith::AndIOp::create(k.ops(), whole, mask.value);
  return {arith::BitcastOp::create(k.ops(), a.type(), magnitude), &k};
}

Tile RowBuilder::like(Tile shape, double value) {
  auto element = b.getF32FloatAttr(static_cast<float>(value));
  return {arith::ConstantOp::create(
              b, DenseElementsAttr::get(shape.type(), Attribute(element))),
          this};
}

Tile RowBuilder::likeInt(Tile shape, Type element, uint64_t value) {
  auto type = shape.type().clone(element);
  APInt bits(element.getIntOrFloatBitWidth(), value, false, true);
  return {arith::ConstantOp::create(b, DenseElementsAttr::get(type, bits)),
          this};
}

Tile RowBuilder::select(Tile condition, Tile yes, Tile no) {
  unify(yes, no);
  unify(condition, yes);
  unify(condition, no);
  return {arith::SelectOp::create(b, condition.value, yes.value, no.value),
          this};
}
