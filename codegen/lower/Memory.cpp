//===- Memory.cpp - Tiles from and to global memory -----------------------===//
//
// One 64-bit address for each row that a thread holds; its columns are constant
// offsets from it. A column exists when its number is below what is left of the
// row, a 32-bit comparison. Masked accesses are real branches around one
// access, which ptxas turns into predicates; a load of several has one more
// branch, around all of them, for threads where all exist.
//
//===----------------------------------------------------------------------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;
using tile::LinearLayout;

//===--- Windows ----------------------------------------------------------===//

/// Whether \p end is `start + n` with n at least \p cols.
static bool isFull(Value start, Value end, int64_t cols) {
  auto sum = end.getDefiningOp<arith::AddIOp>();
  if (!sum || sum.getLhs() != start)
    return false;
  auto count = sum.getRhs().getDefiningOp<arith::ConstantOp>();
  auto number = count ? dyn_cast<IntegerAttr>(count.getValue()) : IntegerAttr();
  return number && number.getInt() >= cols;
}

Value Emitter::columnsLeft(Value startTile, Value endTile,
                           const LinearLayout &layout) {
  if (isFull(startTile, endTile, layout.shape()[1]))
    return Value();
  Value start = scalar(startTile), end = scalar(endTile);
  // Clamped to [0, columns], so that 32 bits are enough.
  Value left = LLVM::SubOp::create(b, loc, end, start);
  left = LLVM::SMinOp::create(b, loc, left, constant(64, layout.shape()[1]));
  left = LLVM::SMaxOp::create(b, loc, left, constant(64, 0));
  left = LLVM::TruncOp::create(b, loc, b.getI32Type(), left);
  return LLVM::SubOp::create(b, loc, left,
                             threadCoordinate(layout, tile::colDim));
}

Value Emitter::isBefore(int32_t column, Value left) {
  if (!left)
    return Value();
  return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::slt,
                              constant(32, column), left);
}

/// A thread that owns nothing has no columns.
Value Emitter::ofOwner(Value owner, Value left, const LinearLayout &layout) {
  if (!left)
    left = constant(32, layout.shape()[1]);
  return LLVM::SelectOp::create(b, loc, owner, left, constant(32, 0));
}

/// Elements of \p vector neighbours in one access of at most 16 bytes.
static int elementsOfPiece(Type element, int vector) {
  const int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  return int(std::min<int64_t>(vector, 16 / elementBytes));
}

/// Whether nothing but stores reads \p value, perhaps after elementwise work.
static bool isOnlyStored(Value value) {
  SmallVector<Value> open = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!open.empty()) {
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<tile::StoreOp>(user) || !seen.insert(user).second)
        continue;
      const bool isElementwise = isa<arith::ArithDialect>(user->getDialect()) ||
                                 isa<tile::ApproxOp, tile::SqrtOp>(user);
      if (!isElementwise)
        return false;
      llvm::append_range(open, user->getResults());
    }
  }
  return true;
}

LogicalResult Emitter::emitLoad(tile::LoadOp op) {
  RankedTensorType type = op.getType();
  const LinearLayout &layout = tile::layoutOf(type);
  Type element = registerType(type);
  const int vector = int(op.getVector());
  const int pieceElements = elementsOfPiece(element, vector);
  const Words words = wordsOf(element, pieceElements);

  Value start = scalar(op.getStart());
  Value base = scalar(op.getBase());
  Value stride = op.getStride() ? scalar(op.getStride()) : Value();
  Value left = columnsLeft(op.getStart(), op.getEnd(), layout);
  // A replica that stores nothing need not read, and must not where the result
  // is written over the operand.
  Value owner = ownerPredicate(layout);
  if (owner && isOnlyStored(op))
    left = ofOwner(owner, left, layout);
  Value firstColumn = add(start, toI64(threadCoordinate(layout, tile::colDim)));
  if (stride)
    firstColumn = LLVM::MulOp::create(b, loc, firstColumn, stride);

  Attribute padAttr = op.getPad();
  if (auto number = dyn_cast<FloatAttr>(padAttr);
      number && isa<IntegerType>(element))
    padAttr = b.getIntegerAttr(element, number.getValue().bitcastToAPInt());
  Value pad = constant(element, padAttr);
  SmallVector<Value> padElements(pieceElements, pad);
  Value padWord = pack(padElements, words);

  const Registers none;
  const Registers &rows = op.getRows() ? get(op.getRows()) : none;
  const Registers &mask = op.getMask() ? get(op.getMask()) : none;
  llvm::SmallDenseMap<int64_t, Value> rowPointers;
  auto rowPointer = [&](int64_t row) {
    Value &pointer = rowPointers[row];
    if (!pointer) {
      Value offset = rows.empty() ? firstColumn : add(rows[row], firstColumn);
      pointer = LLVM::GEPOp::create(b, loc, base.getType(), element, base,
                                    ValueRange{offset});
    }
    return pointer;
  };
  // Addresses are computed outside of the branches, where they are shared.
  if (!rows.empty())
    for (int64_t row = 0; row < int64_t(rows.size()); ++row)
      rowPointer(row);
  else
    rowPointer(0);

  auto rowOf = [&](int64_t reg) {
    return layout.projectRegister(reg, tile::colDim);
  };
  auto columnOf = [&](int64_t reg) {
    return layout.registerCoordinate(reg)[tile::colDim];
  };
  auto loadAt = [&](int64_t reg, Registers &loaded) {
    Value pointer = rowPointer(rows.empty() ? 0 : rowOf(reg));
    for (int piece = 0; piece < vector; piece += pieceElements) {
      const int32_t column = columnOf(reg) + piece;
      Value address = pointer;
      if (stride) {
        Value offset =
            LLVM::MulOp::create(b, loc, stride, constant(64, column));
        address = LLVM::GEPOp::create(b, loc, base.getType(), element, pointer,
                                      ValueRange{offset});
      } else if (column) {
        address =
            LLVM::GEPOp::create(b, loc, base.getType(), element, pointer,
                                ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(column)});
      }
      loaded.push_back(LLVM::LoadOp::create(b, loc, words.type, address,
                                            unsigned(words.bytes)));
    }
  };
  auto guardedLoad = [&](int64_t reg) {
    Value exists = isBefore(columnOf(reg), left);
    if (!mask.empty())
      exists = exists ? andBits(exists, mask[rowOf(reg)]) : mask[rowOf(reg)];
    SmallVector<Value> pads(vector / pieceElements, padWord);
    return guarded(exists, pads, [&] {
      Registers loaded;
      loadAt(reg, loaded);
      return loaded;
    });
  };

  const int64_t count = layout.numRegisters();
  Registers pieces;
  if (count == vector) {
    pieces = guardedLoad(0);
  } else if (!left && mask.empty()) {
    for (int64_t reg = 0; reg < count; reg += vector)
      loadAt(reg, pieces);
  } else {
    // Where all exist, one block starts all accesses: ptxas lets predicated
    // ones wait for what was read before them.
    int32_t last = 0;
    llvm::SmallSetVector<Value, 8> conditions;
    for (int64_t reg = 0; reg < count; reg += vector) {
      last = std::max(last, columnOf(reg));
      if (!mask.empty())
        conditions.insert(mask[rowOf(reg)]);
    }
    Value all = isBefore(last, left);
    for (Value condition : conditions)
      all = all ? andBits(all, condition) : condition;
    Block *whole = newBlock(), *partly = newBlock();
    Block *after =
        newBlock(SmallVector<Type>(size_t(count / pieceElements), words.type));
    LLVM::CondBrOp::create(b, loc, all, whole, ValueRange{}, partly,
                           ValueRange{});
    b.setInsertionPointToStart(whole);
    for (int64_t reg = 0; reg < count; reg += vector)
      loadAt(reg, pieces);
    branchTo(after, pieces);
    b.setInsertionPointToStart(partly);
    pieces.clear();
    for (int64_t reg = 0; reg < count; reg += vector)
      llvm::append_range(pieces, guardedLoad(reg));
    branchTo(after, pieces);
    b.setInsertionPointToStart(after);
    pieces.assign(after->getArguments().begin(), after->getArguments().end());
  }
  Registers results;
  for (Value piece : pieces)
    unpack(piece, words, element, results);
  set(op.getResult(), std::move(results));
  return success();
}

/// One branch for each run of registers under one mask; elements at one offset
/// (see tile.range's granule) are read once.
LogicalResult Emitter::emitGather(tile::GatherOp op) {
  RankedTensorType type = op.getType();
  const LinearLayout &layout = tile::layoutOf(type);
  Type element = registerType(type);
  const int vector = int(op.getVector());
  const int pieceElements = elementsOfPiece(element, vector);
  const Words words = wordsOf(element, pieceElements);
  Value base = scalar(op.getBase());
  const Registers offsets = get(op.getOffsets());
  const Registers none;
  const Registers mask = op.getMask() ? get(op.getMask()) : none;
  auto maskOf = [&](int64_t reg) {
    return mask.empty() ? Value()
                        : mask[layout.projectRegister(reg, tile::colDim)];
  };

  SmallVector<Value> padElements(pieceElements,
                                 constant(element, b.getZeroAttr(element)));
  Value padWord = pack(padElements, words);
  const int64_t count = layout.numRegisters();
  Registers results;
  for (int64_t begin = 0; begin < count;) {
    Value exists = maskOf(begin);
    int64_t end = begin;
    while (end < count && maskOf(end) == exists)
      end += vector;
    // Offsets of this run, each once.
    SmallVector<Value> distinct;
    llvm::SmallDenseMap<Value, size_t> numbers;
    for (int64_t reg = begin; reg < end; reg += vector)
      if (numbers.try_emplace(offsets[reg], distinct.size()).second)
        distinct.push_back(offsets[reg]);
    const int pieces = vector / pieceElements;
    SmallVector<Value> pads(distinct.size() * pieces, padWord);
    Registers loaded = guarded(exists, pads, [&] {
      Registers inside;
      for (Value offset : distinct) {
        Value pointer = LLVM::GEPOp::create(b, loc, base.getType(), element,
                                            base, ValueRange{offset});
        for (int piece = 0; piece < pieces; ++piece) {
          Value address = pointer;
          if (piece)
            address = LLVM::GEPOp::create(
                b, loc, base.getType(), element, pointer,
                ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(piece * pieceElements)});
          inside.push_back(LLVM::LoadOp::create(b, loc, words.type, address,
                                                unsigned(words.bytes)));
        }
      }
      return inside;
    });
    SmallVector<Registers> elements(distinct.size());
    for (size_t i = 0; i < loaded.size(); ++i)
      unpack(loaded[i], words, element, elements[i / pieces]);
    for (int64_t reg = begin; reg < end; reg += vector)
      llvm::append_range(results, elements[numbers[offsets[reg]]]);
    begin = end;
  }
  set(op.getResult(), std::move(results));
  return success();
}

LogicalResult Emitter::emitStore(tile::StoreOp op) {
  RankedTensorType type = op.getValue().getType();
  const LinearLayout &layout = tile::layoutOf(type);
  Type element = registerType(type);
  const int vector = int(op.getVector());
  const int pieceElements = elementsOfPiece(element, vector);
  const Words words = wordsOf(element, pieceElements);

  Value start = scalar(op.getStart());
  Value base = scalar(op.getBase());
  Value stride = op.getStride() ? scalar(op.getStride()) : Value();
  Value left = columnsLeft(op.getStart(), op.getEnd(), layout);
  if (Value owner = ownerPredicate(layout))
    left = ofOwner(owner, left, layout);
  Value firstColumn = add(start, toI64(threadCoordinate(layout, tile::colDim)));
  if (stride)
    firstColumn = LLVM::MulOp::create(b, loc, firstColumn, stride);

  const Registers none;
  const Registers &rows = op.getRows() ? get(op.getRows()) : none;
  const Registers &mask = op.getMask() ? get(op.getMask()) : none;
  const Registers &values = get(op.getValue());
  SmallVector<Value> rowPointers;
  for (size_t row = 0; row < std::max<size_t>(rows.size(), 1); ++row) {
    Value offset = rows.empty() ? firstColumn : add(rows[row], firstColumn);
    rowPointers.push_back(LLVM::GEPOp::create(b, loc, base.getType(), element,
                                              base, ValueRange{offset}));
  }
  for (int64_t reg = 0; reg < layout.numRegisters(); reg += vector) {
    const int64_t row = layout.projectRegister(reg, tile::colDim);
    const int32_t column = layout.registerCoordinate(reg)[tile::colDim];
    Value exists = isBefore(column, left);
    if (!mask.empty())
      exists = exists ? andBits(exists, mask[row]) : mask[row];
    Value pointer = rowPointers[rows.empty() ? 0 : row];
    guarded(exists, {}, [&] {
      for (int piece = 0; piece < vector; piece += pieceElements) {
        Value address = pointer;
        if (stride) {
          Value offset =
              LLVM::MulOp::create(b, loc, stride, constant(64, column + piece));
          address = LLVM::GEPOp::create(b, loc, base.getType(), element,
                                        pointer, ValueRange{offset});
        } else if (column + piece) {
          address = LLVM::GEPOp::create(
              b, loc, base.getType(), element, pointer,
              ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(column + piece)});
        }
        Value packed = pack(
            ArrayRef<Value>(values).slice(reg + piece, pieceElements), words);
        LLVM::StoreOp::create(b, loc, packed, address, unsigned(words.bytes));
      }
      return Registers();
    });
  }
  return success();
}

LogicalResult Emitter::emitMask(tile::MaskOp op) {
  RankedTensorType type = op.getType();
  const LinearLayout &layout = tile::layoutOf(type);
  Type element = registerType(type);
  Attribute fillAttr = op.getFill();
  if (auto number = dyn_cast<FloatAttr>(fillAttr);
      number && isa<IntegerType>(element))
    fillAttr = b.getIntegerAttr(element, number.getValue().bitcastToAPInt());
  Value fill = constant(element, fillAttr);
  Value left = columnsLeft(op.getStart(), op.getEnd(), layout);
  const Registers operand = get(op.getValue());
  if (!left) {
    set(op.getResult(), Registers(operand));
    return success();
  }
  llvm::SmallDenseMap<int32_t, Value> tests;
  Registers results;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    const int32_t column = layout.registerCoordinate(reg)[tile::colDim];
    Value &exists = tests[column];
    if (!exists)
      exists = isBefore(column, left);
    results.push_back(
        LLVM::SelectOp::create(b, loc, exists, operand[reg], fill));
  }
  set(op.getResult(), std::move(results));
  return success();
}

LogicalResult Emitter::emitRange(tile::RangeOp op) {
  RankedTensorType type = op.getType();
  const LinearLayout &layout = tile::layoutOf(type);
  const int dim =
      type.getDimSize(tile::rowDim) == 1 ? tile::colDim : tile::rowDim;
  Value first =
      add(scalar(op.getStart()), toI64(threadCoordinate(layout, dim)));
  const int32_t granule = int32_t(op.getGranule());
  llvm::SmallDenseMap<int32_t, Value> numbers;
  Registers results;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    // Thread coordinates are multiples of the granule.
    const int32_t at = layout.registerCoordinate(reg)[dim] & ~(granule - 1);
    Value &number = numbers[at];
    if (!number) {
      number = at ? add(first, constant(64, at)) : first;
      if (type.getElementType().isInteger(32))
        number = LLVM::TruncOp::create(b, loc, b.getI32Type(), number);
    }
    results.push_back(number);
  }
  set(op.getResult(), std::move(results));
  return success();
}

LogicalResult Emitter::emitReportError(tile::ReportErrorOp op) {
  const LinearLayout &layout = tile::layoutOf(op.getBad().getType());
  Value slot = scalar(op.getSlot());
  Value owner = ownerPredicate(layout);
  const Registers bad = get(op.getBad());
  const Registers index = get(op.getRowIndex());
  Value step = constant(64, int64_t(op.getStep()) << 48);
  for (size_t reg = 0; reg < bad.size(); ++reg) {
    Value reports = owner ? andBits(bad[reg], owner) : bad[reg];
    guarded(reports, {}, [&] {
      Value word = LLVM::OrOp::create(b, loc, index[reg], step);
      LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::umin, slot, word,
                                LLVM::AtomicOrdering::monotonic,
                                StringRef("device"));
      return Registers();
    });
  }
  return success();
}
