//===- Gemv.cpp - Schedule of gemv_tile -----------------------------------===//
//
// A CTA computes a few output columns of one row of x: the tile holds rows of
// W. A thread adds the products of up to 16 neighbouring k, the sums of
// neighbours add up over chunks of k, and one reduction at the end adds the
// columns. The order of additions is a function of K and of W's type alone.
//
// A thread reads 16 bytes of a row of W at a time, and of several rows before
// it needs the first: that is what keeps the memory busy, and each number of x
// is read and widened once for all of them.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/MatmulOperands.h"

#include <bit>

using namespace tandem;
using namespace tandem::codegen;

static constexpr int64_t lanesOfWarp = 32;
/// Rows of W of a thread; of int8, whose numbers take more registers to widen
/// than they come in, 2.
static constexpr int64_t rowsOfThread = 4;
static constexpr int64_t rowsOfInt8 = 2;
/// Two CTAs and more for each multiprocessor of a large GPU.
static constexpr int64_t manyCtas = 256;

/// 16 bytes of a row of W, and no fewer k than an access of x has.
static int neighboursOf(DType w) {
  if (w == DType::U8)
    return 32; // int4
  return std::max(8, 16 / static_cast<int>(dtypeSize(w)));
}

Result<void> codegen::scheduleGemv(KernelSchedule &schedule,
                                   const ScheduleInput &input) {
  const Step &step = input.recipe.steps[productOf(schedule.plan)];
  const CompileOptions &options = input.options;
  int64_t k = 1;
  int neighbours = 8;
  int64_t rowsHeld = rowsOfThread;
  for (const ScheduledOperand &operand : schedule.operands) {
    if (operand.usage == Usage::MatmulX)
      k = operand.desc.shape.back();
    else if (operand.usage == Usage::MatmulW) {
      neighbours = neighboursOf(operand.desc.dtype);
      if (operand.desc.dtype == DType::I8)
        rowsHeld = rowsOfInt8;
    }
  }
  scheduleSum(schedule, step, neighbours);
  int64_t chosen = std::min<int64_t>(
      lanesOfWarp * neighbours,
      std::max<int64_t>(
          8, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(k)))));
  Result<int64_t> tileK =
      parameter(options, "tile_k", chosen, std::min<int64_t>(chosen, 32), 4096);
  if (!tileK)
    return tileK.error();
  Result<int64_t> warps = parameter(options, "warps", 4, 1, 16);
  if (!warps)
    return warps.error();
  schedule.threadCols = static_cast<int>(std::min<int64_t>(neighbours, *tileK));
  // Rows of W that the threads hold at once, each one: then a few each, where
  // that leaves enough CTAs.
  int64_t columns =
      std::max<int64_t>(1, *warps * lanesOfWarp * schedule.threadCols / *tileK);
  if (runSize(schedule, schedule.colRun) >= manyCtas * rowsHeld * columns)
    columns *= rowsHeld;
  Result<int64_t> tileN = parameter(options, "tile_n", columns, 1, 1024);
  if (!tileN)
    return tileN.error();
  schedule.tileDepth = *tileK;
  schedule.tileRows = *tileN; // rows of W are the tile's rows
  schedule.tileCols = 1;
  schedule.warps = static_cast<int>(*warps);
  // Longer rows of W loop; a tile of 32 k and more keeps the chain of additions
  // within its licence for every length.
  schedule.loopsColumns = k > *tileK;
  std::string fits = std::to_string(*tileK);
  if (!schedule.loopsColumns)
    schedule.require(schedule.depth + " <= " + fits,
                     "a row of W fits in one tile of " + fits + " k");
  else
    schedule.require(schedule.depth + " > " + fits,
                     "a row of W is longer than " + fits + " k");
  scheduleColumns(schedule, step, input.graph, *tileN);
  schedule.grid[0] = "(" + schedule.rows + ") * " + schedule.colTiles;
  schedule.explanation = "gemv: " + std::to_string(*tileN) +
                         " columns a CTA on " + std::to_string(*warps) +
                         " warps, k in steps of " + std::to_string(*tileK);
  return {};
}
