//===- Reduce.cpp - Registers, then lanes, then warps ---------------------===//
//
// The order of combinations is part of a kernel's numerics contract, so it is a
// function of the layout alone (TileOps.td, tile.reduce).
//
//===----------------------------------------------------------------------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <algorithm>

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;
using tile::LinearLayout;

Value Emitter::combine(tile::ReduceKind kind, Value x, Value y) {
  switch (kind) {
  case tile::ReduceKind::Sum:
    return LLVM::FAddOp::create(b, loc, x, y);
  case tile::ReduceKind::Max:
    return LLVM::MaximumOp::create(b, loc, x, y);
  case tile::ReduceKind::MaxU:
    return LLVM::UMaxOp::create(b, loc, x, y);
  }
  llvm_unreachable("a reduce kind");
}

Value Emitter::shuffleXor(Value value, int laneMask) {
  Type type = value.getType();
  Type i32 = b.getI32Type();
  auto shuffle = [&](Value word) -> Value {
    return NVVM::ShflOp::create(b, loc, word.getType(), constant(32, -1), word,
                                constant(32, laneMask), constant(32, 31),
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  if (type.isF32() || type.isInteger(32))
    return shuffle(value);
  assert(type.isInteger(64) && "reductions are of f32, i32 and i64");
  Value low = LLVM::TruncOp::create(b, loc, i32, value);
  Value high = LLVM::LShrOp::create(b, loc, value, constant(64, 32));
  high = LLVM::TruncOp::create(b, loc, i32, high);
  low = toI64(shuffle(low));
  high = LLVM::ShlOp::create(b, loc, toI64(shuffle(high)), constant(64, 32));
  return LLVM::OrOp::create(b, loc, low, high);
}

/// A balanced tree of neighbours; an odd last one passes on.
Value Emitter::tree(tile::ReduceKind kind, Registers values) {
  while (values.size() > 1) {
    Registers next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(combine(kind, values[i], values[i + 1]));
    if (values.size() % 2)
      next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

LogicalResult Emitter::emitReduce(tile::ReduceOp op) {
  const LinearLayout &layout = tile::layoutOf(op.getValue().getType());
  const tile::ReduceKind kind = op.getKind();
  const Registers &operand = get(op.getValue());

  // Registers.
  std::vector<Registers> rows(numRegisters(op.getType()));
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg)
    rows[layout.projectRegister(reg, tile::colDim)].push_back(operand[reg]);
  Registers partial;
  for (Registers &row : rows)
    partial.push_back(tree(kind, std::move(row)));

  // Lanes: butterflies, from the lowest column basis up.
  SmallVector<std::pair<int32_t, int>> columnLanes;
  for (size_t bit = 0; bit < layout.lanes.size(); ++bit)
    if (int32_t column = layout.lanes[bit][tile::colDim])
      columnLanes.push_back({column, 1 << bit});
  std::sort(columnLanes.begin(), columnLanes.end());
  for (auto [column, laneMask] : columnLanes)
    for (Value &value : partial)
      value = combine(kind, value, shuffleXor(value, laneMask));

  if (plan.exchanges(op))
    combineWarps(op, partial);
  set(op.getResult(), std::move(partial));
  return success();
}

/// Each warp leaves its part of a row in shared memory, [row][warp]; then every
/// thread reads the parts of its rows and combines them as registers are.
void Emitter::combineWarps(tile::ReduceOp op, Registers &partial) {
  const LinearLayout &layout = tile::layoutOf(op.getValue().getType());
  const LinearLayout &rows = tile::layoutOf(op.getType());
  Type element = partial.front().getType();
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  const int warps = columnWarps(layout);

  // Number the warps of a row in ascending order of the warp index, and let
  // only those threads write that hold the first columns of their warp.
  uint32_t columnBits = 0, rest = rows.replicatedWarpBits() << 5;
  Value slot;
  int shift = 0;
  for (size_t bit = 0; bit < layout.warps.size(); ++bit) {
    if (!layout.warps[bit][tile::colDim])
      continue;
    columnBits |= 1u << (5 + bit);
    Value one = LLVM::LShrOp::create(b, loc, threadId(),
                                     constant(32, int64_t(5 + bit - shift)));
    one = andBits(one, constant(32, 1 << shift++));
    slot = slot ? LLVM::OrOp::create(b, loc, slot, one).getResult() : one;
  }
  Value writes =
      threadBitsAreZero((rows.replicatedLaneBits() | rest) & ~columnBits);

  auto pointer = [&](Value index, int64_t row) -> Value {
    // index counts elements from the row of register coordinate 0.
    Value base = sharedPointer(plan.offsetOf(op));
    base = LLVM::GEPOp::create(b, loc, base.getType(), element, base,
                               ValueRange{index});
    if (!row)
      return base;
    return LLVM::GEPOp::create(
        b, loc, base.getType(), element, base,
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(row * warps))});
  };
  Value firstRow = LLVM::MulOp::create(
      b, loc, threadCoordinate(rows, tile::rowDim), constant(32, warps));

  if (plan.needsBarrierBefore(op))
    barrier();
  Value mine = add(firstRow, slot);
  guarded(writes, {}, [&] {
    for (size_t reg = 0; reg < partial.size(); ++reg) {
      const int32_t row = rows.registerCoordinate(reg)[tile::rowDim];
      LLVM::StoreOp::create(b, loc, partial[reg], pointer(mine, row),
                            unsigned(bytes));
    }
    return Registers();
  });
  barrier();
  const int vector = int(std::min<int64_t>(warps, 16 / bytes));
  const Words words = wordsOf(element, vector);
  for (size_t reg = 0; reg < partial.size(); ++reg) {
    const int32_t row = rows.registerCoordinate(reg)[tile::rowDim];
    Value base = pointer(firstRow, row);
    Registers parts;
    for (int warp = 0; warp < warps; warp += vector) {
      Value address = base;
      if (warp)
        address = LLVM::GEPOp::create(
            b, loc, base.getType(), element, base,
            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(warp))});
      Value loaded = LLVM::LoadOp::create(b, loc, words.type, address,
                                          unsigned(words.bytes));
      unpack(loaded, words, element, parts);
    }
    partial[reg] = tree(op.getKind(), std::move(parts));
  }
}
