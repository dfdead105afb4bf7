//===- Operands.cpp - What a kernel's operands are on its space -----------===//
//
// How a step reads each of its operands decides which dim of the operand, if
// any, each dim of the space is.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/MatmulOperands.h"

#include <algorithm>
#include <functional>

using namespace tandem;
using namespace tandem::codegen;

static Usage usageOf(const Step &step, size_t arg,
                     const std::function<const TensorType &(size_t)> &operand) {
  auto typeOf = [&](size_t index) { return operand(index).dtype; };
  if (arg < step.args.size() &&
      arg + step.params.numOperands() >= step.args.size())
    return Usage::Param;
  switch (step.op) {
  case Opcode::EMBED:
    return arg == 0 ? Usage::RowIndex : Usage::Table;
  case Opcode::GEMM_TILE:
  case Opcode::GEMV_TILE:
  case Opcode::LM_HEAD:
    return arg == 0             ? Usage::MatmulX
           : arg == 1           ? Usage::MatmulW
           : isFloat(typeOf(1)) ? Usage::Space
                                : Usage::Groups;
  case Opcode::DEQUANT:
    return arg > 0                  ? Usage::Groups
           : typeOf(0) == DType::U8 ? Usage::Packed
                                    : Usage::Space;
  case Opcode::ROPE:
    return arg == 0   ? Usage::Space
           : arg == 1 ? Usage::Positions
                      : Usage::Frequencies;
  case Opcode::KV_APPEND:
    return arg == 1                       ? Usage::Cache
           : operand(0).shape.size() == 2 ? Usage::Split
                                          : Usage::Space;
  case Opcode::ATTENTION_TILE:
  case Opcode::ATTN_STEP:
  case Opcode::GDN_STEP:
    return Usage::Free;
  case Opcode::ATTENTION_COMBINE:
    return Usage::Partial;
  default:
    return Usage::Space;
  }
}

/// Right-aligns the operand's \p type with the space. A literal 1 against
/// another size is broadcast; a symbol equals only itself.
static std::vector<int> alignRight(const std::vector<Dim> &shape,
                                   const std::vector<Dim> &space,
                                   size_t spaceRank) {
  std::vector<int> dimOf(space.size(), -1);
  for (size_t i = 0; i < shape.size() && i < spaceRank; ++i) {
    size_t dim = shape.size() - 1 - i, at = spaceRank - 1 - i;
    bool isOne = !shape[dim].isSymbol() && shape[dim].size() == 1;
    bool spaceIsOne = !space[at].isSymbol() && space[at].size() == 1;
    if (!isOne || spaceIsOne)
      dimOf[at] = static_cast<int>(dim);
  }
  return dimOf;
}

static std::vector<int> mapDims(const KernelSchedule &schedule, Usage usage,
                                const GraphValue &value, bool isRowResult) {
  const std::vector<Dim> &space = schedule.plan.space;
  size_t rank = space.size();
  const std::vector<Dim> &shape = value.type.shape;
  switch (usage) {
  case Usage::Space:
    return alignRight(shape, space, isRowResult ? rank - 1 : rank);
  case Usage::RowIndex:
    return alignRight(shape, space, rank - 1);
  case Usage::Table: {
    std::vector<int> dimOf(rank, -1);
    dimOf[rank - 1] = 1;
    return dimOf;
  }
  case Usage::Part:
  case Usage::Partial:
  case Usage::MatmulX: {
    std::vector<Dim> leading(shape.begin(), shape.end() - 1);
    return alignRight(leading, space, rank - 1);
  }
  case Usage::Packed:
  case Usage::Groups:
    // Rows of W are columns of a product.
    if (schedule.plan.family == Family::RowWise) {
      std::vector<int> dimOf(rank, -1);
      dimOf[rank - 2] = 0;
      return dimOf;
    }
    return std::vector<int>(rank, -1);
  case Usage::Positions: {
    // One a token: the space without its heads and their elements.
    std::vector<int> dimOf(rank, -1);
    if (shape.size() == 2 || rank == 3)
      dimOf[0] = 0;
    if (rank == 4)
      dimOf[1] = static_cast<int>(shape.size()) - 1;
    return dimOf;
  }
  case Usage::Cache:
    // [S, kvh, D], or [B, S, kvh, D] with one slot a sequence.
    return rank == shape.size() ? std::vector<int>{0, 1, 2}
                                : std::vector<int>{0, 2, 3};
  case Usage::Split:
    return {0, 1, 1};
  case Usage::Frequencies:
  case Usage::MatmulW:
  case Usage::DepthVector:
  case Usage::Extent:
  case Usage::Param:
  case Usage::Free:
    return std::vector<int>(rank, -1);
  }
  return {};
}

/// Positions [S] serve every sequence, [B * S] run over all of them.
static void foldRows(const KernelSchedule &schedule,
                     ScheduledOperand &positions) {
  for (const ScheduledOperand &x : schedule.operands)
    if (x.dimOf[1] >= 0 &&
        positions.desc.shape[0] != x.desc.shape[x.dimOf[1]]) {
      positions.foldedDim = 0;
      positions.dimOf[0] = 0;
    }
}

void codegen::findOperands(KernelSchedule &schedule,
                           const ScheduleInput &input) {
  const size_t rank = schedule.plan.space.size();
  auto add = [&](int value, Usage usage, bool isWritten, bool isRowResult) {
    if (!isWritten && schedule.find(value, usage))
      return;
    ScheduledOperand operand;
    operand.value = value;
    operand.usage = usage;
    operand.isWritten = isWritten;
    operand.name = input.names[value];
    // The same value in another use needs a name of its own.
    for (const ScheduledOperand &other : schedule.operands)
      if (other.name == operand.name)
        operand.name += "_" + std::to_string(schedule.operands.size());
    operand.desc = input.operands[value].desc;
    uint64_t address = input.operands[value].address;
    operand.align = address ? std::min<uint64_t>(address & -address, 256) : 256;
    operand.dimOf =
        mapDims(schedule, usage, input.graph.values[value], isRowResult);
    if (usage == Usage::Positions && rank == 4 && operand.desc.rank() == 1)
      foldRows(schedule, operand);
    if (usage == Usage::Split)
      operand.foldedDim = 1;
    schedule.operands.push_back(std::move(operand));
  };
  const KernelPlan &plan = schedule.plan;
  for (int step : plan.steps)
    for (size_t a = 0; a < input.graph.args[step].size(); ++a) {
      const std::vector<int> &args = input.graph.args[step];
      Usage usage = usageOf(input.recipe.steps[step], a,
                            [&](size_t arg) -> const TensorType & {
                              return input.graph.values[args[arg]].type;
                            });
      // A state is one operand, read and written.
      if (int updated = input.graph.updates[step][a]; updated >= 0)
        add(updated, usage, !plan.merges, false);
      int value = input.graph.args[step][a];
      if (step == plan.prologue) {
        add(value, a == 0 ? Usage::MatmulX : Usage::DepthVector, false, false);
        continue;
      }
      if (std::find(plan.reads.begin(), plan.reads.end(), value) !=
          plan.reads.end())
        add(value, usage, false, false);
    }
  if (plan.merges)
    add(plan.partials,
        plan.family == Family::RowWise ? Usage::Space : Usage::Free, false,
        false);
  for (auto [ids, table] : plan.guards) {
    add(ids, Usage::RowIndex, false, false);
    add(table, Usage::Extent, false, false);
  }
  for (int value : plan.writes) {
    if (input.graph.values[value].isUpdate())
      continue;
    int producer = input.graph.values[value].producer;
    const bool isFree =
        plan.family == Family::Attention || plan.family == Family::Recurrence;
    const bool isPart =
        value == plan.partials &&
        input.recipe.steps[producer].op == Opcode::SAMPLE_ARGMAX;
    add(value,
        isFree   ? Usage::Free
        : isPart ? Usage::Part
                 : Usage::Space,
        true, input.recipe.steps[producer].op == Opcode::SAMPLE_ARGMAX);
  }
  // Logits that stay in the kernel leave it to W to tell how many columns there
  // are.
  if (plan.leavesParts())
    for (ScheduledOperand &operand : schedule.operands)
      if (operand.usage == Usage::MatmulW)
        operand.dimOf.back() =
            isKn(input.recipe.steps[productOf(plan)]) ? 1 : 0;
}
