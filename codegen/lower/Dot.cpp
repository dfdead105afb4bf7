//===- Dot.cpp - Tensor core and fma products -----------------------------===//
#include "codegen/lower/Emitter.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;
using tile::LinearLayout;

LogicalResult Emitter::emitDot(tile::DotOp op) {
  if (op.getA().getType().getElementType().isF32())
    emitFma(op);
  else
    emitMma(op);
  return success();
}

/// One fma for each k in ascending order into each accumulator element.
void Emitter::emitFma(tile::DotOp op) {
  const LinearLayout &layout = tile::layoutOf(op.getAcc().getType());
  const LinearLayout &aLayout = tile::layoutOf(op.getA().getType());
  const LinearLayout &bLayout = tile::layoutOf(op.getB().getType());
  // Registers of the operands by the coordinate that the register contributes.
  auto byCoordinate = [](const LinearLayout &layout, const Registers &values) {
    std::map<tile::Basis, Value> at;
    for (size_t reg = 0; reg < values.size(); ++reg)
      at[layout.registerCoordinate(int64_t(reg))] = values[reg];
    return at;
  };
  auto a = byCoordinate(aLayout, get(op.getA()));
  auto bT = byCoordinate(bLayout, get(op.getB()));
  Registers acc = get(op.getAcc());
  const int64_t depth = op.getA().getType().getDimSize(1);
  for (int32_t k = 0; k < depth; ++k)
    for (size_t reg = 0; reg < acc.size(); ++reg) {
      const tile::Basis at = layout.registerCoordinate(int64_t(reg));
      acc[reg] = LLVM::FMAOp::create(b, loc, a.at({at[0], k}),
                                     bT.at({at[1], k}), acc[reg]);
    }
  set(op.getResult(), std::move(acc));
}

LogicalResult Emitter::emitNeighbourDot(tile::NeighbourDotOp op) {
  const LinearLayout &from = tile::layoutOf(op.getA().getType());
  const LinearLayout &to = tile::layoutOf(op.getType());
  const Registers a = get(op.getA()), c = get(op.getB());
  // Operands that emitConversion left as they were (isLeftToDots).
  llvm::DenseMap<Value, Value> known;
  auto wide = [&](Value x) {
    if (x.getType().isF32())
      return x;
    Value &result = known[x];
    if (!result)
      result = x.getType().isInteger(8)
                   ? intToFloat(x, /*isUnsigned=*/false, b.getF32Type())
                   : floatToF32(x, x.getType());
    return result;
  };
  const int64_t n = from.shape()[tile::colDim] / to.shape()[tile::colDim];
  std::map<tile::Basis, int64_t> registerAt;
  for (int64_t reg = 0; reg < from.numRegisters(); ++reg)
    registerAt[from.registerCoordinate(reg)] = reg;
  Registers sums(to.numRegisters(),
                 constant(b.getF32Type(), b.getF32FloatAttr(0)));
  // The chains side by side: each waits for itself.
  for (int64_t t = 0; t < n; ++t)
    for (int64_t reg = 0; reg < to.numRegisters(); ++reg) {
      const tile::Basis at = to.registerCoordinate(reg);
      const int64_t source = registerAt.at({at[0], int32_t(at[1] * n + t)});
      sums[reg] = LLVM::FMAOp::create(b, loc, wide(a[source]), wide(c[source]),
                                      sums[reg]);
    }
  set(op.getResult(), std::move(sums));
  return success();
}

/// mma.m16n8k16 over repetitions: rows of A, columns (rows of B), then k.
/// Registers of a fragment are consecutive: A has 8, B 4, the accumulator 4.
void Emitter::emitMma(tile::DotOp op) {
  const LinearLayout &layout = tile::layoutOf(op.getAcc().getType());
  Type element = op.getA().getType().getElementType();
  const int64_t steps = op.getA().getType().getDimSize(1) / 16;
  const bool isHalf = element.isF16();
  auto pairType = VectorType::get({2}, element);
  // f16 fragments are pairs, bf16 fragments words of a pair.
  auto pairs = [&](const Registers &values) {
    SmallVector<Value> packed;
    for (size_t i = 0; i < values.size(); i += 2) {
      Value pair = LLVM::PoisonOp::create(b, loc, pairType);
      for (int half : {0, 1})
        pair = LLVM::InsertElementOp::create(b, loc, pair, values[i + half],
                                             constant(32, half));
      if (!isHalf)
        pair = LLVM::BitcastOp::create(b, loc, b.getI32Type(), pair);
      packed.push_back(pair);
    }
    return packed;
  };
  SmallVector<Value> a = pairs(get(op.getA()));
  SmallVector<Value> bT = pairs(get(op.getB()));
  Registers acc = get(op.getAcc());
  Type f32 = b.getF32Type();
  auto fragment =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  const StringRef name = isHalf ? "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
                                : "llvm.nvvm.mma.m16n8k16.row.col.bf16";
  for (int64_t k = 0; k < steps; ++k)
    for (int64_t m = 0; m < layout.repeat[0]; ++m)
      for (int64_t n = 0; n < layout.repeat[1]; ++n) {
        const int64_t at = (m * layout.repeat[1] + n) * 4;
        SmallVector<Value> args;
        for (int64_t i = 0; i < 4; ++i)
          args.push_back(a[(m * steps + k) * 4 + i]);
        for (int64_t i = 0; i < 2; ++i)
          args.push_back(bT[(n * steps + k) * 2 + i]);
        for (int64_t i = 0; i < 4; ++i)
          args.push_back(acc[at + i]);
        Value result = intrinsic(name, fragment, args);
        for (int64_t i = 0; i < 4; ++i)
          acc[at + i] = LLVM::ExtractValueOp::create(b, loc, result, i);
      }
  set(op.getResult(), std::move(acc));
}
