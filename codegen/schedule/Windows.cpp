//===- Windows.cpp - Attention windows that several CTAs share ------------===//
//
// A long window is cut into parts. The slots of the cache choose how many, as a
// precondition; how long they are is the kernel's to find out, where the
// window's length may lie on the device.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/Schedule.h"

#include <algorithm>
#include <bit>

using namespace tandem;
using namespace tandem::codegen;

/// Parts of a window of \p slots: enough CTAs for a device when there is one
/// sequence, and parts that are long beside what they leave to merge. Neither
/// the batch nor the number of heads decides: a sequence keeps its bits.
static constexpr struct {
  int64_t least; // slots
  int splits;
} windowClasses[] = {{16384, 32}, {1024, 16}, {0, 1}};

static constexpr int64_t mostParts = 64;

void codegen::requirePartsOf(KernelSchedule &schedule, int64_t slots,
                             const std::string &window) {
  int64_t most = -1;
  for (auto [least, splits] : windowClasses) {
    if (slots >= least) {
      std::string reason =
          "windows of this length are in " + std::to_string(splits) + " parts";
      if (least)
        schedule.require(window + " >= " + std::to_string(least), reason);
      if (most >= 0)
        schedule.require(window + " < " + std::to_string(most), reason);
      return;
    }
    most = least;
  }
}

/// Parts that one CTA can hold to merge them. Heads that fill many warps have
/// long chains of additions already, and no licence for those of a merge.
static int64_t mostSplits(int64_t headDim) {
  const auto columns = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(headDim, 8))));
  return columns > 1024 ? 1 : std::min<int64_t>(32768 / columns, mostParts);
}

Result<void> codegen::splitWindows(Graph &graph, Partition &parts,
                                   const Recipe &recipe,
                                   const DimBindings &bindings,
                                   const CompileOptions &options) {
  std::vector<KernelPlan> plans;
  for (KernelPlan &plan : parts.kernels) {
    if (plan.family != Family::Attention) {
      plans.push_back(std::move(plan));
      continue;
    }
    const int step = plan.steps[0];
    const bool isStep = recipe.steps[step].op == Opcode::ATTN_STEP;
    std::vector<Dim> shape = graph.values[graph.args[step][0]].type.shape;
    const TensorType &keys =
        graph.values[graph.args[step][isStep ? 3 : 1]].type;
    const int64_t slots = bindShape(keys.shape, bindings)[shape.size() - 2];
    const int64_t headDim = bindShape({shape.back()}, bindings)[0];
    int64_t chosen = 1;
    for (auto [least, splits] : windowClasses)
      if (slots >= least) {
        chosen = splits;
        break;
      }
    Result<int64_t> asked = parameter(options, "splits", chosen, 1, mostParts);
    if (!asked)
      return asked.error();
    const int64_t splits = std::min(*asked, mostSplits(headDim));
    KernelPlan merge = plan;
    std::erase_if(merge.writes,
                  [&](int v) { return graph.values[v].isUpdate(); });
    if (splits == 1 || merge.writes.empty()) {
      plans.push_back(std::move(plan));
      continue;
    }
    // [part, (batch,) head, acc | max | sum | padding to whole accesses]
    shape.back() = Dim(headDim + 4);
    shape.insert(shape.begin(), Dim(splits));
    GraphValue partials;
    partials.type = {DType::F32, shape};
    partials.producer = step;
    partials.users = {step};
    plan.splits = merge.splits = static_cast<int>(splits);
    plan.partials = merge.partials = static_cast<int>(graph.values.size());
    graph.values.push_back(std::move(partials));
    std::erase_if(plan.writes,
                  [&](int v) { return !graph.values[v].isUpdate(); });
    plan.writes.push_back(plan.partials);
    merge.reads.push_back(plan.partials);
    merge.merges = true;
    plans.push_back(std::move(plan));
    plans.push_back(std::move(merge));
  }
  parts.kernels = std::move(plans);
  return {};
}
