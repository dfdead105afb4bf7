//===- LoopColumns.cpp - Rows that are longer than a tile -----------------===//
//
// An op's lowering is straight-line code on a tile that stands for whole rows.
// Where rows are longer, this pass cuts the code into column loops. The level
// of a value is the number of reductions that it waits for: what depends on no
// reduction has level 0, the result of a reduction of level l has level l + 1.
// For each level one loop computes, chunk by chunk, what the reductions of that
// level read, and adds it elementwise into accumulators that are reduced after
// the loop; the last loop also holds all stores, because an output may lie on
// an input that an earlier loop reads. Column values are computed again in each
// loop that needs them; row values are computed once.
//
// Chunks whose columns all exist come first, without masks; what is left of the
// row follows.
//
// Numbers: a row's elements are added chunk by chunk in ascending order, then
// by tile.reduce's order, whatever the number of rows.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/LoopColumns.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

namespace {
class Slicer {
public:
  Slicer(func::FuncOp kernel, int64_t chunk)
      : kernel(kernel), chunk(chunk), b(kernel.getLoc(), kernel.getContext()) {}

  LogicalResult run() {
    Block &block = kernel.getBody().front();
    for (Operation &op : block.without_terminator()) {
      if (op.getNumRegions())
        return op.emitError("tile-loop-columns: expected straight-line code");
      ops.push_back(&op);
    }
    if (failed(findColumns()))
      return failure();
    findLevels();
    b.setInsertionPoint(block.getTerminator());
    for (int level = 0; level <= lastLevel; ++level) {
      for (Operation *op : ops)
        if (!isColumnOp(op) && !isStore(op) && levels[op] == level)
          b.clone(*op, rowMap);
      emitLoop(level);
    }
    for (Operation *op : ops)
      if (isStore(op) && !isColumnOp(op))
        b.clone(*op, rowMap);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    kernel->removeAttr(tile::loopColumnsAttrName);
    return success();
  }

private:
  bool isColumnTile(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 2 && tensor.getDimSize(1) == chunk;
  }
  /// Touches a tile that stands for whole rows. A reduction is what leaves it.
  bool isColumnOp(Operation *op) const {
    return llvm::any_of(op->getOperandTypes(),
                        [&](Type type) { return isColumnTile(type); }) ||
           llvm::any_of(op->getResultTypes(),
                        [&](Type type) { return isColumnTile(type); });
  }
  static bool isStore(Operation *op) { return isa<tile::StoreOp>(op); }

  /// All column windows of the kernel are one: [start, end).
  LogicalResult findColumns() {
    for (Operation *op : ops) {
      if (!isColumnOp(op))
        continue;
      Value opStart, opEnd;
      if (auto load = dyn_cast<tile::LoadOp>(op)) {
        opStart = load.getStart();
        opEnd = load.getEnd();
      } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
        opStart = store.getStart();
        opEnd = store.getEnd();
      } else if (auto mask = dyn_cast<tile::MaskOp>(op)) {
        opStart = mask.getStart();
        opEnd = mask.getEnd();
      } else {
        continue;
      }
      if (!start) {
        start = opStart;
        end = opEnd;
      } else if (start != opStart || end != opEnd) {
        return op->emitError("tile-loop-columns: expected the column window of "
                             "the ops before it");
      }
    }
    if (!start)
      return kernel.emitError("tile-loop-columns: no op has a column window");
    return success();
  }

  void findLevels() {
    llvm::DenseMap<Value, int> valueLevels;
    for (Operation *op : ops) {
      int level = 0;
      for (Value operand : op->getOperands())
        level = std::max(level, valueLevels.lookup(operand));
      levels[op] = level;
      lastLevel = std::max(lastLevel, level);
      if (isStore(op) && isColumnOp(op))
        storeLevel = std::max(storeLevel, level);
      bool isReduce = isa<tile::ReduceOp>(op) && isColumnOp(op);
      for (Value result : op->getResults())
        valueLevels[result] = level + isReduce;
    }
    // A reduction that only row values follow still ends a level.
    for (auto &[value, level] : valueLevels)
      lastLevel = std::max(lastLevel, level);
  }

  /// The column ops that \p roots need, in program order.
  llvm::SetVector<Operation *> sliceOf(ArrayRef<Operation *> roots) {
    llvm::DenseSet<Operation *> needed;
    SmallVector<Operation *> work(roots);
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && isColumnOp(producer) &&
            !isa<tile::ReduceOp>(producer) && needed.insert(producer).second)
          work.push_back(producer);
    }
    llvm::SetVector<Operation *> ordered;
    for (Operation *op : ops)
      if (needed.contains(op))
        ordered.insert(op);
    return ordered;
  }

  Value identity(tile::ReduceOp reduce) {
    auto type = cast<RankedTensorType>(reduce.getValue().getType());
    Attribute value = b.getZeroAttr(type.getElementType());
    if (reduce.getKind() == tile::ReduceKind::Max)
      value = b.getF32FloatAttr(-std::numeric_limits<float>::infinity());
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
  }

  Value combine(tile::ReduceKind kind, Value acc, Value value) {
    switch (kind) {
    case tile::ReduceKind::Sum:
      return arith::AddFOp::create(b, acc, value);
    case tile::ReduceKind::Max:
      return arith::MaximumFOp::create(b, acc, value);
    case tile::ReduceKind::MaxU:
      return arith::MaxUIOp::create(b, acc, value);
    }
    llvm_unreachable("all kinds are handled");
  }

  void emitLoop(int level) {
    SmallVector<tile::ReduceOp> reduces;
    SmallVector<Operation *> roots;
    for (Operation *op : ops) {
      auto reduce = dyn_cast<tile::ReduceOp>(op);
      if (reduce && isColumnOp(op) && levels[op] == level) {
        reduces.push_back(reduce);
        roots.push_back(op);
      }
      if (isStore(op) && isColumnOp(op) && level == storeLevel)
        roots.push_back(op);
    }
    if (roots.empty())
      return;
    SmallVector<Value> init;
    for (tile::ReduceOp reduce : reduces)
      init.push_back(identity(reduce));
    Value from = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
    Value step = arith::ConstantOp::create(b, b.getI64IntegerAttr(chunk));
    Value last = rowMap.lookupOrDefault(end);
    Value rest = arith::RemUIOp::create(b, last, step);
    Value whole = arith::SubIOp::create(b, last, rest);
    ValueRange sums =
        emitChunks(reduces, roots, from, whole, init, /*areFull=*/true);
    init.assign(sums.begin(), sums.end());
    sums = emitChunks(reduces, roots, whole, last, init, /*areFull=*/false);
    for (auto [reduce, sum] : llvm::zip(reduces, sums)) {
      Value row =
          tile::ReduceOp::create(b, reduce.getType(), reduce.getKind(), sum);
      rowMap.map(reduce.getResult(), row);
    }
  }

  /// A loop over [from, to): over chunks whose columns all exist, or over the
  /// one that is left.
  ValueRange emitChunks(MutableArrayRef<tile::ReduceOp> reduces,
                        ArrayRef<Operation *> roots, Value from, Value to,
                        ArrayRef<Value> init, bool areFull) {
    Value step = arith::ConstantOp::create(b, b.getI64IntegerAttr(chunk));
    auto loop = scf::ForOp::create(b, from, to, step, init);
    OpBuilder::InsertPoint after = b.saveInsertionPoint();
    if (loop.getBody()->mightHaveTerminator())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(loop.getBody());
    IRMapping map = rowMap;
    map.map(start, loop.getInductionVar());
    if (areFull)
      map.map(end, arith::AddIOp::create(b, loop.getInductionVar(), step));
    for (Operation *op : sliceOf(roots))
      b.clone(*op, map);
    SmallVector<Value> next;
    for (auto [reduce, acc] : llvm::zip(reduces, loop.getRegionIterArgs()))
      next.push_back(
          combine(reduce.getKind(), acc, map.lookup(reduce.getValue())));
    for (Operation *op : roots)
      if (isStore(op))
        b.clone(*op, map);
    if (!init.empty())
      scf::YieldOp::create(b, next);
    b.restoreInsertionPoint(after);
    return loop.getResults();
  }

  func::FuncOp kernel;
  int64_t chunk;
  ImplicitLocOpBuilder b;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, int> levels;
  IRMapping rowMap;
  Value start, end;
  int lastLevel = 0;
  int storeLevel = -1;
};

struct LoopColumns : PassWrapper<LoopColumns, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoopColumns)
  StringRef getArgument() const final { return "tile-loop-columns"; }
  StringRef getDescription() const final {
    return "loop over the columns of rows that are longer than a tile";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }
  void runOnOperation() final {
    if (failed(loopColumns(getOperation())))
      signalPassFailure();
  }
};
} // namespace

LogicalResult codegen::loopColumns(func::FuncOp kernel) {
  auto chunk = kernel->getAttrOfType<IntegerAttr>(tile::loopColumnsAttrName);
  if (!chunk)
    return success();
  return Slicer(kernel, chunk.getInt()).run();
}

std::unique_ptr<Pass> codegen::createLoopColumnsPass() {
  return std::make_unique<LoopColumns>();
}
