//===- ReductionOrder.cpp - The order of additions of a schedule ----------===//
#include "codegen/schedule/ReductionOrder.h"

#include <algorithm>
#include <bit>

using namespace tandem;
using namespace tandem::codegen;

static int64_t log2(int64_t powerOfTwo) {
  return std::countr_zero(static_cast<uint64_t>(powerOfTwo));
}

/// A row of `cols` columns dealt as LinearLayout::blocked does, summed as
/// tile.reduce does: a balanced tree over a thread's registers, butterflies
/// over lanes, then a balanced tree over warps.
static ReductionOrder treeOrder(int64_t cols, int64_t threadCols, int warps) {
  int64_t neighbours = std::min(threadCols, cols);
  int64_t lanes = std::min<int64_t>(32, cols / neighbours);
  int64_t colWarps = std::min<int64_t>(warps, cols / (neighbours * lanes));
  int64_t registers = cols / (lanes * colWarps);
  return {std::to_string(log2(registers) + log2(lanes) + log2(colWarps)),
          std::to_string(registers) + " registers (" +
              std::to_string(neighbours) + " neighbours), " +
              std::to_string(lanes) + " lanes, " + std::to_string(colWarps) +
              " warps"};
}

int64_t codegen::gemvNeighbours(const KernelSchedule &schedule) {
  return std::min(16, schedule.threadCols);
}

ReductionOrder codegen::reductionOrder(const KernelSchedule &schedule) {
  if (schedule.plan.family == Family::Matmul)
    return {"min(n, 32) + ceildiv(n, 32)",
            "k ascending in partial sums of 32 fma"};
  if (schedule.plan.family == Family::Gemv) {
    const int64_t n = gemvNeighbours(schedule);
    ReductionOrder order = treeOrder(schedule.tileDepth / n,
                                     schedule.threadCols / n, schedule.warps);
    const std::string count = std::to_string(n);
    const std::string chunk = std::to_string(schedule.tileDepth);
    order.depth = "min(n, " + count + ") + " +
                  (schedule.loopsColumns ? "ceildiv(n, " + chunk + ")" : "1") +
                  " + " + order.depth;
    order.text = "fma over " + count + " neighbours, " +
                 (schedule.loopsColumns
                      ? "chunks of " + chunk + " added elementwise, then "
                      : "then ") +
                 order.text;
    return order;
  }
  int64_t cols = schedule.tileCols;
  ReductionOrder order = treeOrder(cols, schedule.threadCols, schedule.warps);
  if (!schedule.loopsColumns)
    return order;
  std::string chunk = std::to_string(cols);
  return {"ceildiv(n, " + chunk + ") + " + order.depth,
          "chunks of " + chunk + " added elementwise, then " + order.text};
}

ReductionOrder codegen::normOrder(const KernelSchedule &schedule,
                                  int64_t chunk) {
  // A gemv's threads lie along k as its products' do; a matmul's have 8
  // neighbours each.
  ReductionOrder order = treeOrder(
      chunk, schedule.plan.family == Family::Gemv ? schedule.threadCols : 8,
      schedule.warps);
  // A gemv whose k fits its tile has one chunk.
  if (schedule.plan.family == Family::Gemv && !schedule.loopsColumns)
    return order;
  const std::string size = std::to_string(chunk);
  return {"ceildiv(n, " + size + ") + " + order.depth,
          "chunks of " + size + " added elementwise, then " + order.text};
}
