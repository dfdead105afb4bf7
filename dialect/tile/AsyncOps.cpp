//===- AsyncOps.cpp - Types and verifiers of asynchronous tile code -------===//
#include "dialect/tile/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tandem::tile;

#define GET_TYPEDEF_CLASSES
#include "dialect/tile/TileTypes.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/tile/TileTypes.cpp.inc"
      >();
}

//===--- Types ------------------------------------------------------------===//

static LogicalResult parseShaped(AsmParser &parser, int64_t &rows,
                                 int64_t &cols, Type &element) {
  SmallVector<int64_t> shape;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseGreater())
    return failure();
  if (shape.size() != 2)
    return parser.emitError(loc, "expected ROWSxCOLSxTYPE");
  rows = shape[0];
  cols = shape[1];
  return success();
}

template <typename T>
static Type parseShaped(AsmParser &parser) {
  int64_t rows = 0, cols = 0;
  Type element;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parseShaped(parser, rows, cols, element)))
    return {};
  return T::getChecked([&] { return parser.emitError(loc); },
                       parser.getContext(), rows, cols, element);
}

template <typename T>
static void printShaped(AsmPrinter &printer, T type) {
  printer << "<" << type.getRows() << "x" << type.getCols() << "x"
          << type.getElement() << ">";
}

Type SharedType::parse(AsmParser &parser) {
  return parseShaped<SharedType>(parser);
}
void SharedType::print(AsmPrinter &printer) const {
  printShaped(printer, *this);
}
Type MapType::parse(AsmParser &parser) { return parseShaped<MapType>(parser); }
void MapType::print(AsmPrinter &printer) const { printShaped(printer, *this); }

static LogicalResult verifyBox(function_ref<InFlightDiagnostic()> emitError,
                               int64_t rows, int64_t cols, Type element) {
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return emitError() << "elements of memory are whole bytes, got " << element;
  const int64_t bytes = cols * element.getIntOrFloatBitWidth() / 8;
  if (bytes != sharedRowBytes)
    return emitError() << "a row must have " << sharedRowBytes << " bytes, got "
                       << bytes;
  if (rows < 1 || rows > 256 || rows % sharedPatternRows)
    return emitError() << "rows must be a multiple of " << sharedPatternRows
                       << " up to 256, got " << rows;
  return success();
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rows, int64_t cols, Type element) {
  return verifyBox(emitError, rows, cols, element);
}

LogicalResult MapType::verify(function_ref<InFlightDiagnostic()> emitError,
                              int64_t rows, int64_t cols, Type element) {
  return verifyBox(emitError, rows, cols, element);
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t stages, ArrayRef<Type> parts) {
  if (stages < 1 || stages > 32)
    return emitError() << "stages must be 1 to 32, got " << stages;
  if (parts.empty())
    return emitError() << "a stage has at least one part";
  for (Type part : parts)
    if (!isa<SharedType>(part))
      return emitError() << "a part is a !tile.shared, got " << part;
  return success();
}

int64_t RingType::getPartOffset(size_t index) const {
  int64_t offset = 0;
  for (Type part : getParts().take_front(index))
    offset += cast<SharedType>(part).getBytes();
  return offset;
}

int64_t RingType::getStageBytes() const {
  return getPartOffset(getParts().size());
}

LogicalResult PendingType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  RankedTensorType tile) {
  if (!isTile(tile) || !tile.getElementType().isF32())
    return emitError() << "what is pending is an f32 tile, got " << tile;
  return success();
}

//===--- Partition --------------------------------------------------------===//

ParseResult PartitionOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<int32_t> warps, registers;
  while (succeeded(parser.parseOptionalKeyword("warps"))) {
    int32_t count = 0, each = 0;
    Region *group = result.addRegion();
    if (parser.parseLParen() || parser.parseInteger(count) ||
        parser.parseRParen() || parser.parseKeyword("registers") ||
        parser.parseLParen() || parser.parseInteger(each) ||
        parser.parseRParen() || parser.parseRegion(*group))
      return failure();
    if (group->empty())
      group->emplaceBlock();
    warps.push_back(count);
    registers.push_back(each);
  }
  result.addAttribute("warps", parser.getBuilder().getDenseI32ArrayAttr(warps));
  result.addAttribute("registers",
                      parser.getBuilder().getDenseI32ArrayAttr(registers));
  return parser.parseOptionalAttrDict(result.attributes);
}

void PartitionOp::print(OpAsmPrinter &printer) {
  for (auto [group, warps, registers] :
       llvm::zip(getGroups(), getWarps(), getRegisters())) {
    printer << " warps(" << warps << ") registers(" << registers << ") ";
    printer.printRegion(group);
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {"warps", "registers"});
}

/// Registers of an SM, and of a thread at most.
static constexpr int64_t registerFile = 65536;

LogicalResult PartitionOp::verify() {
  if (getWarps().size() != getGroups().size() ||
      getRegisters().size() != getGroups().size() || getGroups().empty())
    return emitOpError() << "needs warps and registers for each region";
  auto function = dyn_cast<FunctionOpInterface>((*this)->getParentOp());
  if (!function)
    return emitOpError() << "stands in a kernel's body";
  int64_t warps = 0, registers = 0;
  for (auto [count, each] : llvm::zip(getWarps(), getRegisters())) {
    if (count < 4 || count % 4)
      return emitOpError() << "warps must be a multiple of 4, got " << count;
    if (each < 24 || each > 256 || each % 8)
      return emitOpError()
             << "registers must be a multiple of 8 from 24 to 256, got "
             << each;
    warps += count;
    registers += int64_t(count) * lanesPerWarp * each;
  }
  // More than there are would wait for ever.
  if (registers > registerFile)
    return emitOpError() << "asks for " << registers << " registers, an SM has "
                         << registerFile;
  auto total = function->getAttrOfType<IntegerAttr>(warpsAttrName);
  if (total && total.getInt() != warps)
    return emitOpError() << "has " << warps << " warps, the kernel has "
                         << total.getInt();
  return success();
}

//===--- Rings ------------------------------------------------------------===//

LogicalResult RingOp::verify() {
  if (!isa<FunctionOpInterface>((*this)->getParentOp()))
    return emitOpError() << "stands in a kernel's body";
  return success();
}

template <typename StageOp>
static LogicalResult verifyStage(StageOp op) {
  if (op.getParts().getTypes() != TypeRange(op.getRing().getType().getParts()))
    return op.emitOpError() << "results must be the parts of a stage";
  return success();
}
LogicalResult AcquireOp::verify() { return verifyStage(*this); }
LogicalResult ReceiveOp::verify() { return verifyStage(*this); }

void AcquireOp::build(OpBuilder &builder, OperationState &state, Value ring,
                      Value turn) {
  build(builder, state, cast<RingType>(ring.getType()).getParts(), ring, turn);
}
void ReceiveOp::build(OpBuilder &builder, OperationState &state, Value ring,
                      Value turn) {
  build(builder, state, cast<RingType>(ring.getType()).getParts(), ring, turn);
}

//===--- Copies and products ----------------------------------------------===//

static int64_t clusterOf(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto cluster = function
                     ? function->getAttrOfType<IntegerAttr>(clusterAttrName)
                     : IntegerAttr();
  return cluster ? cluster.getInt() : 1;
}

/// The accumulator of wgmma: every four warps have the next 64 rows.
static bool isRowAccumulator(const LinearLayout &layout) {
  auto [rows, cols] = layout.shape();
  const int warps = layout.numWarps();
  return warps % 4 == 0 && rows % (16 * warps) == 0 && cols % 8 == 0 &&
         layout == LinearLayout::mmaAccumulator(rows, cols, warps, 1);
}

LogicalResult AsyncCopyOp::verify() {
  if (!llvm::is_contained({"", "evict_first", "evict_last"}, getCache()))
    return emitOpError() << "cache must be evict_first or evict_last, got "
                         << getCache();
  MapType map = getMap().getType();
  SharedType stage = getStage().getType();
  const int64_t copies = getMulticast() ? clusterOf(*this) : 1;
  if (map.getElement() != stage.getElement() ||
      map.getRows() * copies != stage.getRows())
    return emitOpError() << "the box of " << map << ", times " << copies
                         << " CTAs, must be " << stage;
  return success();
}

LogicalResult AsyncStoreOp::verify() {
  RankedTensorType type = getValue().getType();
  const LinearLayout &layout = layoutOf(type);
  MapType map = getMap().getType();
  if (!type.getElementType().isIntOrFloat() ||
      type.getElementType().getIntOrFloatBitWidth() != 16)
    return emitOpError() << "elements have 16 bits, got "
                         << type.getElementType();
  if (!isRowAccumulator(layout))
    return emitOpError() << "needs an accumulator layout with all warps along "
                            "the rows, got <"
                         << layout.text() << ">";
  if (map.getElement() != type.getElementType() || map.getRows() != 64 ||
      map.getCols() != type.getDimSize(1))
    return emitOpError() << "the map's box must be 64x" << type.getDimSize(1)
                         << "x" << type.getElementType() << ", got " << map;
  return success();
}

LogicalResult AsyncDotOp::verify() {
  SharedType a = getA().getType(), b = getB().getType();
  RankedTensorType acc = getResult().getType().getTile();
  Type element = a.getElement();
  if (element != b.getElement() || !(element.isF16() || element.isBF16()))
    return emitOpError() << "operands must both be f16 or bf16, got " << element
                         << " and " << b.getElement();
  if (acc.getDimSize(0) != a.getRows() || acc.getDimSize(1) != b.getRows())
    return emitOpError() << "shapes must be MxK, NxK and MxN, got " << a << ", "
                         << b << " and " << acc.getDimSize(0) << "x"
                         << acc.getDimSize(1);
  if (getAcc() && getAcc().getType() != getResult().getType())
    return emitOpError() << "acc and result must be of one type";
  const LinearLayout &layout = layoutOf(acc);
  if (!isRowAccumulator(layout))
    return emitOpError() << "needs an accumulator layout with all warps along "
                            "the rows, got <"
                         << layout.text() << ">";
  return success();
}

void AwaitOp::build(OpBuilder &builder, OperationState &state, Value value) {
  build(builder, state, cast<PendingType>(value.getType()).getTile(), value);
}

LogicalResult ColumnsOp::verify() {
  RankedTensorType from = getValue().getType(), to = getType();
  LinearLayout expected = layoutOf(from);
  const int64_t unit = expected.linearShape()[colDim];
  const int64_t start = getStart();
  if (from.getElementType() != to.getElementType() || to.getDimSize(1) % unit ||
      start % unit || start < 0 ||
      start + to.getDimSize(1) > from.getDimSize(1))
    return emitOpError() << "columns come in multiples of " << unit
                         << " within the operand's " << from.getDimSize(1)
                         << ", got " << to.getDimSize(1) << " from " << start;
  expected.repeat[colDim] = int32_t(to.getDimSize(1) / unit);
  if (layoutOf(to) != expected)
    return emitOpError() << "result must have the operand's layout with fewer "
                            "repetitions, <"
                         << expected.text() << ">, got <" << layoutOf(to).text()
                         << ">";
  return success();
}
