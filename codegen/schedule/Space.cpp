//===- Space.cpp - Operands on the row space: dims, runs, strides ---------===//
//
// A space is a shape. Each operand names, for each dim of the space, its own
// dim or none (broadcast). Two neighbouring dims of the space become one run
// when every operand steps through them as through one: either it has neither,
// or the outer stride is the inner size times the inner stride. Every such
// merge is a precondition.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/Schedule.h"

#include <algorithm>
#include <functional>

using namespace tandem;
using namespace tandem::codegen;

const ScheduledOperand *KernelSchedule::find(int value, Usage usage) const {
  for (const ScheduledOperand &operand : operands)
    if (operand.value == value && operand.usage == usage)
      return &operand;
  return nullptr;
}

void KernelSchedule::require(const std::string &condition, std::string reason) {
  Result<IntExpr> parsed = IntExpr::parse(condition);
  assert(parsed && "the compiler writes well-formed conditions");
  LaunchRecord::Precondition added{parsed.take(), std::move(reason)};
  for (const LaunchRecord::Precondition &known : preconditions)
    if (known.condition == added.condition)
      return;
  preconditions.push_back(std::move(added));
}

/// A dim that no operand has (a result that stays in the kernel, of operands
/// that are shaped otherwise) is a number of the recipe.
static int64_t ownerlessSize(const KernelSchedule &schedule, int dim) {
  const Dim &size = schedule.plan.space[static_cast<size_t>(dim)];
  return size.isSymbol() ? 1 : size.size();
}

/// The first operand that has \p dim of the space.
static const ScheduledOperand *ownerOf(const KernelSchedule &schedule,
                                       int dim) {
  for (const ScheduledOperand &operand : schedule.operands) {
    const int folded = operand.foldedDim;
    const bool isFolded = folded >= 0 && (dim == folded || dim == folded + 1);
    const bool isSlot = operand.usage == Usage::Cache && dim == 0 &&
                        operand.desc.rank() == operand.dimOf.size();
    if (operand.dimOf[dim] >= 0 && !isFolded && !isSlot)
      return &operand;
  }
  return nullptr;
}

static std::string sizeText(const KernelSchedule &schedule,
                            const std::vector<int> &run) {
  std::string text;
  for (int dim : run) {
    const ScheduledOperand *owner = ownerOf(schedule, dim);
    text += (text.empty() ? "" : " * ") +
            (owner ? owner->shape(owner->dimOf[dim])
                   : std::to_string(ownerlessSize(schedule, dim)));
  }
  return text.empty() ? "1" : text;
}

int64_t codegen::runSize(const KernelSchedule &schedule,
                         const std::vector<int> &run) {
  int64_t size = 1;
  for (int dim : run)
    if (const ScheduledOperand *owner = ownerOf(schedule, dim))
      size *= owner->desc.shape[owner->dimOf[dim]];
    else
      size *= ownerlessSize(schedule, dim);
  return size;
}

/// Every operand that has a dim of the space agrees with the dim's owner.
static void requireShapes(KernelSchedule &schedule) {
  for (const ScheduledOperand &operand : schedule.operands) {
    const int folded = operand.foldedDim;
    if (folded >= 0)
      schedule.require(operand.shape(operand.dimOf[folded]) +
                           " == " + sizeText(schedule, {folded, folded + 1}),
                       operand.name + " has two dims of the space in one");
    else if (operand.usage == Usage::Positions && !operand.variesByDim())
      schedule.require(operand.shape(0) + " == 1",
                       operand.name + " has one number");
    for (size_t dim = 0; dim < operand.dimOf.size(); ++dim) {
      const int at = static_cast<int>(dim);
      if (folded >= 0 && (at == folded || at == folded + 1))
        continue;
      // Slots are counted from `pos`, and checked on the device.
      if (operand.usage == Usage::Cache && dim == 0 &&
          operand.desc.rank() == operand.dimOf.size())
        continue;
      const ScheduledOperand *owner = ownerOf(schedule, static_cast<int>(dim));
      if (operand.dimOf[dim] < 0 || owner == &operand)
        continue;
      std::string mine = operand.shape(operand.dimOf[dim]);
      std::string theirs = owner->shape(owner->dimOf[dim]);
      schedule.require(mine + " == " + theirs,
                       operand.name + " and " + owner->name +
                           " agree in size along dim " + std::to_string(dim) +
                           " of the kernel's space");
    }
  }
  for (const ScheduledOperand &operand : schedule.operands) {
    if (operand.usage == Usage::Partial) {
      int last = static_cast<int>(schedule.plan.space.size()) - 1;
      if (const ScheduledOperand *owner = ownerOf(schedule, last))
        schedule.require(
            operand.shape(static_cast<int>(operand.dimOf.size()) - 1) +
                " == " + owner->shape(owner->dimOf[last]) + " + 2",
            operand.name + " has two columns more than " + owner->name);
    }
    if (operand.usage != Usage::Space)
      continue;
    for (size_t d = 0; d < operand.desc.rank(); ++d)
      if (std::find(operand.dimOf.begin(), operand.dimOf.end(),
                    static_cast<int>(d)) == operand.dimOf.end())
        schedule.require(operand.shape(static_cast<int>(d)) + " == 1",
                         operand.name + " is broadcast along its dim " +
                             std::to_string(d));
  }
}

/// Whether all operands step through \p outer and \p inner as through one dim.
static bool canMerge(const KernelSchedule &schedule, int outer, int inner) {
  for (const ScheduledOperand &operand : schedule.operands) {
    int p = operand.dimOf[outer], q = operand.dimOf[inner];
    if ((p < 0) != (q < 0))
      return false;
    // Rows of a cache are told apart by their slot.
    if (operand.usage == Usage::Cache && (outer == 0 || inner == 0))
      return false;
    if (const int folded = operand.foldedDim; folded >= 0 && p >= 0 && p == q) {
      if (outer != folded || inner != folded + 1)
        return false;
      continue;
    }
    if (p >= 0 && operand.desc.strides[p] !=
                      operand.desc.shape[q] * operand.desc.strides[q])
      return false;
  }
  return true;
}

static std::vector<std::vector<int>> mergeRuns(KernelSchedule &schedule,
                                               const std::vector<int> &dims) {
  std::vector<std::vector<int>> runs;
  for (int dim : dims) {
    if (runs.empty() || !canMerge(schedule, runs.back().back(), dim)) {
      runs.push_back({dim});
      continue;
    }
    int outer = runs.back().back();
    for (const ScheduledOperand &operand : schedule.operands)
      if (int p = operand.dimOf[outer], q = operand.dimOf[dim];
          p >= 0 && p != q)
        schedule.require(operand.stride(p) + " == " + operand.shape(q) + " * " +
                             operand.stride(q),
                         "dims " + std::to_string(p) + " and " +
                             std::to_string(q) + " of " + operand.name +
                             " run as one");
    runs.back().push_back(dim);
  }
  return runs;
}

/// Dims in the order in which the first output steps through memory, so that
/// transposed views still give long runs.
static void sortByStride(const KernelSchedule &schedule,
                         std::vector<int> &dims) {
  const ScheduledOperand *written = nullptr;
  for (const ScheduledOperand &operand : schedule.operands)
    if (operand.isWritten && !written)
      written = &operand;
  if (!written)
    return;
  auto strideOf = [&](int dim) -> int64_t {
    int own = written->dimOf[dim];
    return own < 0 ? 0 : written->desc.strides[own];
  };
  std::sort(dims.begin(), dims.end(), [&](int a, int b) {
    return std::pair(-strideOf(a), a) < std::pair(-strideOf(b), b);
  });
}

static void deriveStrides(KernelSchedule &schedule) {
  for (ScheduledOperand &operand : schedule.operands) {
    for (const std::vector<int> &run : schedule.rowRuns) {
      int own = operand.dimOf[run.back()];
      operand.rowStrides.push_back(own < 0 ? "" : operand.stride(own));
      if (operand.foldedDim >= 0 && run.back() == operand.foldedDim)
        operand.rowStrides.back() =
            sizeText(schedule, {operand.foldedDim + 1}) + " * " +
            operand.stride(own);
    }
    // Of W the sum knows (scheduleSum).
    if (schedule.colRun.empty() || operand.usage == Usage::MatmulW)
      continue;
    int own = operand.dimOf[schedule.colRun.back()];
    if (operand.usage == Usage::Partial)
      own = static_cast<int>(operand.desc.rank()) - 1;
    if (operand.usage == Usage::Packed) {
      own = 1;
      schedule.require(operand.shape(1) + " == ceildiv(" + schedule.cols +
                           ", 2)",
                       operand.name + " holds two columns a byte");
    }
    if (own < 0)
      continue;
    bool isShort = schedule.colRun.size() == 1 && operand.desc.shape[own] <= 1;
    if (operand.desc.strides[own] != 1 && !isShort) {
      operand.colStride = operand.stride(own);
      continue;
    }
    operand.colStride = "1";
    std::string isOne = operand.stride(own) + " == 1";
    schedule.require(schedule.colRun.size() == 1
                         ? isOne + " || " + operand.shape(own) + " <= 1"
                         : isOne,
                     "neighbouring columns of " + operand.name +
                         " are neighbours in memory");
  }
}

void codegen::mapSpace(KernelSchedule &schedule, const ScheduleInput &input) {
  findOperands(schedule, input);
  const KernelPlan &plan = schedule.plan;
  requireShapes(schedule);

  bool isMatmul = plan.family != Family::RowWise;
  int colAxis = isMatmul ? static_cast<int>(plan.space.size()) - 1 : plan.axis;
  std::vector<int> dims;
  for (size_t d = 0; d < plan.space.size(); ++d) {
    bool isOne = !plan.space[d].isSymbol() && plan.space[d].size() == 1;
    if (!isOne && static_cast<int>(d) != colAxis)
      dims.push_back(static_cast<int>(d));
  }
  // EMBED reports rows by their number in row-major order of the ids.
  bool keepsOrder =
      isMatmul || input.recipe.steps[plan.steps[0]].op == Opcode::EMBED;
  if (!keepsOrder)
    sortByStride(schedule, dims);
  schedule.rowRuns = mergeRuns(schedule, dims);
  if (colAxis >= 0) {
    schedule.colRun = {colAxis};
  } else if (!schedule.rowRuns.empty()) {
    schedule.colRun = schedule.rowRuns.back();
    schedule.rowRuns.pop_back();
  }
  schedule.rows.clear();
  for (const std::vector<int> &run : schedule.rowRuns) {
    schedule.rowSizes.push_back(sizeText(schedule, run));
    schedule.rows +=
        (schedule.rows.empty() ? "" : " * ") + schedule.rowSizes.back();
  }
  if (schedule.rows.empty())
    schedule.rows = "1";
  schedule.cols = sizeText(schedule, schedule.colRun);
  deriveStrides(schedule);
}

void codegen::chooseVectors(KernelSchedule &schedule, int limit) {
  int64_t cols = runSize(schedule, schedule.colRun);
  for (ScheduledOperand &operand : schedule.operands) {
    if (operand.colStride != "1" || operand.usage == Usage::MatmulX ||
        operand.usage == Usage::MatmulW || operand.usage == Usage::Packed)
      continue;
    int bytes = static_cast<int>(dtypeSize(operand.desc.dtype));
    int vector = std::min(limit, 16 / bytes);
    std::vector<std::pair<std::string, int64_t>> multiples = {
        {schedule.cols, cols}};
    for (const std::vector<int> &run : schedule.rowRuns)
      if (int own = operand.dimOf[run.back()]; own >= 0)
        multiples.emplace_back(operand.stride(own), operand.desc.strides[own]);
    if (operand.usage == Usage::Cache)
      for (size_t d = 0; d + 1 < operand.desc.rank(); ++d)
        multiples.emplace_back(operand.stride(static_cast<int>(d)),
                               operand.desc.strides[d]);
    if (operand.foldedDim >= 0)
      continue; // its columns are a part of a dim
    if (operand.usage == Usage::Table)
      multiples.emplace_back(operand.stride(0), operand.desc.strides[0]);
    bool fits = operand.align % (vector * bytes) == 0;
    for (const auto &[text, value] : multiples)
      fits &= value % vector == 0;
    if (!fits || vector < 2)
      continue;
    operand.vector = vector;
    schedule.require(operand.name +
                         ".align >= " + std::to_string(vector * bytes),
                     operand.name + " is read or written " +
                         std::to_string(vector * bytes) + " bytes at a time");
    for (const auto &[text, value] : multiples)
      schedule.require("(" + text + ") % " + std::to_string(vector) + " == 0",
                       operand.name + " is accessed " + std::to_string(vector) +
                           " elements at a time");
  }
}
