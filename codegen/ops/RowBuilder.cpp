//===- RowBuilder.cpp - Building a kernel step by step --------------------===//
#include "codegen/ops/RowBuilder.h"

#include "codegen/ops/MatmulPipeline.h"
#include "codegen/schedule/LoopColumns.h"
#include "codegen/schedule/ReductionOrder.h"
#include "dialect/insn/InsnDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"

#include <algorithm>
#include <charconv>

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

static tile::LinearLayout layoutFor(const KernelSchedule &schedule) {
  using tile::LinearLayout;
  int64_t rows = schedule.tileRows, cols = schedule.tileCols;
  switch (schedule.plan.family) {
  case Family::RowWise:
  case Family::Attention:
  case Family::Recurrence:
    break;
  case Family::Matmul:
    if (schedule.pipeline.isSwapped)
      return LinearLayout::mmaAccumulator(cols, rows, 8, 1).transpose();
    if (schedule.pipeline.isUsed())
      return LinearLayout::mmaAccumulator(rows, sliceCols, 8, 1);
    return schedule.usesTensorCore
               ? LinearLayout::mmaAccumulator(rows, cols, 2, 2)
               : LinearLayout::fmaAccumulator(rows, cols, 2, 2);
  case Family::Gemv:
    // The accumulator that remains when k is summed.
    return LinearLayout::blocked(rows, schedule.tileDepth, schedule.threadCols,
                                 schedule.warps)
        .dropColumns();
  }
  return LinearLayout::blocked(
      rows, cols,
      static_cast<int>(std::min<int64_t>(schedule.threadCols, cols)),
      schedule.warps);
}

RowBuilder::RowBuilder(OpBuilder &builder, const KernelSchedule &schedule,
                       const ScheduleInput &input)
    : layout(layoutFor(schedule)), rowLayout(layout.dropColumns()),
      colLayout(layout.dropRows()), b(builder.getUnknownLoc(), builder),
      schedule(schedule), input(input) {}

func::FuncOp RowBuilder::build(const std::string &name) {
  func = func::FuncOp::create(b, name, b.getFunctionType({}, {}));
  func->setAttr(tile::warpsAttrName, b.getI32IntegerAttr(schedule.warps));
  if (schedule.loopsColumns && schedule.plan.family == Family::RowWise)
    func->setAttr(tile::loopColumnsAttrName,
                  b.getI64IntegerAttr(schedule.tileCols));
  entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  if (schedule.pipeline.isUsed()) {
    if (schedule.pipeline.cluster() > 1)
      func->setAttr(tile::clusterAttrName,
                    b.getI32IntegerAttr(schedule.pipeline.cluster()));
    current = schedule.plan.steps[0];
    buildPipeline(*this, [&](Value sum, Value row, Value col) {
      emitSlices(sum, row, col);
    });
  } else {
    // Nothing may be read before; the next launch may start at once, as it
    // waits like this one.
    if (schedule.startsEarly) {
      tile::GridWaitOp::create(b);
      tile::GridReleaseOp::create(b);
    }
    place();
    emitSteps();
  }
  func::ReturnOp::create(b, ValueRange());
  func.setFunctionType(b.getFunctionType(entry->getArgumentTypes(), {}));
  return func;
}

void RowBuilder::emitSteps() {
  for (auto [i, step] : llvm::enumerate(schedule.plan.steps)) {
    current = step;
    StepContract contract;
    contract.step = static_cast<int>(i);
    contract.op = input.recipe.steps[step].op;
    contracts.push_back(std::move(contract));
    // A prologue is computed where its result is read.
    if (step != schedule.plan.prologue)
      loweringOf(input.recipe.steps[step].op).emit(*this);
  }
  for (StepContract &contract : contracts)
    std::sort(contract.approx.begin(), contract.approx.end());
  applyGuards();
  // All reads come before the first write: an output may lie on an input.
  for (const Pending &pending : stores)
    store(pending);
}

static Value divide(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::DivUIOp::create(b, x, y);
}
static Value remainder(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::RemUIOp::create(b, x, y);
}

void RowBuilder::emitSlices(Value sum, Value row, Value col) {
  auto wide = [&](Value number) -> Value {
    return arith::ExtUIOp::create(b, b.getI64Type(), number);
  };
  tileRow = row;
  firstRow = wide(row);
  colEnd = scalar(schedule.colEnd);
  rows = rowsIn(rowLayout);
  live = rows.live;
  RankedTensorType slice = tile::tileType(b.getF32Type(), layout);
  const int64_t step = slice.getDimSize(1);
  for (int64_t start = 0; start < schedule.tileCols; start += step) {
    productTile = sum.getType() == slice
                      ? sum
                      : tile::ColumnsOp::create(b, slice, sum, start);
    tileCol = start ? Value(arith::AddIOp::create(
                          b, col,
                          arith::ConstantOp::create(
                              b, b.getI32IntegerAttr(int32_t(start)))))
                    : col;
    colStart = wide(tileCol);
    if (schedule.plan.leavesParts()) {
      part = divide(b, colStart, scalarConstant(schedule.partCols));
      // A tile of a cluster may lie beyond the last column.
      Value exists =
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, colStart, colEnd);
      partExists =
          tile::SplatOp::create(b, typeOf(b.getI1Type(), true, false), exists);
    }
    // All slices are computed alike, each from its own columns.
    values.clear();
    stores.clear();
    contracts.clear();
    emitSteps();
  }
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Value RowBuilder::addArg(KernelArg arg, Type type) {
  args.push_back(std::move(arg));
  return entry->addArgument(type, b.getLoc());
}

Value RowBuilder::scalarConstant(int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}

Value RowBuilder::scalar(const std::string &expression) {
  int64_t number = 0;
  const char *end = expression.data() + expression.size();
  if (auto [at, code] = std::from_chars(expression.data(), end, number);
      code == std::errc() && at == end)
    return scalarConstant(number);
  Value &known = scalars[expression];
  if (!known) {
    Result<IntExpr> parsed = IntExpr::parse(expression);
    assert(parsed && "the compiler writes well-formed expressions");
    known = addArg({KernelArg::Kind::I64, -1, parsed.take()}, b.getI64Type());
  }
  return known;
}

Value RowBuilder::pointer(const ScheduledOperand &operand) {
  Value &known = pointers[&operand];
  if (!known) {
    int index = static_cast<int>(&operand - schedule.operands.data());
    known = addArg({KernelArg::Kind::Pointer, index, IntExpr()},
                   LLVM::LLVMPointerType::get(b.getContext(), 1));
  }
  return known;
}

static MapType mapTypeOf(DType dtype) {
  switch (dtypeSize(dtype)) {
  case 1:
    return MapType::U8;
  case 2:
    return dtype == DType::BF16 ? MapType::BF16 : MapType::F16;
  default:
    return MapType::F32;
  }
}

Value RowBuilder::map(const ScheduledOperand &operand, const std::string &cols,
                      const std::string &rows, const std::string &stride,
                      int64_t boxRows, int64_t boxCols) {
  Value &known = maps[&operand];
  if (known)
    return known;
  auto expression = [](const std::string &text) {
    Result<IntExpr> parsed = IntExpr::parse(text);
    assert(parsed && "the compiler writes well-formed expressions");
    return parsed.take();
  };
  KernelArg arg;
  arg.kind = KernelArg::Kind::TensorMap;
  arg.operand = static_cast<int>(&operand - schedule.operands.data());
  arg.map.type = mapTypeOf(operand.desc.dtype);
  arg.map.dims = {expression(cols), expression(rows)};
  const std::string bytes = std::to_string(dtypeSize(operand.desc.dtype));
  arg.map.strides = {
      stride.empty() ? IntExpr(16) : expression("(" + stride + ") * " + bytes)};
  arg.map.box = {static_cast<int>(boxCols), static_cast<int>(boxRows)};
  arg.map.swizzle = MapSwizzle::B128;
  arg.map.promotion =
      schedule.pipeline.streamsW ? MapPromotion::L256 : MapPromotion::L128;
  known = addArg(std::move(arg),
                 tile::MapType::get(b.getContext(), boxRows, boxCols,
                                    elementType(operand.desc.dtype)));
  return known;
}

//===----------------------------------------------------------------------===//
// The tile's place in the space
//===----------------------------------------------------------------------===//

void RowBuilder::place() {
  // Ops that address heads find their own place.
  if (schedule.plan.family == Family::Attention ||
      schedule.plan.family == Family::Recurrence)
    return;
  Value id = tile::ProgramIdOp::create(b, b.getI64Type(), 0);
  if (schedule.plan.family == Family::Gemv)
    return placeGemv(id);
  Value rowBlock = id;
  colStart = scalarConstant(0);
  if (!schedule.colTiles.empty()) {
    Value colBlock = id;
    if (schedule.rows == "1") {
      rowBlock = scalarConstant(0);
    } else {
      Value tiles = scalar(schedule.colTiles);
      rowBlock = divide(b, id, tiles);
      colBlock = remainder(b, id, tiles);
    }
    part = colBlock;
    colStart =
        arith::MulIOp::create(b, colBlock, scalarConstant(schedule.tileCols));
    if (schedule.colBegin != "0")
      colStart = arith::AddIOp::create(b, colStart, scalar(schedule.colBegin));
  }
  colEnd = schedule.fillsColumns
               ? Value(arith::AddIOp::create(b, colStart,
                                             scalarConstant(schedule.tileCols)))
               : scalar(schedule.colEnd);
  firstRow =
      arith::MulIOp::create(b, rowBlock, scalarConstant(schedule.tileRows));
  rows = rowsIn(rowLayout);
  live = rows.live;
}

/// Divides the row number by the runs' sizes, innermost first.
static std::vector<Value> splitIndex(size_t runs, Value number,
                                     function_ref<Value(size_t)> sizeOf,
                                     ImplicitLocOpBuilder &b) {
  std::vector<Value> indices(runs);
  for (size_t run = runs; run-- > 1;) {
    Value size = sizeOf(run);
    indices[run] = remainder(b, number, size);
    number = divide(b, number, size);
  }
  if (runs)
    indices[0] = number;
  return indices;
}

RowBuilder::Rows RowBuilder::rowsIn(const tile::LinearLayout &layout) {
  Rows result;
  RankedTensorType type = tile::tileType(b.getI64Type(), layout);
  result.numbers = tile::RangeOp::create(b, type, firstRow);
  // One row a tile: the grid has no CTA beyond the last.
  if (schedule.tileRows > 1) {
    Value count = tile::SplatOp::create(b, type, scalar(schedule.rows));
    result.live = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                        result.numbers, count);
  }
  auto splat = [&](Value scalar) -> Value {
    return tile::SplatOp::create(b, type, scalar);
  };
  if (schedule.sharesOuterRuns) {
    // One division for all rows of the tile.
    result.indices = splitIndex(
        schedule.rowRuns.size(), firstRow,
        [&](size_t run) { return scalar(schedule.rowSizes[run]); }, b);
    for (Value &index : result.indices)
      index = splat(index);
    Value further = tile::RangeOp::create(b, type, scalarConstant(0));
    result.indices.back() =
        arith::AddIOp::create(b, result.indices.back(), further);
    return result;
  }
  result.indices = splitIndex(
      schedule.rowRuns.size(), result.numbers,
      [&](size_t run) { return splat(scalar(schedule.rowSizes[run])); }, b);
  return result;
}

/// A CTA has one row of x; the tile's rows are columns of the space.
void RowBuilder::placeGemv(Value id) {
  Value tiles = scalar(schedule.colTiles);
  Value rest = divide(b, id, tiles);
  part = remainder(b, id, tiles);
  Value first =
      arith::MulIOp::create(b, part, scalarConstant(schedule.tileRows));
  if (schedule.colBegin != "0")
    first = arith::AddIOp::create(b, first, scalar(schedule.colBegin));
  RankedTensorType type = typeOf(b.getI64Type(), true, false);
  gemvColumns = tile::RangeOp::create(b, type, first);
  Value end = tile::SplatOp::create(b, type, scalar(schedule.colEnd));
  live = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, gemvColumns, end);
  colStart = scalarConstant(0);
  colEnd = scalarConstant(1);
  rows.indices = splitIndex(
      schedule.rowRuns.size(), rest,
      [&](size_t run) { return scalar(schedule.rowSizes[run]); }, b);
}

Value RowBuilder::liveRows() {
  if (live)
    return live;
  Value count =
      tile::SplatOp::create(b, rows.numbers.getType(), scalar(schedule.rows));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rows.numbers,
                               count);
}

Value RowBuilder::offsetsOf(const Rows &rows, const ScheduledOperand &operand) {
  Value sum;
  auto add = [&](Value index, const std::string &stride) {
    Value term = index;
    if (stride != "1") {
      Value factor = scalar(stride);
      if (isa<RankedTensorType>(index.getType()))
        factor = tile::SplatOp::create(b, index.getType(), factor);
      term = arith::MulIOp::create(b, index, factor);
    }
    sum = sum ? Value(arith::AddIOp::create(b, sum, term)) : term;
  };
  for (auto [run, index] : llvm::enumerate(rows.indices))
    if (!operand.rowStrides[run].empty())
      add(index, operand.rowStrides[run]);
  if (schedule.plan.family != Family::Gemv)
    return sum;
  // A gemv's row of x is one number; the tile's rows are columns.
  bool isX = operand.usage == Usage::MatmulX ||
             operand.usage == Usage::RowIndex || operand.usage == Usage::Part;
  RankedTensorType type = typeOf(b.getI64Type(), !isX, false);
  if (sum)
    sum = tile::SplatOp::create(b, type, sum);
  if (!isX && !operand.colStride.empty())
    add(gemvColumns, operand.colStride);
  return sum;
}

Value RowBuilder::firstRowOffset(const ScheduledOperand &operand) {
  Rows first;
  first.indices = splitIndex(
      schedule.rowRuns.size(), firstRow,
      [&](size_t run) { return scalar(schedule.rowSizes[run]); }, b);
  Value offset = offsetsOf(first, operand);
  if (!offset)
    return offset;
  return tile::SplatOp::create(b, typeOf(b.getI64Type(), false, false), offset);
}

Value RowBuilder::rowOffsets(const ScheduledOperand &operand) {
  auto [found, isNew] = offsets.try_emplace(&operand);
  if (isNew)
    found->second = offsetsOf(rows, operand);
  return found->second;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value RowBuilder::broadcastTo(Value value, bool rows, bool cols) {
  auto type = cast<RankedTensorType>(value.getType());
  rows |= type.getDimSize(0) > 1;
  cols |= type.getDimSize(1) > 1;
  if (rows == (type.getDimSize(0) > 1) && cols == (type.getDimSize(1) > 1))
    return value; // of any layout
  RankedTensorType target = typeOf(type.getElementType(), rows, cols);
  if (target == type)
    return value;
  return tile::BroadcastOp::create(b, target, value);
}

Tile RowBuilder::reduce(tile::ReduceKind kind, Tile value, TypedAttr fill) {
  Value full = broadcastTo(value.value, false, true);
  bool hasRows = cast<RankedTensorType>(full.getType()).getDimSize(0) > 1;
  Value masked =
      tile::MaskOp::create(b, full.getType(), full, colStart, colEnd, fill);
  return {tile::ReduceOp::create(b, typeOf(value.element(), hasRows, false),
                                 kind, masked),
          this};
}

void RowBuilder::noteReduction() {
  ReductionOrder order = reductionOrder(schedule);
  contract().depth = order.depth;
  contract().order = order.text;
}

Tile RowBuilder::reduceSum(Tile value) {
  noteReduction();
  return reduce(tile::ReduceKind::Sum, value, b.getF32FloatAttr(0));
}

Tile RowBuilder::reduceMax(Tile value) {
  return reduce(tile::ReduceKind::Max, value,
                b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
}

Tile RowBuilder::reduceMaxUnsigned(Tile value) {
  return reduce(tile::ReduceKind::MaxU, value,
                cast<TypedAttr>(b.getZeroAttr(value.element())));
}

Tile RowBuilder::numCols() {
  Value count =
      arith::UIToFPOp::create(b, b.getF32Type(), scalar(schedule.colEnd));
  return {tile::SplatOp::create(b, typeOf(b.getF32Type(), false, false), count),
          this};
}

Tile RowBuilder::spaceColumns() {
  if (gemvColumns)
    return {gemvColumns, this};
  return {
      tile::RangeOp::create(b, typeOf(b.getI64Type(), false, true), colStart),
      this};
}

Tile RowBuilder::approx(tile::ApproxKind kind, Tile value) {
  return {tile::ApproxOp::create(b, value.type(), kind, value.value), this};
}

void RowBuilder::noteApprox(std::string name) {
  std::vector<std::string> &names = contract().approx;
  if (std::find(names.begin(), names.end(), name) == names.end())
    names.push_back(std::move(name));
}
