//===- Matmul.cpp - Schedule of gemm_tile ---------------------------------===//
//
// A CTA computes a tile_m x tile_n tile, k ascending in steps of tile_k. An
// output element's chain of additions is the same whatever M, N and the tile
// are, which is what `invariant: true` asks for.
//
// f16 and bf16 pairs use tensor-core fragments. Other pairs use fma in f32, in
// partial sums of 32 products, because a chain of K additions is longer than a
// contract may be (refops/Numerics.h, licensedDepth).
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/MatmulOperands.h"

using namespace tandem;
using namespace tandem::codegen;

int codegen::productOf(const KernelPlan &plan) {
  return plan.steps[plan.prologue >= 0 ? 1 : 0];
}

void codegen::scheduleColumns(KernelSchedule &schedule, const Step &step,
                              const Graph &graph, int64_t tileCols) {
  std::string n = schedule.cols;
  bool isPartial = !writesAllColumns(step);
  int result = graph.results[productOf(schedule.plan)][0];
  // A scratch value reads as zero outside the window, so all of it is computed.
  if (isPartial && graph.values[result].output >= 0) {
    std::string offset = std::to_string(step.params.getInt("n_off", 0));
    schedule.colBegin = offset;
    schedule.colEnd =
        step.params.has("N_tile")
            ? "min(" + offset + " + " +
                  std::to_string(step.params.getInt("N_tile", 0)) + ", " + n +
                  ")"
            : n;
  } else {
    schedule.colBegin = "0";
    schedule.colEnd = n;
  }
  schedule.colTiles = "ceildiv(max(" + schedule.colEnd + " - " +
                      schedule.colBegin + ", 0), " + std::to_string(tileCols) +
                      ")";
}

void codegen::scheduleSum(KernelSchedule &schedule, const Step &step,
                          int neighbours) {
  const bool isKn = codegen::isKn(step);
  for (ScheduledOperand &operand : schedule.operands) {
    bool isX = operand.usage == Usage::MatmulX;
    if (operand.usage == Usage::Groups) {
      schedule.require(operand.shape(0) + " == " + schedule.cols,
                       operand.name + " has one row for each output column");
      operand.rowStrides = {operand.stride(0)};
    }
    if (operand.usage == Usage::DepthVector) {
      schedule.require(operand.shape(0) + " == " + schedule.depth,
                       operand.name + " is as long as x's last dim");
      operand.colStride = operand.stride(0);
    }
    if (!isX && operand.usage != Usage::MatmulW)
      continue;
    const bool isPacked = !isX && operand.desc.dtype == DType::U8;
    int last = static_cast<int>(operand.desc.rank()) - 1;
    int depthDim = isX ? last : isKn ? 0 : 1;
    int otherDim = isKn ? 1 : 0; // of W
    if (isX) {
      schedule.depth = operand.shape(last);
    } else {
      schedule.require(operand.shape(depthDim) + " == " +
                           (isPacked ? "ceildiv(" + schedule.depth + ", 2)"
                                     : schedule.depth),
                       operand.name + "'s k is x's last dim");
      schedule.require(operand.shape(otherDim) + " == " + schedule.cols,
                       operand.name + " has one row for each output column");
      operand.rowStrides = {operand.stride(otherDim)};
    }
    operand.colStride = operand.stride(depthDim);
    // The dim that lies in memory without gaps: k, or for kn the columns.
    int denseDim = !isX && isKn ? 1 : depthDim;
    if (operand.desc.strides[denseDim] != 1)
      continue;
    schedule.require(operand.stride(denseDim) + " == 1",
                     "neighbours along dim " + std::to_string(denseDim) +
                         " of " + operand.name + " are neighbours in memory");
    if (denseDim == depthDim)
      operand.colStride = "1";
    else
      operand.rowStrides = {"1"};
    int bytes = static_cast<int>(dtypeSize(operand.desc.dtype));
    int vector = isPacked ? neighbours / 2 : std::min(neighbours, 16 / bytes);
    auto fits = [&] {
      bool fits = operand.align % static_cast<uint64_t>(vector * bytes) == 0;
      for (size_t d = 0; d < operand.desc.rank(); ++d)
        fits &= (static_cast<int>(d) == denseDim ? operand.desc.shape[d]
                                                 : operand.desc.strides[d]) %
                    vector ==
                0;
      return fits;
    };
    while (vector > 1 && !fits())
      vector /= 2;
    if (vector < 2)
      continue;
    operand.vector = vector;
    std::string width = std::to_string(vector);
    schedule.require(operand.name +
                         ".align >= " + std::to_string(vector * bytes),
                     operand.name + " is read " +
                         std::to_string(vector * bytes) + " bytes at a time");
    for (size_t d = 0; d < operand.desc.rank(); ++d) {
      int dim = static_cast<int>(d);
      schedule.require(
          (dim == denseDim ? operand.shape(dim) : operand.stride(dim)) + " % " +
              width + " == 0",
          operand.name + " is read " + width + " elements at a time");
    }
  }
}

/// Groups of fewer k than an instruction's chain of additions may have partial
/// sums (refops/Numerics.h, licensedDepth) are scaled element by element.
static constexpr int64_t leastGroup = 32;

/// The type in which a tensor core multiplies x and W exactly as given: f16 or
/// bf16 that both fit in, else F32 for products by fma. Every float8 number is
/// an f16 and a bf16; so is q - zero (SEMANTICS, "Weight-only quantisation").
static DType dotTypeOf(const Step &step, DType x, DType w) {
  auto isHalf = [](DType type) {
    return type == DType::F16 || type == DType::BF16;
  };
  auto isFp8 = [](DType type) {
    return type == DType::F8E4M3 || type == DType::F8E5M2;
  };
  if (isFp8(x) && isFp8(w))
    return DType::F16;
  if (isFloat(w)) {
    if (isHalf(x) && (x == w || isFp8(w)))
      return x;
    return isHalf(w) && isFp8(x) ? w : DType::F32;
  }
  const DType wanted = isFp8(x) ? DType::F16 : x;
  if (!isHalf(wanted))
    return DType::F32;
  if (step.params.has("weight_dtype")) {
    const DType rounded =
        *dtypeNamed(step.params.getString("weight_dtype", ""));
    return isFp8(x) || rounded == x ? rounded : DType::F32;
  }
  // Steps of k must not cross groups.
  const int64_t group = step.params.getInt("group", 0);
  return group % leastGroup == 0 ? wanted : DType::F32;
}

Result<void> codegen::scheduleMatmul(KernelSchedule &schedule,
                                     const ScheduleInput &input) {
  if (suitsGemv(schedule, input)) {
    schedule.plan.family = Family::Gemv;
    return scheduleGemv(schedule, input);
  }
  const Step &step = input.recipe.steps[productOf(schedule.plan)];
  const CompileOptions &options = input.options;
  scheduleSum(schedule, step);
  DType x = DType::F32, w = DType::F32;
  for (const ScheduledOperand &operand : schedule.operands) {
    if (operand.usage == Usage::MatmulX)
      x = operand.desc.dtype;
    if (operand.usage == Usage::MatmulW)
      w = operand.desc.dtype;
  }
  if (schedule.plan.prologue >= 0)
    x = input.recipe.steps[schedule.plan.prologue].results[0].dtype;
  schedule.dotType = dotTypeOf(step, x, w);
  schedule.usesTensorCore = schedule.dotType != DType::F32;

  Result<bool> isPipeline = scheduleMatmulPipeline(schedule, input);
  if (!isPipeline)
    return isPipeline.error();
  if (*isPipeline)
    return {};
  const std::string whyNot = std::move(schedule.explanation);

  Result<int64_t> tileM = parameter(options, "tile_m", 64, 32, 128);
  Result<int64_t> tileN = parameter(options, "tile_n", 64, 32, 128);
  Result<int64_t> tileK = parameter(options, "tile_k", 32, 16, 64);
  Result<int64_t> warps = parameter(options, "warps", 4, 4, 4);
  for (const Result<int64_t> *value : {&tileM, &tileN, &tileK, &warps})
    if (!*value)
      return value->error();
  schedule.tileRows = *tileM;
  schedule.tileCols = *tileN;
  schedule.tileDepth = schedule.usesTensorCore ? *tileK : 8;
  scheduleColumns(schedule, step, input.graph, schedule.tileCols);
  schedule.threadCols = schedule.usesTensorCore ? 2 : 4;
  // A window may start anywhere.
  if (schedule.colBegin == "0" && schedule.colEnd == schedule.cols)
    chooseVectors(schedule, schedule.threadCols);
  schedule.grid[0] = "ceildiv(" + schedule.rows + ", " +
                     std::to_string(schedule.tileRows) + ") * " +
                     schedule.colTiles;
  schedule.explanation =
      "matmul: tiles of " + std::to_string(schedule.tileRows) + " x " +
      std::to_string(schedule.tileCols) + " on 4 warps, " +
      (schedule.usesTensorCore
           ? "tensor cores, k in steps of " + std::to_string(schedule.tileDepth)
           : "fma in partial sums of 32 products") +
      whyNot;
  return {};
}
