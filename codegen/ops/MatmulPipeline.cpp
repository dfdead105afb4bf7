//===- MatmulPipeline.cpp - A product on asynchronous copies --------------===//
//
//   clusters take tiles w, w + workers, ... in grouped order
//   copying warps:      for each tile, for each step of k:
//                         acquire a turn, copy x and W into its stage
//   multiplying warps:  for each tile: receive, multiply, release the turn
//                         before, until k ends; then the epilogue
//
// One product stays in flight while the next is started, so that the tensor
// core never waits for the barriers between them.
//
//===----------------------------------------------------------------------===//
#include "codegen/ops/MatmulPipeline.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;
using tile::LinearLayout;

static constexpr int producerWarps = 4, consumerWarps = 8;

namespace {
class PipelineWriter {
public:
  explicit PipelineWriter(RowBuilder &k)
      : k(k), b(k.ops()), schedule(k.plan()), pipeline(schedule.pipeline),
        x(k.operandOf(schedule.plan.steps[0], 0, Usage::MatmulX)),
        w(k.operandOf(schedule.plan.steps[0], 1, Usage::MatmulW)),
        element(k.elementType(schedule.dotType)) {}

  void build(function_ref<void(Value, Value, Value)> epilogue);

private:
  struct Place {
    Value row, col;
  };

  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }
  Value number(const std::string &expression) {
    return arith::TruncIOp::create(b, b.getI32Type(), k.scalar(expression));
  }
  Value plus(Value a, Value c) { return arith::AddIOp::create(b, a, c); }
  Value minus(Value a, Value c) { return arith::SubIOp::create(b, a, c); }
  Value times(Value a, int64_t c) {
    return c == 1 ? a : arith::MulIOp::create(b, a, constant(c)).getResult();
  }
  Value quotient(Value a, Value c) { return arith::DivUIOp::create(b, a, c); }
  Value remainder(Value a, Value c) { return arith::RemUIOp::create(b, a, c); }

  tile::SharedType stageOf(int64_t rows) {
    return tile::SharedType::get(b.getContext(), rows, schedule.tileDepth,
                                 element);
  }
  Value mapOf(const ScheduledOperand &operand, int64_t boxRows,
              const std::string &rows);
  Place placeOf(Value tile);
  /// for (i = from; i < to; i += step) carried = body(i, carried)
  SmallVector<Value> loop(Value from, Value to, Value step, ValueRange init,
                          function_ref<SmallVector<Value>(Value, ValueRange)>);
  void copyTiles(Value ring, Value xMap, Value wMap);
  void multiplyTiles(Value ring,
                     function_ref<void(Value, Value, Value)> epilogue);

  RowBuilder &k;
  ImplicitLocOpBuilder &b;
  const KernelSchedule &schedule;
  const Pipeline &pipeline;
  const ScheduledOperand &x, &w;
  Type element;
  Value rank, firstTile, workers, rowTiles, colTiles, tiles, steps;
};
} // namespace

Value PipelineWriter::mapOf(const ScheduledOperand &operand, int64_t boxRows,
                            const std::string &rows) {
  const std::string stride =
      operand.rowStrides.empty() ? "" : operand.rowStrides[0];
  return k.map(operand, schedule.depth, rows, stride, boxRows,
               schedule.tileDepth);
}

SmallVector<Value>
PipelineWriter::loop(Value from, Value to, Value step, ValueRange init,
                     function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, from, to, step, init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

/// Grouped order: `group` rows of tiles are walked column by column, so that
/// what runs at one time reads few rows of x and of W.
PipelineWriter::Place PipelineWriter::placeOf(Value tile) {
  Value perGroup = times(colTiles, pipeline.group);
  Value first = times(quotient(tile, perGroup), pipeline.group);
  Value rows = arith::MinUIOp::create(b, minus(rowTiles, first),
                                      constant(pipeline.group));
  // The place after the last one is computed too, and of no row.
  rows = arith::MaxUIOp::create(b, rows, constant(1));
  Value within = remainder(tile, perGroup);
  Value m = plus(first, remainder(within, rows));
  Value n = quotient(within, rows);
  if (pipeline.clusterM > 1)
    m = plus(times(m, pipeline.clusterM), rank);
  if (pipeline.clusterN > 1)
    n = plus(times(n, pipeline.clusterN), rank);
  Value col = times(n, schedule.tileCols);
  if (schedule.colBegin != "0")
    col = plus(col, number(schedule.colBegin));
  return {times(m, schedule.tileRows), col};
}

void PipelineWriter::copyTiles(Value ring, Value xMap, Value wMap) {
  Value zero = constant(0), one = constant(1);
  // The divisions of the first tile are done while the launch before ends.
  Place first = placeOf(firstTile);
  tile::GridWaitOp::create(b);
  loop(firstTile, tiles, workers, {zero, first.row, first.col},
       [&](Value tile, ValueRange carried) {
         Place place = {carried[1], carried[2]};
         SmallVector<Value> end = loop(
             zero, steps, one, carried[0], [&](Value step, ValueRange turn) {
               const bool streams = pipeline.streamsW;
               auto stage = tile::AcquireOp::create(b, ring, turn[0]);
               Value at = times(step, schedule.tileDepth);
               tile::AsyncCopyOp::create(
                   b, xMap, place.row, at, stage.getParts()[0],
                   pipeline.clusterN > 1, streams ? "evict_last" : "");
               tile::AsyncCopyOp::create(
                   b, wMap, place.col, at, stage.getParts()[1],
                   pipeline.clusterM > 1, streams ? "evict_first" : "");
               return SmallVector<Value>{plus(turn[0], one)};
             });
         Place next = placeOf(plus(tile, workers));
         return SmallVector<Value>{end[0], next.row, next.col};
       });
}

void PipelineWriter::multiplyTiles(
    Value ring, function_ref<void(Value, Value, Value)> epilogue) {
  // As above; the next one's are done behind the epilogue's stores. Next to the
  // products they would part the first ones. A tile of 256 rows leaves no
  // registers for two numbers from tile to tile: it asks again.
  const bool carriesPlace = schedule.tileRows <= 128;
  Place start = carriesPlace ? placeOf(firstTile) : Place{};
  tile::GridWaitOp::create(b);
  Value one = constant(1);
  const bool isSwapped = pipeline.isSwapped;
  const LinearLayout layout =
      isSwapped
          ? LinearLayout::mmaAccumulator(schedule.tileCols, schedule.tileRows,
                                         consumerWarps, 1)
          : LinearLayout::mmaAccumulator(schedule.tileRows, schedule.tileCols,
                                         consumerWarps, 1);
  auto pending = tile::PendingType::get(b.getContext(),
                                        tile::tileType(b.getF32Type(), layout));
  auto multiply = [&](Value turn, Value acc) -> Value {
    auto stage = tile::ReceiveOp::create(b, ring, turn);
    return tile::AsyncDotOp::create(b, pending, stage.getParts()[isSwapped],
                                    stage.getParts()[!isSwapped], acc);
  };
  SmallVector<Value> init = {constant(0)};
  if (carriesPlace)
    init.append({start.row, start.col});
  loop(firstTile, tiles, workers, init, [&](Value tile, ValueRange carried) {
    Place place = carriesPlace ? Place{carried[1], carried[2]} : placeOf(tile);
    Value turn = carried[0];
    Value first = multiply(turn, Value());
    SmallVector<Value> last =
        loop(one, steps, one, {turn, first}, [&](Value, ValueRange carried) {
          Value turn = plus(carried[0], one);
          Value sum = multiply(turn, carried[1]);
          tile::ReleaseOp::create(b, ring, carried[0], /*pending=*/1);
          return SmallVector<Value>{turn, sum};
        });
    Value sum = tile::AwaitOp::create(b, last[1]);
    tile::ReleaseOp::create(b, ring, last[0], /*pending=*/0);
    if (isSwapped)
      sum = tile::TransposeOp::create(
          b, tile::tileType(b.getF32Type(), layout.transpose()), sum);
    epilogue(sum, place.row, place.col);
    SmallVector<Value> yielded = {plus(last[0], one)};
    if (carriesPlace) {
      Place next = placeOf(plus(tile, workers));
      yielded.append({next.row, next.col});
    }
    return yielded;
  });
}

void PipelineWriter::build(function_ref<void(Value, Value, Value)> epilogue) {
  tile::GridReleaseOp::create(b);
  Value xMap = mapOf(x, schedule.tileRows / pipeline.clusterN, schedule.rows);
  Value wMap = mapOf(w, schedule.tileCols / pipeline.clusterM, schedule.cols);
  Value ring = tile::RingOp::create(
      b, tile::RingType::get(
             b.getContext(), pipeline.stages,
             {stageOf(schedule.tileRows), stageOf(schedule.tileCols)}));
  Value id = arith::TruncIOp::create(
      b, b.getI32Type(), tile::ProgramIdOp::create(b, b.getI64Type(), 0));
  firstTile = id;
  if (pipeline.cluster() > 1) {
    Value size = constant(pipeline.cluster());
    rank = remainder(id, size);
    firstTile = quotient(id, size);
  }
  workers = number(pipeline.workers);
  rowTiles = number(pipeline.rowTiles);
  colTiles = number(schedule.colTiles);
  tiles = arith::MulIOp::create(b, rowTiles, colTiles);
  steps = number("ceildiv(" + schedule.depth + ", " +
                 std::to_string(schedule.tileDepth) + ")");
  auto partition = tile::PartitionOp::create(
      b, ArrayRef<int32_t>{producerWarps, consumerWarps},
      ArrayRef<int32_t>{pipeline.producerRegisters, pipeline.consumerRegisters},
      2);
  OpBuilder::InsertionGuard guard(b);
  auto enter = [&](unsigned group) {
    b.setInsertionPointToStart(&partition.getGroups()[group].emplaceBlock());
  };
  enter(0);
  copyTiles(ring, xMap, wMap);
  enter(1);
  multiplyTiles(ring, epilogue);
}

void codegen::buildPipeline(RowBuilder &k,
                            function_ref<void(Value, Value, Value)> epilogue) {
  PipelineWriter(k).build(epilogue);
}
