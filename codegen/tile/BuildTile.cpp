//===- BuildTile.cpp - From a schedule to a tile kernel -------------------===//
#include "codegen/tile/BuildTile.h"

#include "codegen/ops/RowBuilder.h"
#include "codegen/schedule/LoopColumns.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

std::string codegen::kernelName(const KernelSchedule &schedule,
                                const Recipe &recipe) {
  constexpr size_t longest = 60;
  std::string name;
  for (int step : schedule.plan.steps)
    if (name.size() < longest)
      name += (name.empty() ? "" : "_") +
              std::string(opInfo(recipe.steps[step].op).mnemonic);
  return schedule.plan.merges ? name + "_merge" : name;
}

static RecordOperand::Role roleOf(const ScheduledOperand &operand,
                                  const Graph &graph) {
  if (!operand.isWritten)
    return RecordOperand::Role::In;
  return graph.values[operand.value].isUpdate() ? RecordOperand::Role::State
                                                : RecordOperand::Role::Out;
}

static LaunchRecord recordOf(const KernelSchedule &schedule,
                             const ScheduleInput &input) {
  LaunchRecord record;
  record.kernel = kernelName(schedule, input.recipe);
  record.target = input.options.target;
  for (const ScheduledOperand &operand : schedule.operands)
    record.operands.push_back({operand.name, operand.desc.dtype,
                               static_cast<int>(operand.desc.rank()),
                               roleOf(operand, input.graph)});
  for (size_t axis = 0; axis < 3; ++axis) {
    Result<IntExpr> extent = IntExpr::parse(schedule.grid[axis]);
    assert(extent && "the compiler writes well-formed expressions");
    record.grid[axis] = extent.take();
  }
  record.block = {32 * schedule.warps, 1, 1};
  record.cluster = {schedule.pipeline.cluster(), 1, 1};
  record.ctasCommunicate = schedule.pipeline.cluster() > 1;
  // Its kernels wait for what came before them.
  record.programmatic = schedule.pipeline.isUsed() || schedule.startsEarly;
  record.preconditions = schedule.preconditions;
  return record;
}

Result<TileKernel> codegen::buildTile(const KernelSchedule &schedule,
                                      const ScheduleInput &input,
                                      MLIRContext &context) {
  TileKernel kernel;
  OpBuilder builder(&context);
  kernel.module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToStart(kernel.module->getBody());
  kernel.record = recordOf(schedule, input);
  RowBuilder rows(builder, schedule, input);
  func::FuncOp func = rows.build(kernel.record.kernel);
  kernel.record.args = rows.takeArgs();
  // The kernel that makes the parts answers for the sums of both.
  if (!schedule.plan.merges)
    kernel.record.contract.steps = rows.takeContracts();

  Error errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors.messages.push_back(kernel.record.kernel + ": " + diagnostic.str());
    return success();
  });
  if (failed(loopColumns(func)))
    return errors;
  return kernel;
}
