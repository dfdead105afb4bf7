//===- MatmulSum.cpp - The loops over k of a product ----------------------===//
#include "codegen/ops/MatmulSum.h"

#include "codegen/ops/NormPrologue.h"
#include "codegen/ops/Quantised.h"
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
  Value numbers, offsets, live;
  QuantisedWeights::Rows quantised;
};

class MatmulSum {
public:
  MatmulSum(RowBuilder &k)
      : k(k), b(k.ops()), schedule(k.plan()),
        x(schedule.plan.prologue >= 0
              ? k.operandOf(schedule.plan.prologue, 0, Usage::MatmulX)
              : k.operandOf(0, Usage::MatmulX)),
        w(k.operandOf(1, Usage::MatmulW)), isKn(codegen::isKn(k.step())),
        depth(k.scalar(schedule.depth)) {
    if (!isFloat(w.desc.dtype))
      quantised.emplace(k, 1);
    if (schedule.plan.prologue >= 0)
      norm.emplace(k);
  }

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
    Type element = k.elementType(schedule.dotType);
    RankedTensorType aType =
        tile::tileType(element, LinearLayout::mmaOperandA(k.layout, tileK));
    RankedTensorType bType =
        tile::tileType(element, LinearLayout::mmaOperandB(k.layout, tileK));
    Value xBase = k.pointer(x), wBase = k.pointer(w);
    noteScalars();
    Value scale;
    if (norm)
      scale = normScale(xLayout.dropColumns());
    auto operandA = [&](Value at, Value end) {
      Value a = k.loadTile(
          x, xBase, tile::tileType(k.elementType(x.desc.dtype), xLayout),
          xOffsets, xRows.live, at, end, x.colStride, vectorOf(x));
      DType type = x.desc.dtype;
      if (norm) {
        Tile wide = k.convert(type, DType::F32, {a, &k});
        a = norm->apply(wide, scale, at, end).value;
        type = norm->type();
      }
      return tile::ConvertLayoutOp::create(b, aType, toDotType(type, a))
          .getResult();
    };
    if (quantised)
      return quantisedTensorCore(wLayout, wRows, bType, operandA);
    return loop(zero(), constant(0), depth, tileK, [&](Value at, Value acc) {
      Value a = operandA(at, depth);
      RankedTensorType loaded =
          tile::tileType(k.elementType(w.desc.dtype), wLayout);
      Value c;
      if (isKn) {
        WeightRows depthRows =
            rowsFrom(wLayout.dropColumns(), at, depth, w.colStride);
        c = k.loadTile(w, wBase, loaded, depthRows.offsets, depthRows.live,
                       k.colStart, k.colEnd, w.rowStrides[0], knVector());
        c = tile::TransposeOp::create(
            b, tile::tileType(element, wLayout.transpose()),
            toDotType(w.desc.dtype, c));
      } else {
        c = toDotType(w.desc.dtype,
                      k.loadTile(w, wBase, loaded, wRows.offsets, wRows.live,
                                 at, depth, w.colStride, vectorOf(w)));
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
    Value xBase = k.pointer(x);
    noteScalars();
    Value scale;
    if (norm)
      scale = normScale(aLayout.dropColumns());
    auto inner = [&](Value at, Value acc) {
      Value a = load32(x, xBase, aLayout, xOffsets, xRows.live, at);
      if (norm)
        a = normalised(a, scale, at);
      Value c = weights32(bLayout, wRows, at);
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
    WeightRows wRows = gemvRows();
    Value xBase = k.pointer(x);
    noteScalars();
    Value scale;
    if (norm)
      scale = norm->scaleOf(
          sumOfSquares(xLayout, xOffsets, Value(), schedule.tileDepth), depth);
    const int64_t neighbours = gemvNeighbours(schedule);
    RankedTensorType wide = tile::tileType(b.getF32Type(), wLayout);
    const LinearLayout sumLayout = LinearLayout::blocked(
        schedule.tileRows, schedule.tileDepth / neighbours,
        schedule.threadCols / static_cast<int>(neighbours), schedule.warps);
    RankedTensorType sumType = tile::tileType(b.getF32Type(), sumLayout);
    const bool scalesSums = quantised && scalesSumsOfGemv(k);
    const bool scalesGroups = scalesSums && quantised->groupSize();
    Value sums = loop(
        splat(sumType), constant(0), depth, schedule.tileDepth,
        [&](Value at, Value acc) -> Value {
          Value weights =
              scalesSums
                  ? quantised
                        ->integersLessZeros(wLayout, wRows.quantised, at, depth)
                        .value
                  : weights32(wLayout, wRows, at);
          Value scales;
          if (scalesGroups)
            scales =
                quantised
                    ->scalesOfRuns(sumLayout, wRows.quantised, at, neighbours)
                    .value;
          Value row = load32(x, xBase, xLayout, xOffsets, Value(), at);
          if (norm)
            row = normalised(row, scale, at);
          if (schedule.tileRows > 1)
            row = tile::BroadcastOp::create(b, wide, row);
          Value sum = tile::NeighbourDotOp::create(b, sumType, weights, row);
          if (scales)
            return math::FmaOp::create(b, sum, scales, acc);
          return arith::AddFOp::create(b, acc, sum);
        });
    Value total = tile::ReduceOp::create(
        b, k.typeOf(b.getF32Type(), true, false), tile::ReduceKind::Sum, sums);
    if (scalesSums && !scalesGroups)
      total = arith::MulFOp::create(
          b, total,
          quantised->rowScales(sumLayout.dropColumns(), wRows.quantised).value);
    return total;
  }

private:
  Value constant(int64_t value) { return k.scalarConstant(value); }

  Value splat(RankedTensorType type) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, Attribute(b.getF32FloatAttr(0))));
  }
  /// The sum of squares of each row of x: chunks of \p step columns add up
  /// elementwise, then tile.reduce's order.
  Value sumOfSquares(const LinearLayout &layout, Value offsets, Value live,
                     int64_t step) {
    RankedTensorType type = tile::tileType(b.getF32Type(), layout);
    Value sums = loop(splat(type), constant(0), depth, step,
                      [&](Value at, Value acc) -> Value {
                        Value v =
                            load32(x, k.pointer(x), layout, offsets, live, at);
                        Value square = arith::MulFOp::create(b, v, v);
                        return arith::AddFOp::create(b, acc, square);
                      });
    return tile::ReduceOp::create(
        b, tile::tileType(b.getF32Type(), layout.dropColumns()),
        tile::ReduceKind::Sum, sums);
  }

  /// The norm's factor of each row, for tiles whose rows lie as in \p rows. The
  /// squares are added in a layout with whole warps along k.
  Value normScale(const LinearLayout &rows) {
    const LinearLayout layout =
        LinearLayout::blocked(schedule.tileRows, normDepth, 8, schedule.warps);
    RowBuilder::Rows tileRows = k.rowsIn(layout.dropColumns());
    Value sum = sumOfSquares(layout, k.offsetsOf(tileRows, x), tileRows.live,
                             normDepth);
    Value scale = norm->scaleOf(sum, depth);
    return tile::ConvertLayoutOp::create(
        b, tile::tileType(b.getF32Type(), rows), scale);
  }

  Value normalised(Value x32, Value scale, Value at) {
    return k
        .convert(norm->type(), DType::F32,
                 norm->apply({x32, &k}, scale, at, depth))
        .value;
  }

  /// Integers on the tensor core, one group's sum at a time; each group's scale
  /// multiplies its sum in f32. With `weight_dtype` the weights themselves are
  /// rounded, and groups do not matter.
  Value quantisedTensorCore(const LinearLayout &wLayout,
                            const WeightRows &wRows, RankedTensorType bType,
                            function_ref<Value(Value, Value)> operandA) {
    int64_t tileK = schedule.tileDepth;
    auto rounded = [&](Tile weights) {
      Value narrow = k.convert(DType::F32, schedule.dotType, weights).value;
      return tile::ConvertLayoutOp::create(b, bType, narrow).getResult();
    };
    if (k.params().has("weight_dtype"))
      return loop(zero(), constant(0), depth, tileK, [&](Value at, Value acc) {
        Value a = operandA(at, depth);
        Value c = rounded(quantised->weights(wLayout, wRows.quantised, at,
                                             depth, /*isOdd=*/true));
        return tile::DotOp::create(b, a, c, acc).getResult();
      });
    auto sumOf = [&](Value from, Value end, Value group) {
      return loop(zero(), from, end, tileK, [&](Value at, Value acc) {
        Value a = operandA(at, end);
        Value c = rounded(quantised->integersOfGroup(wLayout, wRows.quantised,
                                                     at, end, group));
        return tile::DotOp::create(b, a, c, acc).getResult();
      });
    };
    auto scaled = [&](Value sum, Value group, Value total) -> Value {
      Value scale =
          tile::BroadcastOp::create(b, cast<RankedTensorType>(sum.getType()),
                                    quantised->columnScales(group).value);
      if (!total)
        return arith::MulFOp::create(b, sum, scale);
      return math::FmaOp::create(b, sum, scale, total);
    };
    const int64_t group = quantised->groupSize();
    if (!group)
      return scaled(sumOf(constant(0), depth, constant(0)), constant(0),
                    Value());
    return loop(zero(), constant(0), depth, group,
                [&](Value from, Value total) -> Value {
                  Value end = arith::AddIOp::create(b, from, constant(group));
                  end = arith::MinSIOp::create(b, end, depth);
                  Value number = quantised->groupOf(from);
                  return scaled(sumOf(from, end, number), number, total);
                });
  }

  /// Exact: every operand type of a tensor-core product fits its type.
  Value toDotType(DType from, Value raw) {
    Type element = k.elementType(schedule.dotType);
    auto type = cast<RankedTensorType>(raw.getType());
    if (from == schedule.dotType)
      return raw;
    return arith::ExtFOp::create(b, cast<RankedTensorType>(type.clone(element)),
                                 raw);
  }

  /// W in f32, rounded to `weight_dtype` on the way where a step asks for it.
  Value weights32(const LinearLayout &layout, const WeightRows &rows,
                  Value at) {
    if (!quantised)
      return load32(w, k.pointer(w), layout, rows.offsets, rows.live, at);
    const std::string name = k.params().getString("weight_dtype", "");
    Tile weights =
        quantised->weights(layout, rows.quantised, at, depth, !name.empty());
    if (name.empty())
      return weights.value;
    const DType narrow = *dtypeNamed(name);
    return k.convert(narrow, DType::F32, k.convert(DType::F32, narrow, weights))
        .value;
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
    result.numbers = numbers;
    result.live =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, numbers, limit);
    result.offsets = scaledBy(numbers, stride);
    return result;
  }
  WeightRows weightRows(const LinearLayout &rows) {
    WeightRows result = rowsFrom(rows, k.colStart, k.colEnd, w.rowStrides[0]);
    if (quantised)
      result.quantised = quantised->rowsFrom(result.numbers, result.live);
    return result;
  }
  WeightRows gemvRows() {
    WeightRows result;
    result.numbers = k.spaceColumns().value;
    result.live = k.liveRows();
    result.offsets = scaledBy(result.numbers, w.rowStrides[0]);
    if (quantised)
      result.quantised = quantised->rowsFrom(result.numbers, result.live);
    return result;
  }
  Value scaledBy(Value numbers, const std::string &stride) {
    if (stride == "1")
      return numbers;
    return arith::MulIOp::create(
        b, numbers,
        tile::SplatOp::create(b, numbers.getType(), k.scalar(stride)));
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
    if (quantised)
      quantised->noteScalars();
    if (norm)
      norm->noteScalars();
  }

  RowBuilder &k;
  ImplicitLocOpBuilder &b;
  const KernelSchedule &schedule;
  const ScheduledOperand &x, &w;
  std::optional<QuantisedWeights> quantised;
  std::optional<NormPrologue> norm;
  bool isKn;
  Value depth;
};
} // namespace

Value codegen::sumOnTensorCores(RowBuilder &k) {
  return MatmulSum(k).tensorCore();
}

Value codegen::sumByFma(RowBuilder &k) { return MatmulSum(k).fmaSum(); }

bool codegen::scalesSumsOfGemv(const RowBuilder &k) {
  const int64_t group = k.params().getInt("group", 0);
  return !isFloat(k.inputType(1)) && !k.params().has("weight_dtype") &&
         group % gemvNeighbours(k.plan()) == 0;
}

Value codegen::sumOfGemv(RowBuilder &k) { return MatmulSum(k).gemv(); }
