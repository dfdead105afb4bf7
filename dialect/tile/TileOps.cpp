//===- TileOps.cpp - Verifiers of the tile ops ----------------------------===//
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tandem::tile;

#define GET_OP_CLASSES
#include "dialect/tile/TileOps.cpp.inc"

/// Fails unless \p type has the layout \p expected; \p what names the operand
/// and \p rule says where the layout comes from.
static LogicalResult expectLayout(Operation *op, RankedTensorType type,
                                  const LinearLayout &expected,
                                  const Twine &what, const Twine &rule) {
  const LinearLayout &actual = layoutOf(type);
  if (actual == expected)
    return success();
  return op->emitOpError() << what << " must have " << rule << ", <"
                           << expected.text() << ">, got <" << actual.text()
                           << ">";
}

static LogicalResult expectAligned(Operation *op, RankedTensorType type) {
  if (layoutOf(type).isAxisAligned())
    return success();
  return op->emitOpError() << "needs a layout whose bases move along one dim "
                              "each, got <"
                           << layoutOf(type).text() << ">";
}

LogicalResult RangeOp::verify() {
  RankedTensorType type = getType();
  Type element = type.getElementType();
  if (!element.isInteger(32) && !element.isInteger(64))
    return emitOpError() << "numbers are i32 or i64, got " << element;
  if (type.getDimSize(0) != 1 && type.getDimSize(1) != 1)
    return emitOpError() << "result must be Rx1 or 1xC, got "
                         << type.getDimSize(0) << "x" << type.getDimSize(1);
  const int64_t granule = getGranule();
  if (granule < 1 || (granule & (granule - 1)))
    return emitOpError() << "granule must be a power of two, got " << granule;
  if (granule > 1 &&
      (type.getDimSize(0) != 1 || granule > contiguousColumns(layoutOf(type))))
    return emitOpError() << "granule = " << granule
                         << ", but the layout gives a thread only "
                         << contiguousColumns(layoutOf(type))
                         << " neighbouring columns";
  return success();
}

LogicalResult SplatOp::verify() {
  if (getScalar().getType() != getType().getElementType())
    return emitOpError() << "element type of the result must be "
                         << getScalar().getType() << ", got "
                         << getType().getElementType();
  return success();
}

/// The rules that load and store share.
template <typename AccessOp>
static LogicalResult verifyAccess(AccessOp op, RankedTensorType tile) {
  if (!tile.getElementType().isIntOrFloat() ||
      tile.getElementType().getIntOrFloatBitWidth() % 8)
    return op.emitOpError() << "elements of memory are whole bytes, got "
                            << tile.getElementType();
  if (failed(expectAligned(op, tile)))
    return failure();
  const LinearLayout &layout = layoutOf(tile);
  const LinearLayout rows = layout.dropColumns();
  const char *rule = "the tile's layout with the column bases dropped";
  if (op.getRows() &&
      failed(expectLayout(op, op.getRows().getType(), rows, "rows", rule)))
    return failure();
  if (op.getMask() &&
      failed(expectLayout(op, op.getMask().getType(), rows, "mask", rule)))
    return failure();
  const int64_t vector = op.getVector();
  if (vector < 1 || (vector & (vector - 1)))
    return op.emitOpError() << "vector must be a power of two, got " << vector;
  if (vector > 1 && op.getStride())
    return op.emitOpError()
           << "vector = " << vector << " needs stride 1, but a stride is given";
  const int contiguous = contiguousColumns(layout);
  if (vector > contiguous)
    return op.emitOpError()
           << "vector = " << vector << ", but the layout gives a thread only "
           << contiguous << " neighbouring columns";
  return success();
}

LogicalResult LoadOp::verify() {
  if (getPad().getType() != getType().getElementType())
    return emitOpError() << "pad must be of type " << getType().getElementType()
                         << ", got " << getPad().getType();
  return verifyAccess(*this, getType());
}

LogicalResult GatherOp::verify() {
  RankedTensorType type = getType();
  if (!type.getElementType().isIntOrFloat() ||
      type.getElementType().getIntOrFloatBitWidth() % 8)
    return emitOpError() << "elements of memory are whole bytes, got "
                         << type.getElementType();
  if (failed(expectAligned(*this, type)) ||
      failed(expectLayout(*this, getOffsets().getType(), layoutOf(type),
                          "offsets", "the layout of the result")))
    return failure();
  if (getMask() &&
      failed(expectLayout(*this, getMask().getType(),
                          layoutOf(type).dropColumns(), "mask",
                          "the tile's layout with the column bases dropped")))
    return failure();
  const int64_t vector = getVector();
  if (vector < 1 || (vector & (vector - 1)))
    return emitOpError() << "vector must be a power of two, got " << vector;
  const int contiguous = contiguousColumns(layoutOf(type));
  if (vector > contiguous)
    return emitOpError() << "vector = " << vector
                         << ", but the layout gives a thread only "
                         << contiguous << " neighbouring columns";
  return success();
}

LogicalResult UnpackOp::verify() {
  if (!layoutOf(getType()).hasColumnPairs())
    return emitOpError() << "needs a layout with neighbouring columns in one "
                            "thread, got <"
                         << layoutOf(getType()).text() << ">";
  return expectLayout(*this, getValue().getType(),
                      layoutOf(getType()).halveColumns(), "operand",
                      "the result's layout with column pairs as one column");
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getValue().getType());
}

LogicalResult MaskOp::verify() {
  if (getFill().getType() != getType().getElementType())
    return emitOpError() << "fill must be of type "
                         << getType().getElementType() << ", got "
                         << getFill().getType();
  return expectAligned(*this, getType());
}

LogicalResult ReduceOp::verify() {
  Type element = getValue().getType().getElementType();
  if (element != getType().getElementType())
    return emitOpError() << "element type of the result must be " << element
                         << ", got " << getType().getElementType();
  const bool isUnsigned = getKind() == ReduceKind::MaxU;
  if (isUnsigned && !element.isInteger(32) && !element.isInteger(64))
    return emitOpError() << "maxu reduces i32 or i64, got " << element;
  if (!isUnsigned && !element.isF32())
    return emitOpError() << stringifyReduceKind(getKind())
                         << " reduces f32, got " << element;
  if (failed(expectAligned(*this, getValue().getType())))
    return failure();
  return expectLayout(*this, getType(),
                      layoutOf(getValue().getType()).dropColumns(), "result",
                      "the operand's layout with the column bases dropped");
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = getValue().getType(), to = getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "element type of the result must be "
                         << from.getElementType() << ", got "
                         << to.getElementType();
  if (failed(expectAligned(*this, to)))
    return failure();
  LinearLayout expected = layoutOf(to);
  for (int dim : {rowDim, colDim}) {
    if (from.getDimSize(dim) == to.getDimSize(dim))
      continue;
    if (from.getDimSize(dim) != 1)
      return emitOpError() << "dim " << dim << " must be 1 or "
                           << to.getDimSize(dim) << ", got "
                           << from.getDimSize(dim);
    expected = expected.dropDim(dim);
  }
  return expectLayout(*this, from, expected, "operand",
                      "the result's layout with the broadcast bases dropped");
}

LogicalResult TransposeOp::verify() {
  RankedTensorType from = getValue().getType();
  if (from.getElementType() != getType().getElementType())
    return emitOpError() << "element type of the result must be "
                         << from.getElementType() << ", got "
                         << getType().getElementType();
  return expectLayout(*this, getType(), layoutOf(from).transpose(), "result",
                      "the operand's layout with rows and columns swapped");
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getValue().getType(), to = getType();
  if (from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements())
    return emitOpError() << "the elements stay the same, got " << from
                         << " and " << to;
  if (!layoutOf(from).isReshapable())
    return emitOpError() << "needs a layout without repetition, got <"
                         << layoutOf(from).text() << ">";
  return expectLayout(*this, to, layoutOf(from).reshape(to.getDimSize(1)),
                      "result", "the operand's layout in rows of its length");
}

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType from = getValue().getType(), to = getType();
  if (from.getElementType() != to.getElementType() ||
      from.getShape() != to.getShape())
    return emitOpError() << "only the layout may change, got " << from
                         << " and " << to;
  return success();
}

LogicalResult DotOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  RankedTensorType acc = getAcc().getType();
  if (!acc.getElementType().isF32())
    return emitOpError() << "accumulates in f32, got " << acc.getElementType();
  Type element = a.getElementType();
  if (element != b.getElementType() ||
      !(element.isF16() || element.isBF16() || element.isF32()))
    return emitOpError() << "operands must both be f16, bf16 or f32, got "
                         << element << " and " << b.getElementType();
  const int64_t k = a.getDimSize(1), groups = getGroups();
  if (groups < 1 || a.getDimSize(0) != acc.getDimSize(0) ||
      b.getDimSize(0) != acc.getDimSize(1) || b.getDimSize(1) * groups != k)
    return emitOpError() << "shapes must be "
                         << (groups == 1 ? "MxK, NxK and MxN"
                                         : "Mx(GK), (NG)xK and Mx(NG)")
                         << ", got " << a.getDimSize(0) << "x" << k << ", "
                         << b.getDimSize(0) << "x" << b.getDimSize(1) << " and "
                         << acc.getDimSize(0) << "x" << acc.getDimSize(1);
  const LinearLayout &layout = layoutOf(acc);
  if (element.isF32()) {
    if (groups > 1)
      return emitOpError() << "groups are of the tensor core";
    if (failed(expectAligned(*this, acc)) ||
        failed(expectLayout(*this, a, LinearLayout::fmaOperandA(layout, k), "a",
                            "the accumulator's rows with k in registers")))
      return failure();
    return expectLayout(*this, b, LinearLayout::fmaOperandB(layout, k), "b",
                        "the accumulator's columns with k in registers");
  }
  if (b.getDimSize(1) % 16)
    return emitOpError() << "k must be a multiple of 16, got "
                         << b.getDimSize(1);
  if (!layout.isMmaAccumulator() || groups > 1 ||
      LinearLayout::mmaOperandA(layout, k) != layoutOf(a)) {
    const std::string problem = LinearLayout::mmaProblem(
        layoutOf(a), layoutOf(b), layout, static_cast<int>(groups));
    if (problem.empty())
      return success();
    if (!layout.isMmaAccumulator())
      return emitOpError() << "acc must have an mma.m16n8k16 accumulator "
                              "layout, got <"
                           << layout.text() << "> (or: " << problem << ")";
  }
  if (failed(expectLayout(*this, a, LinearLayout::mmaOperandA(layout, k), "a",
                          "the mma.m16n8k16 layout of operand A")))
    return failure();
  return expectLayout(*this, b, LinearLayout::mmaOperandB(layout, k), "b",
                      "the mma.m16n8k16 layout of operand B");
}

LogicalResult NeighbourDotOp::verify() {
  LinearLayout layout = layoutOf(getA().getType());
  const int64_t columns = layout.shape()[colDim];
  const int64_t sums = getType().getDimSize(colDim);
  while (layout.shape()[colDim] > sums && layout.hasColumnPairs())
    layout = layout.halveColumns();
  if (layout.shape()[colDim] != sums)
    return emitOpError() << "adds neighbours of one thread, the layout <"
                         << layoutOf(getA().getType()).text() << "> has none "
                         << "that make " << sums << " columns of " << columns;
  return expectLayout(*this, getType(), layout, "result",
                      "the operands' layout with neighbours as one column");
}

LogicalResult ReportErrorOp::verify() {
  if (getBad().getType().getDimSize(1) != 1)
    return emitOpError() << "bad must be Rx1, got 1x"
                         << getBad().getType().getDimSize(1);
  return expectLayout(*this, getRowIndex().getType(),
                      layoutOf(getBad().getType()), "rowIndex",
                      "the layout of bad");
}
