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

/// mma.m16n8k16 for each 16 of k, over the tiles of rows and columns. The
/// registers of a fragment are found by their coordinates, so that layouts may
/// order them as memory does.
void Emitter::emitMma(tile::DotOp op) {
  const LinearLayout &layout = tile::layoutOf(op.getAcc().getType());
  const LinearLayout &aLayout = tile::layoutOf(op.getA().getType());
  const LinearLayout &bLayout = tile::layoutOf(op.getB().getType());
  Type element = op.getA().getType().getElementType();
  const bool isHalf = element.isF16();
  auto pairType = VectorType::get({2}, element);
  auto byCoordinate = [](const LinearLayout &layout, const Registers &values) {
    std::map<tile::Basis, Value> at;
    for (size_t reg = 0; reg < values.size(); ++reg)
      at[layout.registerCoordinate(int64_t(reg))] = values[reg];
    return at;
  };
  auto a = byCoordinate(aLayout, get(op.getA()));
  auto bT = byCoordinate(bLayout, get(op.getB()));
  // What a thread holds of k, in the order of registers.
  SmallVector<int32_t> overK;
  for (int64_t reg = 0; reg < aLayout.numRegisters(); ++reg)
    if (tile::Basis at = aLayout.registerCoordinate(reg); at[0] == 0)
      overK.push_back(at[1]);
  // f16 fragments are pairs, bf16 fragments words of a pair.
  std::map<std::pair<Value *, Value *>, Value> packed;
  auto pairOf = [&](std::map<tile::Basis, Value> &from, int32_t row,
                    size_t first) {
    Value *parts[] = {&from.at({row, overK[first]}),
                      &from.at({row, overK[first + 1]})};
    Value &known = packed[{parts[0], parts[1]}];
    if (known)
      return known;
    Value pair = LLVM::PoisonOp::create(b, loc, pairType);
    for (int half : {0, 1})
      pair = LLVM::InsertElementOp::create(b, loc, pair, *parts[half],
                                           constant(32, half));
    if (!isHalf)
      pair = LLVM::BitcastOp::create(b, loc, b.getI32Type(), pair);
    known = pair;
    return known;
  };
  Type f32 = b.getF32Type();
  Value zero = constant(f32, b.getF32FloatAttr(0));
  Value zeroPair = constant(b.getI32Type(), b.getI32IntegerAttr(0));
  if (isHalf)
    zeroPair = constant(pairType,
                        DenseElementsAttr::get(pairType, b.getF16FloatAttr(0)));
  // Rows 8 to 15 of an instruction: the second register bit, or nothing.
  const bool hasHalf =
      layout.registers.size() > 1 && layout.registers[1][tile::rowDim];
  const int64_t held = hasHalf ? 4 : 2;
  auto fragment =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  const StringRef name = isHalf ? "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
                                : "llvm.nvvm.mma.m16n8k16.row.col.bf16";
  Registers acc = get(op.getAcc());
  for (size_t k = 0; k < overK.size(); k += 4)
    for (size_t at = 0; at < acc.size(); at += size_t(held)) {
      const tile::Basis first = layout.registerCoordinate(int64_t(at));
      const int32_t row = first[0], column = first[1];
      const int32_t high =
          hasHalf ? layout.registerCoordinate(int64_t(at) + 2)[0] : row;
      SmallVector<Value> args;
      for (size_t half : {0, 2}) {
        args.push_back(pairOf(a, row, k + half));
        args.push_back(hasHalf ? pairOf(a, high, k + half) : zeroPair);
      }
      for (size_t half : {0, 2})
        args.push_back(pairOf(bT, column, k + half));
      for (int64_t i = 0; i < 4; ++i)
        args.push_back(i < held ? acc[at + size_t(i)] : zero);
      Value result = intrinsic(name, fragment, args);
      for (int64_t i = 0; i < held; ++i)
        acc[at + size_t(i)] = LLVM::ExtractValueOp::create(b, loc, result, i);
    }
  set(op.getResult(), std::move(acc));
}
