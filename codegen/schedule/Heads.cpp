//===- Heads.cpp - Schedules of attention and of the recurrence -----------===//
//
// A CTA has one sequence and one head (attention: some query heads of one
// key/value head; recurrence: some columns of one value head). The head's size
// is a constant of the kernel: 1 / sqrt(D) is rounded once, on the host. Sizes
// and strides beyond that stay arguments.
//
// Which position or row a thread holds depends on the head's size alone, so
// that the order of additions does too: neither the batch, the number of heads,
// dtypes nor alignment change a head's bits.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/Schedule.h"

#include <algorithm>
#include <bit>

using namespace tandem;
using namespace tandem::codegen;

/// One 16-byte access of a 16-bit cache.
static constexpr int attentionThreadCols = 8;
/// One 16-byte access of the f32 state.
static constexpr int stateThreadCols = 4;
/// One 16-byte access of what a part of a window leaves.
static constexpr int partThreadCols = 4;
/// Query heads of a CTA: each keeps a query and an accumulator in registers.
static constexpr int64_t mostHeads = 4;
/// Those of a CTA on the tensor core: rows of a product.
static constexpr int64_t mmaHeads = 8;
/// 32 warps hold two positions of such a head.
static constexpr int64_t mostHeadDim = 4096;
/// Positions of a round, at least: what a partial sum passes through is then
/// within its licence for any window.
static constexpr int64_t leastRound = 32;

static int64_t pow2(int64_t value) {
  return static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(value, 1))));
}

static ScheduledOperand *find(KernelSchedule &schedule,
                              const ScheduleInput &input, size_t arg) {
  int step = schedule.plan.steps[0];
  int updated = input.graph.updates[step][arg];
  int value = updated >= 0 ? updated : input.graph.args[step][arg];
  for (ScheduledOperand &operand : schedule.operands)
    if (operand.value == value && operand.usage == Usage::Free)
      return &operand;
  return nullptr;
}

static ScheduledOperand *findResult(KernelSchedule &schedule,
                                    const ScheduleInput &input) {
  int value = input.graph.results[schedule.plan.steps[0]][0];
  for (ScheduledOperand &operand : schedule.operands)
    if (operand.value == value && operand.isWritten)
      return &operand;
  return nullptr;
}

/// How the last dim is accessed: by stride, or \p limit elements at a time
/// where addresses and the \p cols columns allow it.
static void chooseAccess(KernelSchedule &schedule, ScheduledOperand &operand,
                         const std::string &cols, int64_t numCols, int limit) {
  int last = static_cast<int>(operand.desc.rank()) - 1;
  operand.colStride = operand.stride(last);
  if (operand.desc.strides[last] != 1 && operand.desc.shape[last] > 1)
    return;
  operand.colStride = "1";
  schedule.require(
      operand.stride(last) + " == 1 || " + operand.shape(last) + " <= 1",
      "neighbouring columns of " + operand.name + " are neighbours in memory");
  int bytes = static_cast<int>(dtypeSize(operand.desc.dtype));
  for (int vector = std::min(limit, 16 / bytes); vector > 1; vector /= 2) {
    bool fits = operand.align % static_cast<uint64_t>(vector * bytes) == 0 &&
                numCols % vector == 0;
    for (int dim = 0; dim < last; ++dim)
      fits &= operand.desc.strides[dim] % vector == 0;
    if (!fits)
      continue;
    operand.vector = vector;
    std::string count = std::to_string(vector);
    schedule.require(operand.name +
                         ".align >= " + std::to_string(vector * bytes),
                     operand.name + " is read or written " +
                         std::to_string(vector * bytes) + " bytes at a time");
    std::string reason =
        operand.name + " is accessed " + count + " elements at a time";
    schedule.require("(" + cols + ") % " + count + " == 0", reason);
    for (int dim = 0; dim < last; ++dim)
      schedule.require(operand.stride(dim) + " % " + count + " == 0", reason);
    return;
  }
}

namespace {
/// Conditions on shapes that the kernel relies on.
class Shapes {
public:
  explicit Shapes(KernelSchedule &schedule) : schedule(schedule) {}

  void equal(const ScheduledOperand &a, int dimA, const ScheduledOperand &b,
             int dimB) {
    schedule.require(a.shape(dimA) + " == " + b.shape(dimB),
                     "dim " + std::to_string(dimA) + " of " + a.name +
                         " has the size of dim " + std::to_string(dimB) +
                         " of " + b.name);
  }
  void is(const ScheduledOperand &a, int dim, int64_t size) {
    schedule.require(a.shape(dim) + " == " + std::to_string(size),
                     "dim " + std::to_string(dim) + " of " + a.name + " is " +
                         std::to_string(size));
  }
  /// many is a multiple of few; the quotient, at least \p least.
  std::string quotient(const std::string &many, const std::string &few,
                       int64_t least) {
    std::string divisor = "max(" + few + ", 1)";
    schedule.require(many + " % " + divisor + " == 0",
                     many + " is a multiple of " + few);
    std::string text = many + " / " + divisor;
    return least ? "max(" + text + ", " + std::to_string(least) + ")" : text;
  }

private:
  KernelSchedule &schedule;
};
} // namespace

static Result<void> checkHead(const char *name, int64_t size) {
  if (size <= mostHeadDim)
    return {};
  return Error(std::string(name) + ": heads of at most " +
               std::to_string(mostHeadDim) + " elements have a kernel, got " +
               std::to_string(size));
}

/// k_new and v_new are [kvh, D], [B, kvh, D] or [B, kvh * D].
static void scheduleNewRow(KernelSchedule &schedule, ScheduledOperand &fresh,
                           const ScheduledOperand &cache, int batchDims) {
  Shapes shapes(schedule);
  int last = static_cast<int>(cache.desc.rank()) - 1;
  int64_t heads = cache.desc.shape[last - 1], size = schedule.headDim;
  std::string joined = cache.shape(last - 1) + " * " + std::to_string(size);
  if (fresh.desc.rank() == 3) {
    shapes.is(fresh, 2, size);
    shapes.equal(fresh, 1, cache, last - 1);
  } else if (!batchDims && fresh.desc.shape[0] == heads &&
             fresh.desc.shape[1] == size) {
    shapes.is(fresh, 1, size);
    shapes.equal(fresh, 0, cache, last - 1);
  } else {
    schedule.newHeadsAreJoined = true;
    schedule.require(fresh.shape(1) + " == " + joined,
                     fresh.name + " holds the heads of a row one after the "
                                  "other");
  }
  if (batchDims)
    shapes.equal(fresh, 0, cache, 0);
  chooseAccess(schedule, fresh, std::to_string(size), size,
               attentionThreadCols);
}

/// The result, or what parts of the window leave in its place.
static void scheduleHeadResult(KernelSchedule &schedule,
                               const ScheduleInput &input,
                               const ScheduledOperand &q, int limit) {
  Shapes shapes(schedule);
  const int headDim = static_cast<int>(q.desc.rank()) - 2;
  const std::string text = std::to_string(schedule.headDim);
  auto place = [&](ScheduledOperand &held, int first) {
    for (int dim = 0; dim <= headDim; ++dim)
      shapes.equal(held, first + dim, q, dim);
    shapes.is(held, first + headDim + 1, held.desc.shape.back());
    chooseAccess(schedule, held, text, schedule.headDim, limit);
  };
  if (ScheduledOperand *out = findResult(schedule, input))
    place(*out, 0);
  for (ScheduledOperand &operand : schedule.operands)
    if (operand.value == schedule.plan.partials) {
      shapes.is(operand, 0, schedule.plan.splits);
      place(operand, 1);
    }
}

static void placeMerge(KernelSchedule &schedule) {
  schedule.threadCols = partThreadCols;
  schedule.tileCols = std::max<int64_t>(partThreadCols, pow2(schedule.headDim));
  schedule.warps = static_cast<int>(std::clamp<int64_t>(
      schedule.plan.splits * schedule.tileCols / 1024, 1, 8));
  schedule.tileRows = std::max<int64_t>(schedule.plan.splits,
                                        32 * partThreadCols * schedule.warps /
                                            schedule.tileCols);
}

/// A CTA has one query head, and each part in a row of its tile.
static Result<void> scheduleMerge(KernelSchedule &schedule,
                                  const ScheduleInput &input) {
  const bool isStep =
      input.recipe.steps[schedule.plan.steps[0]].op == Opcode::ATTN_STEP;
  ScheduledOperand &q = *find(schedule, input, 0);
  ScheduledOperand &keys = *find(schedule, input, isStep ? 3 : 1);
  const int batchDims = q.desc.rank() == 3;
  placeMerge(schedule);
  schedule.tileDepth = 1;
  Shapes shapes(schedule);
  shapes.is(q, batchDims + 1, schedule.headDim);
  scheduleHeadResult(schedule, input, q, partThreadCols);
  schedule.depth =
      shapes.quotient(q.shape(batchDims), keys.shape(batchDims + 1), 0);
  schedule.colTiles = schedule.depth;
  schedule.grid[0] = (batchDims ? q.shape(0) + " * " : "") +
                     keys.shape(batchDims + 1) + " * (" + schedule.colTiles +
                     ")";
  schedule.explanation = "attention: merges " +
                         std::to_string(schedule.plan.splits) +
                         " parts of a window, one query head a CTA";
  return {};
}

/// Whether the tensor core can multiply queries with keys, and weights with
/// values: a lane has 8 columns of 32, and up to 256 fit its registers.
static bool canUseTensorCore(int64_t cols, const ScheduledOperand &q,
                             const ScheduledOperand &keys,
                             const ScheduledOperand &values) {
  const DType type = values.desc.dtype;
  return (type == DType::F16 || type == DType::BF16) && q.desc.dtype == type &&
         keys.desc.dtype == type && cols >= 32 && cols <= 256;
}

/// Positions of a round on the tensor core: 16 a warp and tile.
static Result<void> chooseMmaRound(KernelSchedule &schedule,
                                   const ScheduleInput &input) {
  // What is merged after the loop fits static shared memory.
  const int64_t most = std::min<int64_t>(8, 512 / schedule.tileCols);
  Result<int64_t> warps =
      parameter(input.options, "warps", std::min<int64_t>(4, most), 2, most);
  if (!warps)
    return warps.error();
  schedule.warps = static_cast<int>(*warps);
  Result<int64_t> tiles = parameter(input.options, "tiles", 1, 1, 2);
  if (!tiles)
    return tiles.error();
  schedule.tilesARound = static_cast<int>(*tiles);
  Result<int64_t> stages = parameter(
      input.options, "stages", schedule.tileCols * *tiles <= 256 ? 2 : 1, 1, 2);
  if (!stages)
    return stages.error();
  schedule.loadsTogether = *stages == 2;
  // How a new row is written.
  schedule.threadCols = attentionThreadCols;
  schedule.tileRows = std::max<int64_t>(1, *warps * 32 * attentionThreadCols /
                                               schedule.tileCols);
  return {};
}

/// Positions of a round otherwise.
static Result<void> chooseRound(KernelSchedule &schedule,
                                const ScheduleInput &input) {
  Result<int64_t> columns = parameter(
      input.options, "columns", attentionThreadCols, attentionThreadCols, 32);
  if (!columns)
    return columns.error();
  schedule.threadCols =
      static_cast<int>(std::min<int64_t>(*columns, schedule.tileCols));
  // Four positions a warp with heads of 64; longer heads take more warps, so
  // that a round keeps to few tiles.
  int64_t fitting = schedule.tileCols <= 128   ? 4
                    : schedule.tileCols <= 256 ? 8
                    : schedule.tileCols < 4096 ? 16
                                               : 32;
  Result<int64_t> warps =
      parameter(input.options, "warps", fitting, std::min<int64_t>(fitting, 4),
                std::max<int64_t>(fitting, 16));
  if (!warps)
    return warps.error();
  schedule.warps = static_cast<int>(*warps);
  schedule.tileRows =
      std::max<int64_t>(1, int64_t(schedule.warps) * 32 * schedule.threadCols /
                               schedule.tileCols);
  Result<int64_t> tiles =
      parameter(input.options, "tiles",
                std::max<int64_t>(2, leastRound / schedule.tileRows), 1,
                std::max<int64_t>(8, leastRound / schedule.tileRows));
  if (!tiles)
    return tiles.error();
  // No fewer positions a round, whatever is asked for.
  schedule.tilesARound = static_cast<int>(
      std::max<int64_t>(*tiles, leastRound / schedule.tileRows));
  return {};
}

Result<void> codegen::scheduleAttention(KernelSchedule &schedule,
                                        const ScheduleInput &input) {
  bool isStep =
      input.recipe.steps[schedule.plan.steps[0]].op == Opcode::ATTN_STEP;
  ScheduledOperand &q = *find(schedule, input, 0);
  ScheduledOperand &keys = *find(schedule, input, isStep ? 3 : 1);
  ScheduledOperand &values = *find(schedule, input, isStep ? 4 : 2);
  int batchDims = q.desc.rank() == 3;
  int64_t size = q.desc.shape.back();
  if (Result<void> ok = checkHead("attention", size); !ok)
    return ok.error();
  schedule.headDim = size;
  const std::string window = keys.shape(batchDims);
  if (!input.options.set.contains("splits"))
    requirePartsOf(schedule, keys.desc.shape[batchDims], window);
  if (schedule.plan.merges)
    return scheduleMerge(schedule, input);
  schedule.tileCols = std::max<int64_t>(attentionThreadCols, pow2(size));
  // What only the other way reads asks for it.
  schedule.usesTensorCore =
      canUseTensorCore(schedule.tileCols, q, keys, values) &&
      !input.options.set.contains("columns") &&
      !input.options.set.contains("heads");
  if (Result<void> ok = schedule.usesTensorCore
                            ? chooseMmaRound(schedule, input)
                            : chooseRound(schedule, input);
      !ok)
    return ok.error();

  Shapes shapes(schedule);
  int headDim = batchDims, cacheHeads = batchDims + 1;
  shapes.is(q, headDim + 1, size);
  for (ScheduledOperand *cache : {&keys, &values}) {
    shapes.is(*cache, cacheHeads + 1, size);
    if (batchDims)
      shapes.equal(*cache, 0, q, 0);
  }
  shapes.equal(values, batchDims, keys, batchDims);
  shapes.equal(values, cacheHeads, keys, cacheHeads);
  std::string text = std::to_string(size);
  for (ScheduledOperand *operand : {&q, &keys, &values})
    chooseAccess(schedule, *operand, text, size, attentionThreadCols);
  if (isStep)
    for (size_t arg : {1, 2})
      scheduleNewRow(schedule, *find(schedule, input, arg),
                     arg == 1 ? keys : values, batchDims);
  scheduleHeadResult(schedule, input, q, attentionThreadCols);

  int64_t group =
      q.desc.shape[headDim] / std::max<int64_t>(1, keys.desc.shape[cacheHeads]);
  // Heads that fill several warps: what the merge exchanges grows with both.
  int64_t most = schedule.tileCols <= 256    ? mostHeads
                 : schedule.tileCols <= 1024 ? 2
                                             : 1;
  Result<int64_t> chosen = parameter(input.options, "heads",
                                     std::min(most, pow2(group)), 1, mostHeads);
  if (!chosen)
    return chosen.error();
  int64_t heads = schedule.usesTensorCore ? mmaHeads : *chosen;
  schedule.tileDepth = heads;
  schedule.depth = shapes.quotient(q.shape(headDim), keys.shape(cacheHeads), 0);
  schedule.colTiles =
      "ceildiv(" + schedule.depth + ", " + std::to_string(heads) + ")";
  // A step without query heads still appends.
  if (isStep)
    schedule.colTiles = "max(" + schedule.colTiles + ", 1)";
  schedule.grid[0] = (batchDims ? q.shape(0) + " * " : "") +
                     keys.shape(cacheHeads) + " * " + schedule.colTiles;
  if (schedule.plan.splits > 1) {
    schedule.grid[1] = std::to_string(schedule.plan.splits);
    KernelSchedule merge;
    merge.plan.splits = schedule.plan.splits;
    merge.headDim = size;
    placeMerge(merge);
    schedule.mergeDepth =
        std::bit_width(static_cast<uint64_t>(merge.tileRows)) +
        std::bit_width(static_cast<uint64_t>(merge.warps));
  }
  schedule.explanation =
      "attention: " + std::to_string(heads) + " query heads a CTA on " +
      std::to_string(schedule.warps) + " warps, " +
      (schedule.usesTensorCore
           ? std::to_string(16 * schedule.tilesARound) +
                 " positions a warp and round on the tensor core"
           : std::to_string(schedule.tileRows) + " x " +
                 std::to_string(schedule.tilesARound) + " positions a round") +
      (schedule.plan.splits > 1
           ? ", each window in " + std::to_string(schedule.plan.splits) +
                 " parts"
           : "");
  return {};
}

Result<void> codegen::scheduleRecurrence(KernelSchedule &schedule,
                                         const ScheduleInput &input) {
  ScheduledOperand &q = *find(schedule, input, 0);
  ScheduledOperand &key = *find(schedule, input, 1);
  ScheduledOperand &v = *find(schedule, input, 2);
  ScheduledOperand &g = *find(schedule, input, 3);
  ScheduledOperand &beta = *find(schedule, input, 4);
  ScheduledOperand &state = *find(schedule, input, 5);
  int batchDims = v.desc.rank() == 3;
  int64_t size = key.desc.shape.back(), width = v.desc.shape.back();
  if (Result<void> ok = checkHead("gdn_step", size); !ok)
    return ok.error();
  schedule.headDim = size;
  schedule.tileRows = pow2(size);
  schedule.threadCols = stateThreadCols;
  // 32 elements of the state a thread, and whole sectors of a row.
  int64_t most = schedule.tileRows <= 512 ? 32 : 8;
  Result<int64_t> columns = parameter(
      input.options, "columns",
      std::clamp<int64_t>(pow2(width), stateThreadCols, most), stateThreadCols,
      std::max<int64_t>(most, 16384 / schedule.tileRows));
  if (!columns)
    return columns.error();
  schedule.tileCols = *columns;
  Result<int64_t> warps = parameter(
      input.options, "warps",
      std::clamp<int64_t>(schedule.tileRows * schedule.tileCols / 1024, 1, 16),
      1, 16);
  if (!warps)
    return warps.error();
  schedule.warps = static_cast<int>(*warps);
  // No element in two threads: one would write what the other still reads.
  schedule.tileRows =
      std::max(schedule.tileRows,
               32 * stateThreadCols * schedule.warps / schedule.tileCols);

  Shapes shapes(schedule);
  for (ScheduledOperand *operand : {&q, &key}) {
    shapes.is(*operand, batchDims + 1, size);
    shapes.equal(*operand, batchDims, key, batchDims);
  }
  shapes.is(state, batchDims + 1, size);
  shapes.equal(state, batchDims + 2, v, batchDims + 1);
  for (ScheduledOperand *operand : {&g, &beta, &state})
    shapes.equal(*operand, batchDims, v, batchDims);
  if (batchDims)
    for (ScheduledOperand *operand : {&q, &key, &g, &beta, &state})
      shapes.equal(*operand, 0, v, 0);
  std::string cols = v.shape(batchDims + 1);
  for (ScheduledOperand *operand : {&v, &state})
    chooseAccess(schedule, *operand, cols, width, stateThreadCols);
  if (ScheduledOperand *out = findResult(schedule, input)) {
    for (int dim = 0; dim < batchDims + 2; ++dim)
      shapes.equal(*out, dim, v, dim);
    chooseAccess(schedule, *out, cols, width, stateThreadCols);
  }
  schedule.depth = shapes.quotient(v.shape(batchDims), key.shape(batchDims), 1);
  schedule.colTiles =
      "ceildiv(" + cols + ", " + std::to_string(schedule.tileCols) + ")";
  schedule.grid[0] = (batchDims ? v.shape(0) + " * " : "") +
                     v.shape(batchDims) + " * " + schedule.colTiles;
  schedule.explanation = "recurrence: " + std::to_string(schedule.tileCols) +
                         " columns of a head's state a CTA on " +
                         std::to_string(schedule.warps) +
                         " warps, in registers";
  return {};
}
