//===- Rearrange.cpp - broadcast, transpose, convert_layout ---------------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;
using tile::LinearLayout;

LogicalResult Emitter::emitBroadcast(tile::BroadcastOp op) {
  const LinearLayout &to = tile::layoutOf(op.getType());
  LinearLayout layout = to;
  const Registers operand = get(op.getValue());
  ArrayRef<int64_t> shape = op.getValue().getType().getShape();
  Registers results;
  for (int64_t reg = 0; reg < to.numRegisters(); ++reg) {
    int64_t source = reg;
    LinearLayout at = to;
    for (int dim : {tile::rowDim, tile::colDim})
      if (shape[dim] != op.getType().getDimSize(dim)) {
        source = at.projectRegister(source, dim);
        at = at.dropDim(dim);
      }
    results.push_back(operand[source]);
  }
  set(op.getResult(), std::move(results));
  return success();
}

LogicalResult Emitter::emitTranspose(tile::TransposeOp op) {
  const LinearLayout &from = tile::layoutOf(op.getValue().getType());
  const LinearLayout &to = tile::layoutOf(op.getType());
  const Registers operand = get(op.getValue());
  const int64_t linear = to.numLinearRegisters();
  Registers results;
  for (int64_t reg = 0; reg < to.numRegisters(); ++reg) {
    // Repetitions count columns first in either layout.
    const int64_t repetition = reg / linear;
    const int64_t row = repetition / to.repeat[1];
    const int64_t column = repetition % to.repeat[1];
    const int64_t source = column * from.repeat[1] + row;
    results.push_back(operand[source * linear + reg % linear]);
  }
  set(op.getResult(), std::move(results));
  return success();
}

LogicalResult Emitter::emitReshape(tile::ReshapeOp op) {
  set(op.getResult(), Registers(get(op.getValue())));
  return success();
}

LogicalResult Emitter::emitUnpack(tile::UnpackOp op) {
  const LinearLayout &from = tile::layoutOf(op.getValue().getType());
  const LinearLayout &to = tile::layoutOf(op.getType());
  const Registers bytes = get(op.getValue());
  std::map<tile::Basis, int64_t> registerAt;
  for (int64_t reg = 0; reg < from.numRegisters(); ++reg)
    registerAt[from.registerCoordinate(reg)] = reg;
  Registers results;
  for (int64_t reg = 0; reg < to.numRegisters(); ++reg) {
    const tile::Basis at = to.registerCoordinate(reg);
    Value byte = bytes[registerAt.at({at[0], at[1] / 2})];
    const int nibble = at[1] % 2;
    const int less = int(op.getLess());
    Value value =
        nibble ? LLVM::LShrOp::create(b, loc, byte, constant(8, 4)).getResult()
               : andBits(byte, constant(8, 15));
    if (less)
      value = LLVM::SubOp::create(b, loc, value, constant(8, less));
    results.push_back(value);
    // Whoever converts it to a float starts from the word (Conversions.cpp).
    if (auto whole = pieces.find(byte); whole != pieces.end())
      pieces[value] = {whole->second.word, whole->second.shift + 4 * nibble, 4,
                       less};
  }
  set(op.getResult(), std::move(results));
  return success();
}

Value Emitter::sharedPointer(int64_t byteOffset) {
  if (!sharedBase) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(prologue);
    auto type = LLVM::LLVMPointerType::get(b.getContext(), 3);
    sharedBase = LLVM::AddressOfOp::create(
        b, loc, type, (kernel.getName() + "_shared").str());
  }
  if (!byteOffset)
    return sharedBase;
  return LLVM::GEPOp::create(
      b, loc, sharedBase.getType(), b.getI8Type(), sharedBase,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(byteOffset))});
}

/// One shuffle a register, from the lane that the bits of this lane's number
/// choose.
Registers Emitter::shuffled(const Registers &operand,
                            const WarpShuffle &shuffle) {
  Value lane = andBits(threadId(), constant(32, tile::lanesPerWarp - 1));
  Value chosen = constant(32, 0);
  for (auto [bit, from] : llvm::enumerate(shuffle.laneBits)) {
    if (!from)
      continue;
    Value one = LLVM::LShrOp::create(b, loc, lane, constant(32, int64_t(bit)));
    one = andBits(one, constant(32, 1));
    one = LLVM::MulOp::create(b, loc, one, constant(32, from));
    chosen = LLVM::XOrOp::create(b, loc, chosen, one);
  }
  Registers results;
  for (auto [reg, lanes] : shuffle.sources) {
    Value source =
        LLVM::XOrOp::create(b, loc, chosen, constant(32, int64_t(lanes)));
    results.push_back(NVVM::ShflOp::create(
        b, loc, operand[size_t(reg)].getType(), constant(32, -1),
        operand[size_t(reg)], source, constant(32, tile::lanesPerWarp - 1),
        NVVM::ShflKind::idx, UnitAttr()));
  }
  return results;
}

LogicalResult Emitter::emitConvertLayout(tile::ConvertLayoutOp op) {
  const LinearLayout &from = tile::layoutOf(op.getValue().getType());
  const LinearLayout &to = tile::layoutOf(op.getType());
  const Registers operand = get(op.getValue());
  Registers results;
  if (!isRegisterRenaming(from, to) && shufflesWarps(op)) {
    set(op.getResult(), shuffled(operand, *warpShuffle(from, to)));
    return success();
  }
  if (!plan.exchanges(op)) {
    std::map<tile::Basis, int64_t> registerAt;
    for (int64_t reg = 0; reg < from.numRegisters(); ++reg)
      registerAt[from.registerCoordinate(reg)] = reg;
    for (int64_t reg = 0; reg < to.numRegisters(); ++reg)
      results.push_back(operand[registerAt.at(to.registerCoordinate(reg))]);
    set(op.getResult(), std::move(results));
    return success();
  }

  // Through shared memory: a padded row-major image of the tile.
  const bool isBool = op.getType().getElementType().isInteger(1);
  Type element = isBool ? b.getI8Type() : registerType(op.getType());
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  const int64_t pitch = imagePitch(from, to, bytes);
  Value image = sharedPointer(plan.offsetOf(op));

  // Element index of register `reg`. Register and thread parts add where they
  // touch different bits; else they combine by exclusive or, dim by dim.
  auto addressOf = [&](const LinearLayout &layout) {
    Value row = threadCoordinate(layout, tile::rowDim);
    Value column = threadCoordinate(layout, tile::colDim);
    const bool adds = layout.registersAdd();
    auto indexOf = [this, pitch](Value row, Value column) {
      Value index = LLVM::MulOp::create(b, loc, row, constant(32, pitch));
      return add(index, column);
    };
    Value first = adds ? indexOf(row, column) : Value();
    if (adds)
      first = LLVM::GEPOp::create(b, loc, image.getType(), element, image,
                                  ValueRange{first});
    return [=, this, &layout](int64_t reg) -> Value {
      const tile::Basis at = layout.registerCoordinate(reg);
      if (adds) {
        const int64_t offset = at[0] * pitch + at[1];
        if (!offset)
          return first;
        return LLVM::GEPOp::create(
            b, loc, image.getType(), element, first,
            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(offset))});
      }
      auto [rows, cols] = layout.linearShape();
      auto place = [&](Value thread, int32_t coordinate, int64_t size) {
        const int32_t inLinear = int32_t(coordinate % size);
        Value value =
            LLVM::XOrOp::create(b, loc, thread, constant(32, inLinear));
        return add(value, constant(32, coordinate - inLinear));
      };
      Value index =
          indexOf(place(row, at[0], rows), place(column, at[1], cols));
      return LLVM::GEPOp::create(b, loc, image.getType(), element, image,
                                 ValueRange{index});
    };
  };
  auto widthOf = [&](const LinearLayout &layout) {
    if (!layout.registersAdd())
      return 1;
    int64_t width = std::min<int64_t>(contiguousColumns(layout), 16 / bytes);
    while (pitch % width)
      width /= 2;
    return int(width);
  };

  if (plan.needsBarrierBefore(op))
    barrier();
  auto writeAddress = addressOf(from);
  const int writeWidth = widthOf(from);
  const Words written = wordsOf(element, writeWidth);
  guarded(ownerPredicate(from), {}, [&] {
    for (int64_t reg = 0; reg < from.numRegisters(); reg += writeWidth) {
      SmallVector<Value> elements;
      for (int i = 0; i < writeWidth; ++i) {
        Value value = operand[reg + i];
        if (isBool)
          value = LLVM::ZExtOp::create(b, loc, element, value);
        elements.push_back(value);
      }
      LLVM::StoreOp::create(b, loc, pack(elements, written), writeAddress(reg),
                            unsigned(written.bytes));
    }
    return Registers();
  });
  barrier();
  auto readAddress = addressOf(to);
  const int readWidth = widthOf(to);
  const Words read = wordsOf(element, readWidth);
  for (int64_t reg = 0; reg < to.numRegisters(); reg += readWidth) {
    Value loaded = LLVM::LoadOp::create(b, loc, read.type, readAddress(reg),
                                        unsigned(read.bytes));
    unpack(loaded, read, element, results);
  }
  if (isBool)
    for (Value &value : results)
      value = LLVM::TruncOp::create(b, loc, b.getI1Type(), value);
  set(op.getResult(), std::move(results));
  return success();
}
