//===- MatmulPipeline.cpp - gemm_tile on asynchronous copies --------------===//
//
// On sm_90a, one warp copies tiles of x and W into a ring of stages while eight
// multiply them, and CTAs take tiles until none is left. The copy engine needs
// rows of whole 16-byte units; everything else keeps the plain kernel. Which of
// them a product takes depends on types, strides, N and K, never on M; and the
// order of additions is the same in all: k ascending, 16 at a time.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/MatmulOperands.h"

#include <charconv>

using namespace tandem;
using namespace tandem::codegen;

/// SMs of every sm_90a device in its full form (H100 SXM, H200). A grid of more
/// CTAs than run at once is right too, and slower.
static constexpr int64_t numSms = 132;
/// Shared memory for a ring next to 32 KB of tiles on their way out.
static constexpr int64_t ringBytes = 192 << 10;
/// Bytes of a row of a stage.
static constexpr int64_t rowBytes = 128;
/// Below, most of a tile is padding.
static constexpr int64_t leastCols = 32, leastDepth = 32;

static const ScheduledOperand *operandOf(const KernelSchedule &schedule,
                                         Usage usage) {
  for (const ScheduledOperand &operand : schedule.operands)
    if (operand.usage == usage)
      return &operand;
  return nullptr;
}

/// Whether rows of the operand start at multiples of 16 bytes, which the
/// preconditions then say.
static bool hasWideRows(const ScheduledOperand &operand) {
  return operand.colStride == "1" &&
         operand.vector * static_cast<int>(dtypeSize(operand.desc.dtype)) == 16;
}

static int64_t rowsOf(const KernelSchedule &schedule) {
  int64_t rows = 1;
  for (const std::vector<int> &run : schedule.rowRuns)
    rows *= runSize(schedule, run);
  return rows;
}

/// Why the kernel cannot be a pipeline; empty when it can.
static std::string whyNot(const KernelSchedule &schedule,
                          const ScheduleInput &input) {
  const ScheduledOperand *x = operandOf(schedule, Usage::MatmulX);
  const ScheduledOperand *w = operandOf(schedule, Usage::MatmulW);
  const KernelPlan &plan = schedule.plan;
  if (input.options.target != "sm_90a")
    return "the target has no asynchronous products";
  if (!schedule.usesTensorCore || x->desc.dtype != schedule.dotType ||
      w->desc.dtype != schedule.dotType)
    return "x and W are not both float16 or both bfloat16";
  if (plan.prologue >= 0)
    return "x is computed on the way";
  int products = 0;
  for (int step : plan.steps)
    products += isMatmul(input.recipe.steps[step].op);
  if (products > 1)
    return "it has more than one product";
  if (isKn(input.recipe.steps[productOf(plan)]))
    return "W is given as [K, N]";
  if (!plan.guards.empty())
    return "rows may be left out";
  if (schedule.rowRuns.size() > 1)
    return "rows of x lie in more than one run";
  if (!hasWideRows(*x) || !hasWideRows(*w))
    return "rows of x and W are not all multiples of 16 bytes";
  for (const std::string &stride : x->rowStrides)
    if (stride.empty())
      return "rows of x are broadcast";
  const int64_t depth = x->desc.shape.back();
  if (depth < leastDepth || runSize(schedule, schedule.colRun) < leastCols)
    return "K is below " + std::to_string(leastDepth) + " or N below " +
           std::to_string(leastCols);
  return "";
}

/// A parameter with a few values; \p chosen when it is not set.
static Result<int64_t> oneOf(const CompileOptions &options, const char *name,
                             int64_t chosen, std::vector<int64_t> values) {
  auto found = options.set.find(name);
  if (found == options.set.end())
    return chosen;
  const std::string &text = found->second;
  int64_t value = 0;
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  std::string known;
  for (int64_t one : values) {
    if (code == std::errc() && end == text.data() + text.size() && one == value)
      return value;
    known += (known.empty() ? "" : ", ") + std::to_string(one);
  }
  return Error("set: " + std::string(name) + ": expected one of " + known +
               " in an asynchronous product, got '" + text + "'");
}

bool codegen::suitsGemv(const KernelSchedule &schedule,
                        const ScheduleInput &input) {
  const KernelPlan &plan = schedule.plan;
  const Step &step = input.recipe.steps[productOf(plan)];
  const ScheduledOperand *x = operandOf(schedule, Usage::MatmulX);
  const ScheduledOperand *w = operandOf(schedule, Usage::MatmulW);
  if (rowsOf(schedule) != 1 || step.params.getBool("invariant", false) ||
      !input.options.set.empty() || plan.prologue >= 0 || isKn(step) ||
      !plan.guards.empty())
    return false;
  int products = 0;
  for (int each : plan.steps)
    products += isMatmul(input.recipe.steps[each].op);
  auto isDense = [](const ScheduledOperand &operand) {
    return dtypeSize(operand.desc.dtype) == 2 && isFloat(operand.desc.dtype) &&
           operand.desc.strides.back() == 1;
  };
  return products == 1 && x->desc.dtype == w->desc.dtype && isDense(*x) &&
         isDense(*w) && x->desc.shape.back() >= leastDepth &&
         runSize(schedule, schedule.colRun) >= leastCols;
}

namespace {
struct Shape {
  int64_t tileM, tileN, clusterN;
  /// How long one step of k takes, in hundredths of a microsecond on an H200:
  /// half a tile does not take half the time.
  int64_t step;
};
} // namespace

/// From here on half of a tile of 128 rows is padding.
static constexpr int64_t mostSwappedRows = 64;
static constexpr int64_t swappedCols = 128;

/// The tile whose rounds of CTAs take least. Where rows do not start at
/// multiples of a 128-byte line, every CTA reads lines twice, and two CTAs that
/// share x read half of it.
static Shape shapeFor(int64_t rows, int64_t cols, bool startsLines) {
  Shape best;
  int64_t least = 0;
  for (Shape shape : {Shape{128, 256, 1, 80}, Shape{128, 128, 1, 44},
                      Shape{128, 64, 1, 30}}) {
    if (!startsLines && cols > shape.tileN)
      shape.clusterN = 2;
    auto ceilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    const int64_t clusters = ceilDiv(rows, shape.tileM) *
                             ceilDiv(cols, shape.tileN * shape.clusterN);
    const int64_t time =
        ceilDiv(clusters, numSms / shape.clusterN) * shape.step;
    if (!least || time < least) {
      best = shape;
      least = time;
    }
  }
  return best;
}

/// Rows of x in a tile of few: 16, 32 or 64.
static int64_t fewRows(int64_t rows) {
  return rows <= 16 ? 16 : rows <= 32 ? 32 : mostSwappedRows;
}

/// Results that leave through shared memory: 16 bits an element, in rows of
/// whole 16-byte units.
static void chooseMaps(KernelSchedule &schedule) {
  for (ScheduledOperand &operand : schedule.operands) {
    if (!operand.isWritten || operand.usage != Usage::Space ||
        dtypeSize(operand.desc.dtype) != 2 || operand.colStride != "1" ||
        operand.align < 16 || operand.desc.shape.empty())
      continue;
    std::string stride = schedule.rowRuns.empty() ? "" : operand.rowStrides[0];
    int64_t value = 8;
    if (!schedule.rowRuns.empty())
      value = operand.desc.strides[static_cast<size_t>(
          operand.dimOf[schedule.rowRuns[0].back()])];
    if (value <= 0 || value % 8)
      continue;
    operand.usesMap = true;
    schedule.require(operand.name + ".align >= 16",
                     operand.name + " is written 16 bytes at a time");
    if (!stride.empty())
      schedule.require(stride + " > 0 && " + stride + " % 8 == 0",
                       "rows of " + operand.name +
                           " start at multiples of 16 bytes");
  }
}

Result<bool> codegen::scheduleMatmulPipeline(KernelSchedule &schedule,
                                             const ScheduleInput &input) {
  const CompileOptions &options = input.options;
  auto isSet = [&](const char *name) { return options.set.contains(name); };
  // Parameters that only the plain kernel has ask for it.
  auto isOnlyPlain = [&](const char *name, std::vector<int64_t> values) {
    return isSet(name) && !oneOf(options, name, 0, values);
  };
  const bool isForced = isSet("stages") && options.set.at("stages") != "0";
  std::string reason = whyNot(schedule, input);
  if (!isForced && reason.empty()) {
    if (isSet("stages"))
      reason = "stages = 0 asks for that";
    else if (isSet("tile_k") || isSet("warps") ||
             isOnlyPlain("tile_m", {128, 256}) ||
             isOnlyPlain("tile_n", {64, 128, 256}))
      reason = "the parameters that are set ask for that";
  }
  if (isForced && !reason.empty())
    return Error("set: stages: the product cannot be asynchronous: " + reason);
  if (!reason.empty()) {
    schedule.explanation = "; not asynchronous: " + reason;
    return false;
  }

  const Step &step = input.recipe.steps[productOf(schedule.plan)];
  ScheduledOperand *x = nullptr, *w = nullptr;
  for (ScheduledOperand &operand : schedule.operands) {
    if (operand.usage == Usage::MatmulX)
      x = &operand;
    if (operand.usage == Usage::MatmulW)
      w = &operand;
  }
  auto startsLines = [](const ScheduledOperand &operand, int64_t stride) {
    return stride * static_cast<int64_t>(dtypeSize(operand.desc.dtype)) %
               rowBytes ==
           0;
  };
  const int64_t rows = rowsOf(schedule);
  int64_t xStride = 0;
  if (!schedule.rowRuns.empty())
    xStride =
        x->desc
            .strides[static_cast<size_t>(x->dimOf[schedule.rowRuns[0].back()])];
  const bool areLines =
      startsLines(*x, xStride) && startsLines(*w, w->desc.strides[0]);
  Shape shape = shapeFor(rows, runSize(schedule, schedule.colRun), areLines);
  if (rows <= mostSwappedRows && !isSet("tile_m") && !isSet("tile_n") &&
      !isSet("cluster_m") && !isSet("cluster_n"))
    shape = {fewRows(rows), swappedCols, 1, 0};
  Result<int64_t> tileM =
      oneOf(options, "tile_m", shape.tileM, {16, 32, 64, 128, 256});
  const bool isSwapped = tileM && *tileM <= mostSwappedRows;
  if (isSwapped)
    shape = {*tileM, swappedCols, 1, 0};
  Result<int64_t> tileN = oneOf(options, "tile_n", shape.tileN, {64, 128, 256});
  Result<int64_t> clusterM = oneOf(options, "cluster_m", 1, {1, 2});
  Result<int64_t> clusterN =
      oneOf(options, "cluster_n",
            clusterM && *clusterM > 1 ? 1 : shape.clusterN, {1, 2});
  Result<int64_t> group = oneOf(options, "group", 8, {1, 2, 4, 8, 16, 32});
  Result<int64_t> registers = oneOf(options, "registers", 232, {232, 240});
  for (const Result<int64_t> *value :
       {&tileM, &tileN, &clusterM, &clusterN, &group, &registers})
    if (!*value)
      return value->error();
  if (isSwapped && (*tileN != swappedCols || *clusterM * *clusterN > 1))
    return Error("set: tile_m: a tile of at most 64 rows has 128 columns, and "
                 "its CTAs share nothing");
  if (*tileM * *tileN > 128 * 256)
    return Error("set: tile_m: a tile of 256 rows has at most 128 columns");
  if (*clusterM * *clusterN > 2)
    return Error("set: cluster_n: a cluster has at most 2 CTAs");
  const int64_t most = ringBytes / ((*tileM + *tileN) * rowBytes);
  std::vector<int64_t> counts;
  for (int64_t count = 2; count <= most; ++count)
    counts.push_back(count);
  Result<int64_t> stages =
      oneOf(options, "stages", std::min<int64_t>(most, 8), counts);
  if (!stages)
    return stages.error();

  Pipeline &pipeline = schedule.pipeline;
  pipeline.stages = static_cast<int>(*stages);
  pipeline.clusterM = static_cast<int>(*clusterM);
  pipeline.clusterN = static_cast<int>(*clusterN);
  pipeline.group = static_cast<int>(*group);
  pipeline.isSwapped = isSwapped;
  pipeline.streamsW = areLines && rows <= *tileM;
  pipeline.consumerRegisters = static_cast<int>(*registers);
  // What the file of 64 K registers leaves for the copying warps.
  pipeline.producerRegisters = *registers == 232 ? 40 : 24;
  schedule.tileRows = *tileM;
  schedule.tileCols = *tileN;
  schedule.tileDepth =
      rowBytes / static_cast<int64_t>(dtypeSize(schedule.dotType));
  schedule.warps = 12;
  schedule.threadCols = isSwapped ? 1 : 2;
  scheduleColumns(schedule, step, input.graph,
                  schedule.tileCols * pipeline.clusterN);
  if (schedule.colBegin == "0" && schedule.colEnd == schedule.cols)
    chooseVectors(schedule, schedule.threadCols);
  if (!isSwapped)
    chooseMaps(schedule);
  schedule.require(schedule.depth + " > 0", "there is something to add up");
  for (const ScheduledOperand *operand : {x, w})
    for (const std::string &stride : operand->rowStrides)
      schedule.require(stride + " > 0",
                       "rows of " + operand->name + " lie one after the other");
  const std::string clusters = std::to_string(pipeline.cluster());
  pipeline.rowTiles = "ceildiv(" + schedule.rows + ", " +
                      std::to_string(schedule.tileRows * pipeline.clusterM) +
                      ")";
  const std::string tiles = pipeline.rowTiles + " * " + schedule.colTiles;
  schedule.require(tiles + " * ceildiv(" + schedule.depth + ", " +
                       std::to_string(schedule.tileDepth) + ") < 2147483648",
                   "turns are counted in 32 bits");
  pipeline.workers =
      "min(" + tiles + ", " + std::to_string(numSms / pipeline.cluster()) + ")";
  schedule.grid[0] = pipeline.cluster() == 1
                         ? pipeline.workers
                         : clusters + " * " + pipeline.workers;
  schedule.explanation =
      "matmul: tiles of " + std::to_string(schedule.tileRows) + " x " +
      std::to_string(schedule.tileCols) + ", " +
      std::to_string(pipeline.stages) + " stages of " +
      std::to_string(schedule.tileDepth) + " k filled by asynchronous copies";
  if (isSwapped)
    schedule.explanation += ", rows of W as the tensor core's rows";
  if (pipeline.cluster() > 1)
    schedule.explanation += ", clusters of " +
                            std::to_string(pipeline.clusterM) + " x " +
                            std::to_string(pipeline.clusterN);
  return true;
}
