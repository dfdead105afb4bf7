//===- RowMemory.cpp - What a kernel reads and writes ---------------------===//
#include "codegen/ops/RowBuilder.h"

#include "dialect/insn/InsnDialect.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

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
  return operandOf(current, arg, usage);
}

const ScheduledOperand &RowBuilder::operandOf(int step, size_t arg,
                                              Usage usage) const {
  int updated = input.graph.updates[step][arg];
  const ScheduledOperand *operand = schedule.find(
      updated >= 0 ? updated : input.graph.args[step][arg], usage);
  assert(operand && "the schedule lists what its steps read");
  return *operand;
}

const ScheduledOperand *RowBuilder::resultOperand(size_t result) const {
  int value = input.graph.results[current][result];
  for (const ScheduledOperand &operand : schedule.operands)
    if (operand.value == value && operand.isWritten)
      return &operand;
  return nullptr;
}

RowBuilder::Computed &RowBuilder::computed(int value) {
  Computed &entry = values[value];
  if (entry.raw)
    return entry;
  const ScheduledOperand *operand = schedule.find(value, Usage::Space);
  if (!operand)
    operand = schedule.find(value, Usage::Split);
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
      stores.push_back({&operand, raw.value, Value(), Value()});
}

void RowBuilder::storeAt(const ScheduledOperand &operand, Tile raw,
                         Value offsets, Value mask) {
  stores.push_back({&operand, raw.value, offsets, mask});
}

Value RowBuilder::indexAlong(int dim) {
  RankedTensorType type = tile::tileType(b.getI64Type(), rowLayout);
  for (auto [run, dims] : llvm::enumerate(schedule.rowRuns))
    if (dims.size() == 1 && dims[0] == dim)
      return rows.indices[run];
  return tile::SplatOp::create(b, type, scalarConstant(0));
}

void RowBuilder::leavePart(Tile keys) {
  const ScheduledOperand &operand =
      *schedule.find(schedule.plan.partials, Usage::Part);
  Type i64 = b.getI64Type();
  if (schedule.plan.family != Family::Gemv) {
    stores.push_back({&operand, reduceMaxUnsigned(keys).value, {}, {}});
    return;
  }
  // The tile's rows are the columns.
  Tile none = likeInt(keys, i64, 0);
  Value inside = select({live, this}, keys, none).value;
  tile::LinearLayout across = layout.transpose();
  Value turned =
      tile::TransposeOp::create(b, tile::tileType(i64, across), inside);
  Value largest =
      tile::ReduceOp::create(b, tile::tileType(i64, across.dropColumns()),
                             tile::ReduceKind::MaxU, turned);
  stores.push_back({&operand, largest, {}, {}});
}

void RowBuilder::storePart(const Pending &pending) {
  const ScheduledOperand &operand = *pending.operand;
  const bool isGemv = schedule.plan.family == Family::Gemv;
  Value mask = isGemv ? Value() : live;
  if (partExists)
    mask =
        mask ? Value(arith::AndIOp::create(b, mask, partExists)) : partExists;
  Value offsets =
      tile::SplatOp::create(b, typeOf(b.getI64Type(), !isGemv, false), part);
  if (Value rows = rowOffsets(operand))
    offsets = arith::AddIOp::create(b, offsets, rows);
  tile::StoreOp::create(b, pending.value, pointer(operand), offsets, mask,
                        scalarConstant(0), scalarConstant(1), Value(), 1);
}

void RowBuilder::store(const Pending &pending) {
  const ScheduledOperand &operand = *pending.operand;
  if (operand.usage == Usage::Part)
    return storePart(pending);
  bool hasCols =
      schedule.plan.family != Family::Gemv && !operand.colStride.empty();
  Value value = broadcastTo(pending.value, true, hasCols);
  if (operand.usesMap) {
    const std::string stride =
        schedule.rowRuns.empty() ? "" : operand.rowStrides[0];
    auto type = cast<RankedTensorType>(value.getType());
    // A box is 64 rows (AsyncStore).
    Value target = map(operand, schedule.colEnd, schedule.rows, stride, 64,
                       type.getDimSize(1));
    tile::AsyncStoreOp::create(b, value, target, tileRow, tileCol);
    return;
  }
  Value mask = live;
  if (keptRows && isFinal(operand))
    mask = mask ? Value(arith::AndIOp::create(b, mask, keptRows)) : keptRows;
  if (pending.mask)
    mask = mask ? Value(arith::AndIOp::create(b, mask, pending.mask))
                : pending.mask;
  Value offsets = rowOffsets(operand);
  if (pending.offsets)
    offsets = offsets
                  ? Value(arith::AddIOp::create(b, offsets, pending.offsets))
                  : pending.offsets;
  bool isUnit = !hasCols || operand.colStride == "1";
  tile::StoreOp::create(b, value, pointer(operand), offsets, mask,
                        hasCols ? colStart : scalarConstant(0),
                        hasCols ? colEnd : scalarConstant(1),
                        isUnit ? Value() : scalar(operand.colStride),
                        hasCols ? operand.vector : 1);
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

Tile RowBuilder::loadRowIndex(const ScheduledOperand &ids) {
  bool isGemv = schedule.plan.family == Family::Gemv;
  RankedTensorType type = typeOf(elementType(ids.desc.dtype), !isGemv, false);
  Value raw = loadTile(ids, pointer(ids), type, rowOffsets(ids),
                       isGemv ? Value() : live, scalarConstant(0),
                       scalarConstant(1), "1", 1);
  return convert(ids.desc.dtype, DType::I64, {raw, this});
}

/// Unsigned: a negative id is larger than any table.
Value RowBuilder::isInTable(Tile id, const ScheduledOperand &table) {
  Value size = tile::SplatOp::create(b, id.type(), scalar(table.shape(0)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, id.value, size);
}

/// Rows that an earlier kernel failed to gather.
void RowBuilder::applyGuards() {
  for (auto [ids, table] : schedule.plan.guards) {
    Tile id = loadRowIndex(*schedule.find(ids, Usage::RowIndex));
    Value good = broadcastTo(
        isInTable(id, *schedule.find(table, Usage::Extent)), true, false);
    keptRows =
        keptRows ? Value(arith::AndIOp::create(b, keptRows, good)) : good;
  }
}

Value RowBuilder::param(const std::string &name, Value batch) {
  std::optional<size_t> arg = params().operandOf(name);
  if (!arg)
    return params().has(name) ? scalarConstant(params().getInt(name, 0))
                              : Value();
  const ScheduledOperand &operand = operandOf(*arg, Usage::Param);
  const std::vector<Dim> &shape = input.graph.values[operand.value].type.shape;
  Value offset = scalarConstant(0);
  // One number may stand for all sequences.
  if (batch && !shape.empty() && shape[0] != Dim(1))
    offset = arith::MulIOp::create(
        b, batch,
        scalar("(" + operand.shape(0) + " > 1) * " + operand.stride(0)));
  Value held =
      tile::LoadScalarOp::create(b, b.getI32Type(), pointer(operand), offset);
  return arith::ExtSIOp::create(b, b.getI64Type(), held);
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

Value RowBuilder::errorSlotPointer() {
  if (!errorSlot)
    errorSlot = addArg({KernelArg::Kind::ErrorSlot, -1, IntExpr()},
                       LLVM::LLVMPointerType::get(b.getContext(), 1));
  return errorSlot;
}

void RowBuilder::reportRows(Value bad, Value index) {
  tile::ReportErrorOp::create(b, errorSlotPointer(), bad,
                              index ? index : rows.numbers, current);
}

void RowBuilder::reportRow(Value bad, Value row) {
  Value slot = errorSlotPointer();
  auto splat = [&](Value scalar) -> Value {
    return tile::SplatOp::create(b, typeOf(scalar.getType(), false, false),
                                 scalar);
  };
  tile::ReportErrorOp::create(b, slot, splat(bad), splat(row), current);
}
