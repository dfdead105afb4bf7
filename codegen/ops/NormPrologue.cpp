//===- NormPrologue.cpp - An rmsnorm in front of a product ----------------===//
#include "codegen/ops/NormPrologue.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;
using tile::LinearLayout;

static LinearLayout layoutOf(Value tile) {
  return tile::layoutOf(cast<RankedTensorType>(tile.getType()));
}

NormPrologue::NormPrologue(RowBuilder &k)
    : k(k), b(k.ops()), step(k.plan().plan.prologue),
      x(k.operandOf(step, 0, Usage::MatmulX)),
      w(k.operandOf(step, 1, Usage::DepthVector)) {}

void NormPrologue::noteScalars() {
  (void)k.pointer(w);
  (void)k.scalar(w.colStride);
}

Value NormPrologue::scaleOf(Value sum, Value depth) {
  RankedTensorType type = tile::tileType(b.getF32Type(), layoutOf(sum));
  Value count = arith::UIToFPOp::create(b, b.getF32Type(), depth);
  Tile mean = Tile{sum, &k} / Tile{tile::SplatOp::create(b, type, count), &k};
  const float eps = k.stepAt(step).params.getFloat("eps", 1e-6f);
  return k.approx(tile::ApproxKind::Rsqrt, mean + eps).value;
}

Tile NormPrologue::apply(Tile columns, Value scale, Value at, Value end) {
  const LinearLayout layout = layoutOf(columns.value);
  RankedTensorType across =
      tile::tileType(k.elementType(w.desc.dtype), layout.dropRows());
  Value raw = k.loadTile(w, k.pointer(w), across, Value(), Value(), at, end,
                         w.colStride, 1);
  Tile weight = k.convert(w.desc.dtype, DType::F32, {raw, &k});
  RankedTensorType type = tile::tileType(b.getF32Type(), layout);
  auto spread = [&](Value value) {
    return value.getType() == type
               ? Tile{value, &k}
               : Tile{tile::BroadcastOp::create(b, type, value), &k};
  };
  Tile y = columns * spread(scale) * spread(weight.value);
  return k.convert(DType::F32, this->type(), y);
}
