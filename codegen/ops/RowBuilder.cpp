//===- RowBuilder.cpp - Building a kernel step by step --------------------===//
#include "codegen/ops/RowBuilder.h"

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
    break;
  case Family::Matmul:
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
  if (schedule.loopsColumns)
    func->setAttr(loopColumnsAttrName, b.getI64IntegerAttr(schedule.tileCols));
  entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  place();
  for (auto [i, step] : llvm::enumerate(schedule.plan.steps)) {
    current = step;
    StepContract contract;
    contract.step = static_cast<int>(i);
    contract.op = input.recipe.steps[step].op;
    contracts.push_back(std::move(contract));
    loweringOf(input.recipe.steps[step].op).emit(*this);
    std::sort(contracts.back().approx.begin(), contracts.back().approx.end());
  }
  // All reads come before the first write: an output may lie on an input.
  for (const Pending &pending : stores)
    store(pending);
  func::ReturnOp::create(b, ValueRange());
  func.setFunctionType(b.getFunctionType(entry->getArgumentTypes(), {}));
  return func;
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

//===----------------------------------------------------------------------===//
// The tile's place in the space
//===----------------------------------------------------------------------===//

static Value divide(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::DivUIOp::create(b, x, y);
}
static Value remainder(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::RemUIOp::create(b, x, y);
}

void RowBuilder::place() {
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
    colStart =
        arith::MulIOp::create(b, colBlock, scalarConstant(schedule.tileCols));
    if (schedule.colBegin != "0")
      colStart = arith::AddIOp::create(b, colStart, scalar(schedule.colBegin));
  }
  colEnd = scalar(schedule.colEnd);
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
  result.indices = splitIndex(
      schedule.rowRuns.size(), result.numbers,
      [&](size_t run) -> Value {
        return tile::SplatOp::create(b, type, scalar(schedule.rowSizes[run]));
      },
      b);
  return result;
}

/// A CTA has one row of x; the tile's rows are columns of the space.
void RowBuilder::placeGemv(Value id) {
  Value tiles = scalar(schedule.colTiles);
  Value rest = divide(b, id, tiles);
  Value first = arith::MulIOp::create(b, remainder(b, id, tiles),
                                      scalarConstant(schedule.tileRows));
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
  bool isX = operand.usage == Usage::MatmulX;
  RankedTensorType type = typeOf(b.getI64Type(), !isX, false);
  if (sum)
    sum = tile::SplatOp::create(b, type, sum);
  if (!isX && !operand.colStride.empty())
    add(gemvColumns, operand.colStride);
  return sum;
}

Value RowBuilder::rowOffsets(const ScheduledOperand &operand) {
  auto [found, isNew] = offsets.try_emplace(&operand);
  if (isNew)
    found->second = offsetsOf(rows, operand);
  return found->second;
}

//===----------------------------------------------------------------------===//
// Types, loads and stores
//===----------------------------------------------------------------------===//

Type RowBuilder::elementType(DType dtype) const {
  // Tiles are signless; conversions know the sign.
  if (dtype == DType::U8)
    return IntegerType::get(b.getContext(), 8);
  return insn::mlirTypeOf(dtype, b.getContext());
}

RankedTensorType RowBuilder::typeOf(Type element, bool hasRows, bool hasCols) {
  hasRows |= schedule.tileRows == 1;
  hasCols |= schedule.tileCols == 1;
  if (hasRows && hasCols)
    return tile::tileType(element, layout);
  if (hasRows)
    return tile::tileType(element, rowLayout);
  if (hasCols)
    return tile::tileType(element, colLayout);
  return tile::tileType(element, rowLayout.dropRows());
}

static TypedAttr zeroOf(OpBuilder &b, Type element) {
  return cast<TypedAttr>(b.getZeroAttr(element));
}

Value RowBuilder::loadTile(const ScheduledOperand &operand, Value base,
                           RankedTensorType type, Value rows, Value mask,
                           Value start, Value end, const std::string &stride,
                           int vector) {
  Value step = stride == "1" ? Value() : scalar(stride);
  return tile::LoadOp::create(b, type, base, rows, mask, start, end, step,
                              zeroOf(b, type.getElementType()), vector);
}

const ScheduledOperand &RowBuilder::operandOf(size_t arg, Usage usage) const {
  const ScheduledOperand *operand =
      schedule.find(input.graph.args[current][arg], usage);
  assert(operand && "the schedule lists what its steps read");
  return *operand;
}

RowBuilder::Computed &RowBuilder::computed(int value) {
  Computed &entry = values[value];
  if (entry.raw)
    return entry;
  const ScheduledOperand *operand = schedule.find(value, Usage::Space);
  assert(operand && "a value is computed here or read");
  bool isGemv = schedule.plan.family == Family::Gemv;
  bool hasRows = isGemv || operand->variesByRow();
  bool hasCols = !isGemv && !operand->colStride.empty();
  RankedTensorType type =
      typeOf(elementType(operand->desc.dtype), hasRows, hasCols);
  Value zero = scalarConstant(0), one = scalarConstant(1);
  entry.raw = loadTile(*operand, pointer(*operand), type, rowOffsets(*operand),
                       hasRows ? live : Value(), hasCols ? colStart : zero,
                       hasCols ? colEnd : one,
                       hasCols ? operand->colStride : "1", operand->vector);
  return entry;
}

DType RowBuilder::inputType(size_t arg) const {
  return input.graph.values[input.graph.args[current][arg]].type.dtype;
}

Tile RowBuilder::inputRaw(size_t arg) {
  return {computed(input.graph.args[current][arg]).raw, this};
}

Tile RowBuilder::input32(size_t arg) {
  Computed &entry = computed(input.graph.args[current][arg]);
  if (!entry.f32)
    entry.f32 = convert(inputType(arg), DType::F32, {entry.raw, this}).value;
  return {entry.f32, this};
}

void RowBuilder::result(Tile f32) {
  resultRaw(convert(DType::F32, resultType(), f32));
}

void RowBuilder::resultRaw(Tile raw) {
  int value = input.graph.results[current][0];
  values[value] = {raw.value, Value()};
  for (const ScheduledOperand &operand : schedule.operands)
    if (operand.value == value && operand.isWritten)
      stores.push_back({&operand, raw.value});
}

void RowBuilder::store(const Pending &pending) {
  const ScheduledOperand &operand = *pending.operand;
  bool hasCols =
      schedule.plan.family != Family::Gemv && !operand.colStride.empty();
  Value value = broadcastTo(pending.value, true, hasCols);
  Value mask = live;
  if (keptRows)
    mask = mask ? Value(arith::AndIOp::create(b, mask, keptRows)) : keptRows;
  bool isUnit = !hasCols || operand.colStride == "1";
  tile::StoreOp::create(b, value, pointer(operand), rowOffsets(operand), mask,
                        hasCols ? colStart : scalarConstant(0),
                        hasCols ? colEnd : scalarConstant(1),
                        isUnit ? Value() : scalar(operand.colStride),
                        hasCols ? operand.vector : 1);
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

Tile RowBuilder::loadRowIndex(size_t arg) {
  const ScheduledOperand &operand = operandOf(arg, Usage::RowIndex);
  RankedTensorType type = typeOf(elementType(operand.desc.dtype), true, false);
  return {loadTile(operand, pointer(operand), type, rowOffsets(operand), live,
                   scalarConstant(0), scalarConstant(1), "1", 1),
          this};
}

Tile RowBuilder::loadTable(size_t arg, Value index, Value mask) {
  const ScheduledOperand &operand = operandOf(arg, Usage::Table);
  Value stride =
      tile::SplatOp::create(b, index.getType(), scalar(operand.stride(0)));
  Value rows = arith::MulIOp::create(b, index, stride);
  RankedTensorType type =
      typeOf(elementType(operand.desc.dtype), true, !operand.colStride.empty());
  return {loadTile(operand, pointer(operand), type, rows, mask, colStart,
                   colEnd, operand.colStride, operand.vector),
          this};
}

void RowBuilder::restrictRows(Value keep) { keptRows = keep; }

void RowBuilder::reportRows(Value bad) {
  if (!errorSlot)
    errorSlot = addArg({KernelArg::Kind::ErrorSlot, -1, IntExpr()},
                       LLVM::LLVMPointerType::get(b.getContext(), 1));
  tile::ReportErrorOp::create(b, errorSlot, bad, rows.numbers, current);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value RowBuilder::broadcastTo(Value value, bool rows, bool cols) {
  auto type = cast<RankedTensorType>(value.getType());
  rows |= type.getDimSize(0) > 1;
  cols |= type.getDimSize(1) > 1;
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
  return reduce(tile::ReduceKind::MaxU, value, zeroOf(b, value.element()));
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
