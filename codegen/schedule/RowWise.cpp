//===- RowWise.cpp - Schedule of norms, softmax and elementwise groups ----===//
//
// With a reduction, a CTA takes whole rows: one tile when the row fits in
// `block` columns, else a loop over `chunk` columns. Which thread holds which
// column depends on the number of columns alone, so that the order of additions
// does too: neither dtype, strides, alignment nor the number of rows changes a
// row's bits, and a step has the same order fused and on its own, unless a
// layernorm or an argmax meets another reduction.
//
// Without a reduction, columns are cut into tiles as rows are, and the layout
// follows the widest access.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/Schedule.h"

#include <algorithm>
#include <bit>

using namespace tandem;
using namespace tandem::codegen;

/// Neighbouring columns of a thread in a reduction: one 16-byte access of a
/// 16-bit type.
static constexpr int reduceThreadCols = 8;
/// Columns that a warp then holds: 16 a thread, and 32 in rows of 8192, so that
/// few warps meet at the barriers of a reduction while other CTAs run.
static constexpr int64_t warpCols = 32 * 2 * reduceThreadCols;
static constexpr int64_t mostWarps = 8;
static constexpr int64_t defaultBlock = 8192;
/// Longer rows are few and each has an SM of its own: all the threads that it
/// holds, which read ahead of the one barrier at the end.
static constexpr int64_t defaultChunk = 16384;
static constexpr int64_t loopWarps = 32;
/// Elements of an elementwise tile: 8 for each of 128 threads.
static constexpr int64_t elementwiseTile = 1024;

/// Heads of a token in one tile, which share its angles, and elements of a
/// thread there.
static constexpr int64_t maxHeadsTogether = 32;
static constexpr int64_t turnedByThread = 32;

static std::string ceilDiv(const std::string &size, int64_t tile) {
  return "ceildiv(" + size + ", " + std::to_string(tile) + ")";
}

static int64_t pow2(int64_t value) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
}

static bool hasOp(const KernelSchedule &schedule, const ScheduleInput &input,
                  Opcode op) {
  return std::any_of(
      schedule.plan.steps.begin(), schedule.plan.steps.end(),
      [&](int step) { return input.recipe.steps[step].op == op; });
}

/// Warps of a tile that holds a whole row. On an H200 rows of 8192 take 8;
/// those of a layernorm, which meet at two barriers, or of an argmax 4.
static int64_t warpsOfRow(const KernelSchedule &schedule,
                          const ScheduleInput &input) {
  const bool fewer = hasOp(schedule, input, Opcode::LAYERNORM) ||
                     hasOp(schedule, input, Opcode::SAMPLE_ARGMAX);
  const int64_t columns = fewer ? 4 * warpCols : warpCols;
  return std::clamp<int64_t>(schedule.tileCols / columns, 2, mostWarps);
}

static Result<void> scheduleReduction(KernelSchedule &schedule,
                                      const ScheduleInput &input) {
  const CompileOptions &options = input.options;
  int64_t cols = runSize(schedule, schedule.colRun);
  Result<int64_t> block = parameter(options, "block", defaultBlock, 8, 8192);
  if (!block)
    return block.error();
  // At least 32, so that the chain of additions keeps within its licence.
  Result<int64_t> chunk =
      parameter(options, "chunk",
                options.set.contains("block") ? std::max<int64_t>(*block, 32)
                                              : defaultChunk,
                32, 32768);
  if (!chunk)
    return chunk.error();
  schedule.loopsColumns = cols > *block;
  schedule.threadCols = reduceThreadCols;
  schedule.tileCols = schedule.loopsColumns
                          ? *chunk
                          : std::max<int64_t>(reduceThreadCols,
                                              pow2(std::max<int64_t>(cols, 1)));
  // A thread of a loop holds 16 columns.
  Result<int64_t> warps =
      parameter(options, "warps",
                schedule.loopsColumns
                    ? std::clamp<int64_t>(schedule.tileCols / (warpCols / 2), 2,
                                          loopWarps)
                    : warpsOfRow(schedule, input),
                1, 32);
  if (!warps)
    return warps.error();
  schedule.warps = static_cast<int>(*warps);
  int64_t rows =
      std::max<int64_t>(1, schedule.warps * warpCols / schedule.tileCols);
  // Little is left of a row's work when its maximum is known.
  if (hasOp(schedule, input, Opcode::SAMPLE_ARGMAX) && !schedule.loopsColumns &&
      schedule.tileCols <= 2 * warpCols)
    rows *= 4;
  Result<int64_t> tileRows = parameter(options, "rows", rows, 1, 1024);
  if (!tileRows)
    return tileRows.error();
  schedule.tileRows = *tileRows;
  std::string limit = std::to_string(*block);
  if (schedule.loopsColumns)
    schedule.require(schedule.cols + " > " + limit,
                     "rows are longer than " + limit +
                         " columns, so that the kernel loops over them");
  else
    schedule.require(schedule.cols + " <= " + std::to_string(schedule.tileCols),
                     "a row fits in one tile of " +
                         std::to_string(schedule.tileCols) + " columns");
  if (cols == schedule.tileCols) {
    schedule.fillsColumns = true;
    schedule.require(schedule.cols + " == " + std::to_string(cols),
                     "a row fills its tile");
  }
  schedule.colEnd = schedule.cols;
  chooseVectors(schedule, reduceThreadCols);
  schedule.grid[0] = ceilDiv(schedule.rows, schedule.tileRows);
  return {};
}

/// How many of the last run's rows may share a position: all heads of a token
/// turn by one angle, which costs more than all else.
static int64_t rowsOfAPosition(const KernelSchedule &schedule,
                               const ScheduleInput &input) {
  int64_t rows = 1;
  for (int step : schedule.plan.steps) {
    if (input.recipe.steps[step].op != Opcode::ROPE)
      continue;
    const ScheduledOperand *positions =
        schedule.find(input.graph.args[step][1], Usage::Positions);
    if (!positions || schedule.rowRuns.empty() ||
        !positions->rowStrides.back().empty())
      return 1;
    const int64_t heads = runSize(schedule, schedule.rowRuns.back());
    rows = std::clamp<int64_t>(heads & -heads, 1, maxHeadsTogether);
  }
  return rows;
}

static Result<void> scheduleElementwise(KernelSchedule &schedule,
                                        const ScheduleInput &input) {
  const CompileOptions &options = input.options;
  int64_t cols = runSize(schedule, schedule.colRun);
  // Few classes, so that calls of many sizes share a kernel.
  int64_t tileCols = cols <= 8     ? 8
                     : cols <= 32  ? 32
                     : cols <= 128 ? 128
                                   : elementwiseTile;
  // Two accesses of a thread under way where all tiles are full, four beside
  // the long arithmetic of a gelu.
  const int64_t most = hasOp(schedule, input, Opcode::GELU) ? 4 : 2;
  if (cols % (most * elementwiseTile) == 0)
    tileCols = most * elementwiseTile;
  else if (cols % (2 * elementwiseTile) == 0)
    tileCols = 2 * elementwiseTile;
  Result<int64_t> chunk = parameter(options, "chunk", tileCols, 8, 8192);
  if (!chunk)
    return chunk.error();
  const int64_t together = rowsOfAPosition(schedule, input);
  Result<int64_t> rows = parameter(
      options, "rows",
      together > 1 ? together : std::max<int64_t>(1, elementwiseTile / *chunk),
      1, 1024);
  if (!rows)
    return rows.error();
  const int64_t turned = *rows * *chunk / (32 * turnedByThread);
  const bool isPacked = std::any_of(
      schedule.operands.begin(), schedule.operands.end(),
      [](const ScheduledOperand &x) { return x.usage == Usage::Packed; });
  Result<int64_t> warps =
      parameter(options, "warps",
                together > 1 ? std::clamp<int64_t>(turned, 1, 4)
                : isPacked   ? 2
                             : 4,
                1, 16);
  if (!warps)
    return warps.error();
  if (*rows > 1 && *rows <= together) {
    schedule.sharesOuterRuns = true;
    schedule.require("(" + schedule.rowSizes.back() + ") % " +
                         std::to_string(*rows) + " == 0",
                     "rows of a tile share a position");
  }
  schedule.tileCols = *chunk;
  schedule.tileRows = *rows;
  schedule.warps = static_cast<int>(*warps);
  schedule.splitsColumns = true;
  if (cols % schedule.tileCols == 0) {
    schedule.fillsColumns = true;
    schedule.require("(" + schedule.cols + ") % " +
                         std::to_string(schedule.tileCols) + " == 0",
                     "columns fill their tiles");
  }
  schedule.colEnd = schedule.cols;
  schedule.colTiles = ceilDiv(schedule.cols, schedule.tileCols);
  chooseVectors(schedule, 8);
  for (const ScheduledOperand &operand : schedule.operands)
    schedule.threadCols =
        std::max(schedule.threadCols,
                 operand.usage == Usage::Packed ? 8 : operand.vector);
  schedule.grid[0] = ceilDiv(schedule.rows, schedule.tileRows) + " * " +
                     ceilDiv(schedule.cols, schedule.tileCols);
  return {};
}

/// Partners of a rope's neighbours are neighbours where half of what turns is a
/// multiple of the access.
static void schedulePartners(KernelSchedule &schedule,
                             const ScheduleInput &input) {
  for (int step : schedule.plan.steps) {
    const Step &info = input.recipe.steps[step];
    if (info.op != Opcode::ROPE)
      continue;
    const int value = input.graph.args[step][0];
    if (const ScheduledOperand *table =
            schedule.find(input.graph.args[step][2], Usage::Frequencies))
      schedule.require(
          "2 * " + table->shape(0) + " == " +
              (info.params.has("rotary_dim")
                   ? std::to_string(info.params.getInt("rotary_dim", 0))
                   : schedule.cols),
          table->name + " has a frequency for each pair");
    for (ScheduledOperand &x : schedule.operands) {
      if (x.value != value || x.usage != Usage::Space || x.vector < 2)
        continue;
      const bool turnsAll = !info.params.has("rotary_dim");
      const int64_t turned = turnsAll ? runSize(schedule, schedule.colRun)
                                      : info.params.getInt("rotary_dim", 0);
      if (turned % (2 * x.vector) != 0)
        continue;
      x.partnerVector = x.vector;
      if (turnsAll)
        schedule.require("(" + schedule.cols + ") % " +
                             std::to_string(2 * x.vector) + " == 0",
                         "halves of a head are read " +
                             std::to_string(x.vector) + " elements at a time");
    }
  }
}

Result<void> codegen::scheduleRows(KernelSchedule &schedule,
                                   const ScheduleInput &input) {
  bool isReduction = false;
  for (int step : schedule.plan.steps)
    switch (input.recipe.steps[step].op) {
    case Opcode::SOFTMAX:
    case Opcode::RMSNORM:
    case Opcode::LAYERNORM:
    case Opcode::SAMPLE_ARGMAX:
      isReduction = true;
      break;
    default:
      break;
    }
  Result<void> done = isReduction ? scheduleReduction(schedule, input)
                                  : scheduleElementwise(schedule, input);
  if (!done)
    return done.error();
  schedulePartners(schedule, input);
  schedule.explanation =
      "row-wise: tiles of " + std::to_string(schedule.tileRows) + " x " +
      std::to_string(schedule.tileCols) + " on " +
      std::to_string(schedule.warps) + " warps" +
      (schedule.loopsColumns ? ", looping over columns" : "") + "; " +
      std::to_string(schedule.rowRuns.size()) + " row dims after merging";
  return {};
}
