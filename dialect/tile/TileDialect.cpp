//===- TileDialect.cpp - The tile dialect and its layout attribute --------===//
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tandem::tile;

#include "dialect/tile/TileDialect.cpp.inc"
#include "dialect/tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/tile/TileAttrs.cpp.inc"

namespace {
/// Prints layouts once, as aliases at the top of a module.
struct AliasLayouts final : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    if (!isa<LayoutAttr>(attribute))
      return AliasResult::NoAlias;
    os << "layout";
    return AliasResult::FinalAlias;
  }
};
} // namespace

void TileDialect::initialize() {
  addInterfaces<AliasLayouts>();
  registerTypes();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/tile/TileOps.cpp.inc"
      >();
}

//===--- Tile types -------------------------------------------------------===//

bool tandem::tile::isTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.hasStaticShape() &&
         isa_and_nonnull<LayoutAttr>(tensor.getEncoding());
}

const LinearLayout &tandem::tile::layoutOf(Type type) {
  assert(isTile(type) && "a tile");
  return cast<LayoutAttr>(cast<RankedTensorType>(type).getEncoding())
      .getValue();
}

RankedTensorType tandem::tile::tileType(Type element,
                                        const LinearLayout &layout) {
  return RankedTensorType::get(layout.shape(), element,
                               LayoutAttr::get(element.getContext(), layout));
}

//===--- The layout attribute ---------------------------------------------===//

llvm::hash_code tandem::tile::hash_value(const LinearLayout &layout) {
  llvm::hash_code hash = llvm::hash_combine(layout.repeat[0], layout.repeat[1]);
  for (const Bases *bases : {&layout.registers, &layout.lanes, &layout.warps}) {
    hash = llvm::hash_combine(hash, bases->size());
    for (const Basis &basis : *bases)
      hash = llvm::hash_combine(hash, basis[0], basis[1]);
  }
  return hash;
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 LinearLayout value) {
  if (std::string problem = value.problem(); !problem.empty())
    return emitError() << "layout: " << problem;
  return success();
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != 2)
    return emitError() << "a tile has rank 2, got rank " << shape.size();
  auto [rows, cols] = getValue().shape();
  if (shape[0] != rows || shape[1] != cols)
    return emitError() << "layout covers a " << rows << "x" << cols
                       << " tile, but the tensor is " << shape[0] << "x"
                       << shape[1];
  return success();
}

static ParseResult parsePair(AsmParser &parser, Basis &pair) {
  return failure(parser.parseLSquare() || parser.parseInteger(pair[0]) ||
                 parser.parseComma() || parser.parseInteger(pair[1]) ||
                 parser.parseRSquare());
}

static ParseResult parseBases(AsmParser &parser, StringRef name, Bases &bases) {
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parsePair(parser, bases.emplace_back());
  });
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  LinearLayout layout;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseBases(parser, "register", layout.registers) ||
      parser.parseComma() || parseBases(parser, "lane", layout.lanes) ||
      parser.parseComma() || parseBases(parser, "warp", layout.warps))
    return {};
  if (succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("repeat") || parser.parseEqual() ||
        parsePair(parser, layout.repeat))
      return {};
  if (parser.parseGreater())
    return {};
  return LayoutAttr::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), layout);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  std::string text = getValue().text();
  if (StringRef(text).ends_with(", repeat = [1, 1]"))
    text.resize(text.size() - StringRef(", repeat = [1, 1]").size());
  printer << "<" << text << ">";
}

//===--- tile.warps -------------------------------------------------------===//

/// Warps of the code that \p op stands in: of its region of a partition, or of
/// the kernel.
static int64_t warpsAround(Operation *op, int64_t kernelWarps) {
  for (Operation *inner = op, *outer = op->getParentOp(); outer;
       inner = outer, outer = outer->getParentOp())
    if (auto partition = dyn_cast<PartitionOp>(outer)) {
      Region *region = inner->getParentRegion();
      if (region->getRegionNumber() < partition.getWarps().size())
        return partition.getWarps()[region->getRegionNumber()];
    }
  return kernelWarps;
}

/// Checks that the tiles of \p op belong to the warps it runs on, and that an
/// elementwise op does not mix layouts: its own verifier compares only shapes.
static LogicalResult verifyTiles(Operation *op, int64_t kernelWarps) {
  auto check = [&](Type type, StringRef what) -> LogicalResult {
    if (auto pending = dyn_cast<PendingType>(type))
      type = pending.getTile();
    if (!isTile(type))
      return success();
    const int64_t warps = warpsAround(op, kernelWarps);
    if (layoutOf(type).numWarps() != warps)
      return op->emitOpError()
             << what << " has a layout of " << layoutOf(type).numWarps()
             << " warps, but the kernel has tile.warps = " << warps;
    return success();
  };
  for (Type type : op->getOperandTypes())
    if (failed(check(type, "operand")))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(check(type, "result")))
      return failure();

  const StringRef dialect = op->getName().getDialectNamespace();
  if (dialect != "arith" && dialect != "math")
    return success();
  Attribute encoding;
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        continue;
      if (encoding && tensor.getEncoding() != encoding)
        return op->emitOpError()
               << "mixes two layouts; convert one with tile.convert_layout";
      encoding = tensor.getEncoding();
    }
  return success();
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == loopColumnsAttrName)
    return success();
  if (attribute.getName() == clusterAttrName) {
    auto value = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!value || value.getInt() < 1 || value.getInt() > 8)
      return op->emitOpError()
             << "tile.cluster must be 1 to 8, got " << attribute.getValue();
    return success();
  }
  if (attribute.getName() != warpsAttrName)
    return op->emitOpError() << "no attribute is named '"
                             << attribute.getName().getValue() << "'";
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError() << "tile.warps belongs on a function";
  auto value = dyn_cast<IntegerAttr>(attribute.getValue());
  // A partition's regions have layouts, the kernel as a whole has not.
  bool isPartitioned = false;
  op->walk([&](PartitionOp) { isPartitioned = true; });
  if (!value || value.getInt() < 1 || value.getInt() > 32 ||
      (!isPartitioned && (value.getInt() & (value.getInt() - 1))))
    return op->emitOpError() << "tile.warps must be a power of two from 1 to "
                                "32, got "
                             << attribute.getValue();
  WalkResult walked = op->walk([&](Operation *inner) {
    return failed(verifyTiles(inner, value.getInt())) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}
