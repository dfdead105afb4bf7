//===- ArgmaxParts.cpp - An argmax behind a product -----------------------===//
//
// The columns of a row lie in many CTAs, which are not ordered. Each writes one
// number for its columns, and a second kernel compares as many numbers a row as
// there are tiles.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/Schedule.h"

using namespace tandem;
using namespace tandem::codegen;

void codegen::splitArgmaxes(Graph &graph, Partition &parts,
                            const Recipe &recipe) {
  std::vector<KernelPlan> plans;
  for (KernelPlan &plan : parts.kernels) {
    const int step = plan.steps.back();
    if (plan.family == Family::RowWise ||
        recipe.steps[step].op != Opcode::SAMPLE_ARGMAX) {
      plans.push_back(std::move(plan));
      continue;
    }
    const int result = graph.results[step][0];
    GraphValue partials;
    partials.type = {DType::I64, plan.space};
    partials.type.shape.back() = Dim(1);
    partials.producer = step;
    partials.users = {step};
    plan.partials = static_cast<int>(graph.values.size());
    graph.values.push_back(std::move(partials));
    std::erase(plan.writes, result);
    plan.writes.push_back(plan.partials);

    KernelPlan merge;
    merge.steps = {step};
    merge.space = graph.values[plan.partials].type.shape;
    merge.axis = static_cast<int>(merge.space.size()) - 1;
    merge.guards = plan.guards;
    merge.reads = {plan.partials};
    merge.writes = {result};
    merge.partials = plan.partials;
    merge.merges = true;
    parts.explanation.push_back(
        "step " + std::to_string(step) +
        " (sample_argmax) takes two kernels: each tile of the product leaves "
        "its largest and where that is, the second compares these");
    plans.push_back(std::move(plan));
    plans.push_back(std::move(merge));
  }
  parts.kernels = std::move(plans);
}

void codegen::requireParts(KernelSchedule &schedule) {
  schedule.partCols =
      schedule.plan.family == Family::Gemv ? schedule.tileRows
      : schedule.pipeline.isUsed() && !schedule.pipeline.isSwapped
          ? sliceCols
          : schedule.tileCols;
  const ScheduledOperand *parts =
      schedule.find(schedule.plan.partials, Usage::Part);
  schedule.require(parts->shape(static_cast<int>(parts->desc.rank()) - 1) +
                       " == ceildiv(" + schedule.cols + ", " +
                       std::to_string(schedule.partCols) + ")",
                   parts->name + " has one number for each tile of columns");
}

int64_t codegen::partsOf(const KernelSchedule &schedule) {
  const int64_t cols = runSize(schedule, schedule.colRun);
  return (cols + schedule.partCols - 1) / schedule.partCols;
}
