//===- Gemv.cpp - Schedule of gemv_tile -----------------------------------===//
//
// A CTA computes a few output columns of one row of x: the tile holds rows of
// W, their products with x accumulate elementwise, and one reduction at the end
// adds the columns. A warp holds 256 k of one output column, so the order of
// additions is a function of K alone.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/MatmulOperands.h"

#include <bit>

using namespace tandem;
using namespace tandem::codegen;

Result<void> codegen::scheduleGemv(KernelSchedule &schedule,
                                   const ScheduleInput &input) {
  const Step &step = input.recipe.steps[productOf(schedule.plan)];
  const CompileOptions &options = input.options;
  scheduleSum(schedule, step);
  int64_t k = 1;
  for (const ScheduledOperand &operand : schedule.operands)
    if (operand.usage == Usage::MatmulX)
      k = operand.desc.shape.back();
  int64_t chosen = std::min<int64_t>(
      256, std::max<int64_t>(8, static_cast<int64_t>(
                                    std::bit_ceil(static_cast<uint64_t>(k)))));
  Result<int64_t> tileK =
      parameter(options, "tile_k", chosen, std::min<int64_t>(chosen, 32), 1024);
  if (!tileK)
    return tileK.error();
  Result<int64_t> warps = parameter(options, "warps", 4, 1, 16);
  if (!warps)
    return warps.error();
  int64_t columns = std::max<int64_t>(1, *warps * 256 / *tileK);
  Result<int64_t> tileN = parameter(options, "tile_n", columns, 1, 1024);
  if (!tileN)
    return tileN.error();
  schedule.tileDepth = *tileK;
  schedule.tileRows = *tileN; // rows of W are the tile's rows
  schedule.tileCols = 1;
  schedule.warps = static_cast<int>(*warps);
  schedule.threadCols = 8;
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
