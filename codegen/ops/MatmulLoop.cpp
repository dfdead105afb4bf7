//===- MatmulLoop.cpp - The sums of gemm_tile and gemv_tile ---------------===//
#include "codegen/ops/MatmulLoop.h"

#include "codegen/schedule/ReductionOrder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;
using tile::LinearLayout;

namespace {
/// Columns of the space as rows of a W tile: their offsets and which exist.
struct WeightRows {
  Value offsets, live;
};

class MatmulSum {
public:
  MatmulSum(RowBuilder &k)
      : k(k), b(k.ops()), schedule(k.plan()), x(k.operandOf(0, Usage::MatmulX)),
        w(k.operandOf(1, Usage::MatmulW)),
        isKn(k.params().getString("weight_layout", "nk") == "kn"),
        depth(k.scalar(schedule.depth)) {}

  Value tensorCore() {
    int64_t tileK = schedule.tileDepth;
    LinearLayout xLayout =
        LinearLayout::blocked(schedule.tileRows, tileK, 8, schedule.warps);
    RowBuilder::Rows xRows = k.rowsIn(xLayout.dropColumns());
    Value xOffsets = k.offsetsOf(xRows, x);
    LinearLayout wLayout =
        isKn
            ? LinearLayout::blocked(tileK, schedule.tileCols, 8, schedule.warps)
            : LinearLayout::blocked(schedule.tileCols, tileK, 8,
                                    schedule.warps);
    WeightRows wRows;
    if (!isKn)
      wRows = weightRows(wLayout.dropColumns());
    Type element = k.elementType(x.desc.dtype);
    RankedTensorType aType =
        tile::tileType(element, LinearLayout::mmaOperandA(k.layout, tileK));
    RankedTensorType bType =
        tile::tileType(element, LinearLayout::mmaOperandB(k.layout, tileK));
    Value xBase = k.pointer(x), wBase = k.pointer(w);
    noteScalars();
    return loop(zero(), constant(0), depth, tileK, [&](Value at, Value acc) {
      Value a = k.loadTile(x, xBase, tile::tileType(element, xLayout), xOffsets,
                           xRows.live, at, depth, x.colStride, vectorOf(x));
      a = tile::ConvertLayoutOp::create(b, aType, a);
      RankedTensorType loaded = tile::tileType(element, wLayout);
      Value c;
      if (isKn) {
        WeightRows depthRows =
            rowsFrom(wLayout.dropColumns(), at, depth, w.colStride);
        c = k.loadTile(w, wBase, loaded, depthRows.offsets, depthRows.live,
                       k.colStart, k.colEnd, w.rowStrides[0], knVector());
        c = tile::TransposeOp::create(
            b, tile::tileType(element, wLayout.transpose()), c);
      } else {
        c = k.loadTile(w, wBase, loaded, wRows.offsets, wRows.live, at, depth,
                       w.colStride, vectorOf(w));
      }
      c = tile::ConvertLayoutOp::create(b, bType, c);
      return tile::DotOp::create(b, a, c, acc).getResult();
    });
  }

  Value fmaSum() {
    constexpr int64_t partial = 32;
    int64_t step = schedule.tileDepth;
    LinearLayout aLayout = LinearLayout::fmaOperandA(k.layout, step);
    LinearLayout bLayout = LinearLayout::fmaOperandB(k.layout, step);
    RowBuilder::Rows xRows = k.rowsIn(aLayout.dropColumns());
    Value xOffsets = k.offsetsOf(xRows, x);
    WeightRows wRows = weightRows(bLayout.dropColumns());
    Value xBase = k.pointer(x), wBase = k.pointer(w);
    noteScalars();
    auto inner = [&](Value at, Value acc) {
      Value a = load32(x, xBase, aLayout, xOffsets, xRows.live, at);
      Value c = load32(w, wBase, bLayout, wRows.offsets, wRows.live, at);
      return tile::DotOp::create(b, a, c, acc).getResult();
    };
    return loop(zero(), constant(0), depth, partial,
                [&](Value at, Value acc) -> Value {
                  Value end = arith::AddIOp::create(b, at, constant(partial));
                  Value sum = loop(zero(), at, end, step, inner);
                  return arith::AddFOp::create(b, acc, sum);
                });
  }

  Value gemv() {
    LinearLayout wLayout =
        LinearLayout::blocked(schedule.tileRows, schedule.tileDepth,
                              schedule.threadCols, schedule.warps);
    LinearLayout xLayout = wLayout.dropRows();
    Value xOffsets = k.rowOffsets(x);
    Value wOffsets = gemvOffsets();
    Value live = k.liveRows();
    Value xBase = k.pointer(x), wBase = k.pointer(w);
    noteScalars();
    RankedTensorType accType = tile::tileType(b.getF32Type(), wLayout);
    Value sums =
        loop(splat(accType), constant(0), depth, schedule.tileDepth,
             [&](Value at, Value acc) -> Value {
               Value row = load32(x, xBase, xLayout, xOffsets, Value(), at);
               if (schedule.tileRows > 1)
                 row = tile::BroadcastOp::create(b, accType, row);
               Value weights = load32(w, wBase, wLayout, wOffsets, live, at);
               return math::FmaOp::create(b, weights, row, acc);
             });
    return tile::ReduceOp::create(b, k.typeOf(b.getF32Type(), true, false),
                                  tile::ReduceKind::Sum, sums);
  }

private:
  Value constant(int64_t value) { return k.scalarConstant(value); }

  Value splat(RankedTensorType type) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, Attribute(b.getF32FloatAttr(0))));
  }
  Value zero() { return splat(tile::tileType(b.getF32Type(), k.layout)); }

  /// for at = from; at < to; at += step: acc = body(at, acc)
  Value loop(Value init, Value from, Value to, int64_t step,
             function_ref<Value(Value, Value)> body) {
    auto loop = scf::ForOp::create(b, from, to, constant(step), init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
    scf::YieldOp::create(b, next);
    return loop.getResult(0);
  }

  WeightRows rowsFrom(const LinearLayout &rows, Value start, Value end,
                      const std::string &stride) {
    RankedTensorType type = tile::tileType(b.getI64Type(), rows);
    Value numbers = tile::RangeOp::create(b, type, start);
    Value limit = tile::SplatOp::create(b, type, end);
    WeightRows result;
    result.live =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, numbers, limit);
    result.offsets = numbers;
    if (stride != "1")
      result.offsets = arith::MulIOp::create(
          b, numbers, tile::SplatOp::create(b, type, k.scalar(stride)));
    return result;
  }
  WeightRows weightRows(const LinearLayout &rows) {
    return rowsFrom(rows, k.colStart, k.colEnd, w.rowStrides[0]);
  }
  Value gemvOffsets() {
    Tile columns = k.spaceColumns();
    if (w.rowStrides[0] == "1")
      return columns.value;
    Value stride =
        tile::SplatOp::create(b, columns.type(), k.scalar(w.rowStrides[0]));
    return arith::MulIOp::create(b, columns.value, stride);
  }

  Value load32(const ScheduledOperand &operand, Value base,
               const LinearLayout &layout, Value rows, Value live, Value at) {
    RankedTensorType type =
        tile::tileType(k.elementType(operand.desc.dtype), layout);
    Value raw = k.loadTile(operand, base, type, rows, live, at, depth,
                           operand.colStride, vectorOf(operand));
    return k.convert(operand.desc.dtype, DType::F32, {raw, &k}).value;
  }

  /// Wide accesses are along k where k is dense.
  int vectorOf(const ScheduledOperand &operand) const {
    return operand.colStride == "1" ? static_cast<int>(std::min<int64_t>(
                                          operand.vector, schedule.tileDepth))
                                    : 1;
  }
  /// Wide accesses along the columns need a window that starts and ends at a
  /// multiple.
  int knVector() const {
    bool isWhole = schedule.colBegin == "0" && schedule.colEnd == schedule.cols;
    return isWhole && w.rowStrides[0] == "1" ? w.vector : 1;
  }

  /// Scalars become arguments of the function before a loop's body is built.
  void noteScalars() {
    for (const ScheduledOperand *operand : {&x, &w})
      if (operand->colStride != "1")
        (void)k.scalar(operand->colStride);
    if (w.rowStrides[0] != "1")
      (void)k.scalar(w.rowStrides[0]);
  }

  RowBuilder &k;
  ImplicitLocOpBuilder &b;
  const KernelSchedule &schedule;
  const ScheduledOperand &x, &w;
  bool isKn;
  Value depth;
};
} // namespace

Tile codegen::matmulSum(RowBuilder &k) {
  MatmulSum sum(k);
  StepContract &contract = k.contract();
  if (!k.plan().usesTensorCore) {
    ReductionOrder order = reductionOrder(k.plan());
    contract.dot = "fma";
    contract.depth = order.depth;
    contract.order = order.text;
    return {sum.fmaSum(), &k};
  }
  contract.dot = std::string("mma.m16n8k16.") +
                 (k.inputType(0) == DType::F16 ? "f16" : "bf16");
  contract.dotChunk = 16;
  contract.order = "k ascending";
  return {sum.tensorCore(), &k};
}

Tile codegen::gemvSum(RowBuilder &k) {
  ReductionOrder order = reductionOrder(k.plan());
  k.contract().dot = "fma";
  k.contract().depth = order.depth;
  k.contract().order = order.text;
  return {MatmulSum(k).gemv(), &k};
}

void codegen::finishMatmul(RowBuilder &k, Tile sum) {
  if (k.numInputs() == 3)
    sum = sum + k.input32(2);
  bool computesAll =
      k.plan().colEnd == k.plan().cols && k.plan().colBegin == "0";
  if (!writesAllColumns(k.step()) && computesAll) {
    ImplicitLocOpBuilder &b = k.ops();
    int64_t begin = k.params().getInt("n_off", 0);
    Tile columns = k.spaceColumns();
    auto isInside = [&](arith::CmpIPredicate predicate, int64_t bound) {
      Tile limit =
          k.likeInt(columns, b.getI64Type(), static_cast<uint64_t>(bound));
      return arith::CmpIOp::create(b, predicate, columns.value, limit.value);
    };
    Value inside = isInside(arith::CmpIPredicate::sge, begin);
    if (k.params().has("N_tile"))
      inside = arith::AndIOp::create(
          b, inside,
          isInside(arith::CmpIPredicate::slt,
                   begin + k.params().getInt("N_tile", 0)));
    sum = k.select({inside, &k}, sum, k.like(sum, 0));
  }
  k.result(sum);
}
