//===- Partition.cpp - Which steps share a kernel, and why not ------------===//
#include "codegen/fuse/StepShape.h"

#include <algorithm>
#include <map>

using namespace tandem;
using namespace tandem::codegen;

static std::string stepText(const Recipe &recipe, int step) {
  return "step " + std::to_string(step) + " (" +
         std::string(opInfo(recipe.steps[step].op).mnemonic) + ")";
}

namespace {
class Partitioner {
public:
  Partitioner(const Recipe &recipe, const Graph &graph)
      : recipe(recipe), graph(graph) {}

  Partition run(bool fuse) {
    for (size_t s = 0; s < recipe.steps.size(); ++s) {
      int step = static_cast<int>(s);
      // NOP computes nothing.
      if (writtenBy(step).empty())
        continue;
      StepShape shape = shapeOf(recipe.steps[s], graph, step);
      if (!current.steps.empty()) {
        std::string why =
            fuse ? reasonAgainst(step, shape) : "fusion is turned off";
        if (!why.empty()) {
          result.explanation.push_back(stepText(recipe, step) +
                                       " starts a new kernel: " + why);
          finish();
        }
      }
      add(step, shape);
    }
    if (!current.steps.empty())
      finish();
    return std::move(result);
  }

private:
  /// Why \p step cannot join the current kernel; empty if it can.
  std::string reasonAgainst(int step, const StepShape &shape) const {
    int last = current.steps.back();
    if (isClosed)
      return stepText(recipe, last) + " ends its kernel: " + closedBecause;
    if (isMatmul(recipe.steps[step].op)) {
      if (mayShareX(step, shape))
        return operandLimit(step);
      if (mayFollowNorm(step))
        return operandLimit(step);
    }
    if (shape.beginsKernel)
      switch (shape.family) {
      case Family::RowWise:
        return "it gathers its rows from a table";
      case Family::Matmul:
      case Family::Gemv:
        return "a matrix product computes its own tiles";
      case Family::Attention:
      case Family::Recurrence:
        return "its CTAs are heads";
      }
    if (shape.space != current.space)
      return "its rows have shape " + shapeText(shape.space) + ", " +
             stepText(recipe, last) + "'s " + shapeText(current.space);
    if (current.family != Family::RowWise && shape.isElementwise)
      return "it reads operands in tiles of its own";
    // Each tile leaves its largest, which a kernel of a few numbers compares.
    const bool isArgmax = recipe.steps[step].op == Opcode::SAMPLE_ARGMAX &&
                          isComputedHere(graph.args[step][0]);
    if (current.family != Family::RowWise && shape.axis >= 0 && !isArgmax)
      return "it reduces along dim " + std::to_string(shape.axis) +
             ", of which a tile of " +
             stepText(recipe, current.steps[current.prologue >= 0 ? 1 : 0]) +
             " holds a part";
    if (shape.axis >= 0 && current.axis >= 0 && shape.axis != current.axis)
      return "its rows run along dim " + std::to_string(shape.axis) +
             ", those of " + stepText(recipe, axisStep) + " along dim " +
             std::to_string(current.axis);
    if (current.steps.size() >= maxKernelSteps)
      return "a kernel holds at most " + std::to_string(maxKernelSteps) +
             " steps";
    const std::vector<int> &args = graph.args[step];
    for (size_t a = 0; a < args.size(); ++a) {
      const GraphValue &value = graph.values[args[a]];
      if (!isComputedHere(args[a]))
        continue;
      if (value.type.shape != current.space)
        return "it reads step " + std::to_string(value.producer) +
               "'s result in another shape";
      if (!readsInPlace(recipe.steps[step], a, value.type.dtype))
        return "it reads elements of step " + std::to_string(value.producer) +
               "'s result that another thread computes";
    }
    if (const int packed = packedStep(step); packed >= 0)
      return "packed int4 of step " + std::to_string(packed) +
             " is unpacked in tiles that do not hold whole rows";
    if (std::string why = stateConflict(step); !why.empty())
      return why;
    return operandLimit(step);
  }

  std::string operandLimit(int step) const {
    if (operandsWith(step) > maxKernelOperands)
      return "a kernel takes at most " + std::to_string(maxKernelOperands) +
             " operands";
    return "";
  }

  /// Results and updated states of a step.
  std::vector<int> writtenBy(int step) const {
    std::vector<int> written = graph.results[step];
    for (int value : graph.updates[step])
      if (value >= 0)
        written.push_back(value);
    return written;
  }

  /// CTAs of one kernel are not ordered: what one writes in a state, another
  /// step of the kernel must neither read nor write.
  std::string stateConflict(int step) const {
    auto touches = [&](int other, int input, bool onlyWrites) {
      for (size_t a = 0; a < graph.args[other].size(); ++a)
        if (graph.values[graph.args[other][a]].input == input &&
            (!onlyWrites || graph.updates[other][a] >= 0))
          return true;
      return false;
    };
    for (size_t a = 0; a < graph.args[step].size(); ++a) {
      int input = graph.values[graph.args[step][a]].input;
      bool isUpdate = graph.updates[step][a] >= 0;
      for (int earlier : current.steps)
        if (input >= 0 && touches(earlier, input, /*onlyWrites=*/!isUpdate))
          return (isUpdate ? "it updates '" : "it reads '") +
                 recipe.inputs[input].name + "', which " +
                 stepText(recipe, earlier) + (isUpdate ? " uses" : " updates");
    }
    return "";
  }

  /// Products that read one x with equal params and types, all columns of it:
  /// their tiles are the same.
  bool areAlike(int a, int b) const {
    const Step &x = recipe.steps[a], &y = recipe.steps[b];
    if (x.op != y.op || x.params != y.params ||
        graph.args[a].size() != graph.args[b].size() ||
        graph.args[a][0] != graph.args[b][0] || !writesAllColumns(x) ||
        x.results[0].shape != y.results[0].shape)
      return false;
    for (size_t i = 1; i < graph.args[a].size(); ++i)
      if (graph.values[graph.args[a][i]].type.dtype !=
          graph.values[graph.args[b][i]].type.dtype)
        return false;
    return true;
  }

  bool mayShareX(int step, const StepShape &shape) const {
    const int first = current.steps[current.prologue >= 0 ? 1 : 0];
    if (current.family != shape.family || !areAlike(first, step))
      return false;
    for (size_t i = 1; i < graph.args[step].size(); ++i)
      if (isComputedHere(graph.args[step][i]))
        return false;
    return true;
  }

  /// A lone RMSNORM that only products like this one read, which follow one
  /// another, so that none is left for another kernel.
  bool mayFollowNorm(int step) const {
    if (current.steps.size() != 1 ||
        recipe.steps[current.steps[0]].op != Opcode::RMSNORM ||
        !writesAllColumns(recipe.steps[step]))
      return false;
    const int norm = graph.results[current.steps[0]][0];
    if (graph.args[step][0] != norm || graph.values[norm].output >= 0)
      return false;
    const std::vector<int> &users = graph.values[norm].users;
    if (users.front() != step ||
        users.back() != step + static_cast<int>(users.size()) - 1 ||
        3 * users.size() + 2 > maxKernelOperands / 2)
      return false;
    for (int user : users) {
      if (!isMatmul(recipe.steps[user].op) || !areAlike(step, user))
        return false;
      for (size_t i = 1; i < graph.args[user].size(); ++i)
        if (graph.args[user][i] == norm)
          return false;
    }
    return true;
  }

  void add(int step, const StepShape &shape) {
    if (current.steps.size() == 1 && isMatmul(recipe.steps[step].op) &&
        current.family == Family::RowWise) {
      current.prologue = current.steps[0];
      current.axis = -1;
    }
    if (current.steps.empty() || current.prologue == current.steps.back()) {
      current.family = shape.family;
      current.space = shape.space;
    }
    if (shape.axis >= 0 && current.axis < 0) {
      current.axis = shape.axis;
      axisStep = step;
    }
    current.steps.push_back(step);
    if (!shape.endsBecause.empty()) {
      isClosed = true;
      closedBecause = shape.endsBecause;
    } else if (!writesAllColumns(recipe.steps[step]) &&
               graph.values[graph.results[step][0]].output >= 0) {
      isClosed = true;
      closedBecause = "it writes a window of its columns";
    }
  }

  bool unpacks(int step) const {
    return recipe.steps[step].op == Opcode::DEQUANT &&
           graph.values[graph.args[step][0]].type.dtype == DType::U8;
  }
  bool reduces(int step) const {
    const StepShape shape = shapeOf(recipe.steps[step], graph, step);
    return shape.axis >= 0 && !shape.isElementwise && !shape.beginsKernel;
  }
  /// The step that keeps \p step out of a kernel where rows may be longer than
  /// a tile, or -1.
  int packedStep(int step) const {
    for (int other : current.steps) {
      if (unpacks(other) && reduces(step))
        return other;
      if (unpacks(step) && reduces(other))
        return step;
    }
    return -1;
  }

  bool isComputedHere(int value) const {
    int producer = graph.values[value].producer;
    return producer >= 0 &&
           std::find(current.steps.begin(), current.steps.end(), producer) !=
               current.steps.end();
  }

  size_t operandsWith(int step) const {
    KernelPlan grown = current;
    grown.steps.push_back(step);
    // A result may become an operand if another kernel reads it.
    size_t count = readsOf(grown).size();
    for (int inside : grown.steps)
      count += writtenBy(inside).size();
    return count;
  }

  std::vector<int> readsOf(const KernelPlan &plan) const {
    std::vector<int> reads;
    for (int step : plan.steps)
      for (size_t a = 0; a < graph.args[step].size(); ++a) {
        // A state that is updated is an operand that is written.
        if (graph.updates[step][a] >= 0)
          continue;
        int arg = graph.args[step][a];
        int producer = graph.values[arg].producer;
        bool isInside =
            producer >= 0 && std::find(plan.steps.begin(), plan.steps.end(),
                                       producer) != plan.steps.end();
        if (!isInside &&
            std::find(reads.begin(), reads.end(), arg) == reads.end())
          reads.push_back(arg);
      }
    return reads;
  }

  /// Follows rows from gathers to their uses: a step's result has the guards of
  /// the operands that have its rows.
  void noteGuards(int step) {
    if (graph.results[step].empty())
      return;
    std::vector<std::pair<int, int>> &guards =
        valueGuards[graph.results[step][0]];
    const std::vector<int> &args = graph.args[step];
    if (recipe.steps[step].op == Opcode::EMBED)
      guards.emplace_back(args[0], args[1]);
    for (int arg : args)
      if (auto found = valueGuards.find(arg); found != valueGuards.end())
        for (const auto &guard : found->second)
          if (std::find(guards.begin(), guards.end(), guard) == guards.end())
            guards.push_back(guard);
  }

  /// The guards of earlier kernels that apply row by row here: the ids have the
  /// shape of the space without its columns.
  void collectGuards() {
    bool hasRows = current.axis < 0 ||
                   current.axis + 1 == static_cast<int>(current.space.size());
    if (!hasRows || current.space.empty())
      return;
    std::vector<Dim> rows(current.space.begin(), current.space.end() - 1);
    for (int read : current.reads) {
      auto found = valueGuards.find(read);
      if (found == valueGuards.end())
        continue;
      for (const auto &guard : found->second)
        if (graph.values[guard.first].type.shape == rows &&
            std::find(current.guards.begin(), current.guards.end(), guard) ==
                current.guards.end())
          current.guards.push_back(guard);
    }
  }

  void finish() {
    current.reads = readsOf(current);
    collectGuards();
    for (int step : current.steps)
      noteGuards(step);
    for (int step : current.steps)
      for (int value : writtenBy(step)) {
        const GraphValue &info = graph.values[value];
        bool isReadElsewhere =
            std::any_of(info.users.begin(), info.users.end(), [&](int user) {
              return std::find(current.steps.begin(), current.steps.end(),
                               user) == current.steps.end();
            });
        if (info.isFinal() || isReadElsewhere)
          current.writes.push_back(value);
      }
    if (current.writes.empty())
      result.explanation.push_back(
          stepText(recipe, current.steps.back()) +
          " needs no kernel: nothing reads its result");
    else
      result.kernels.push_back(std::move(current));
    current = {};
    isClosed = false;
  }

  const Recipe &recipe;
  const Graph &graph;
  Partition result;
  KernelPlan current;
  int axisStep = -1;
  /// For each value, the gathers that its rows come from.
  std::map<int, std::vector<std::pair<int, int>>> valueGuards;
  bool isClosed = false;
  std::string closedBecause;
};
} // namespace

Partition codegen::partition(const Recipe &recipe, const Graph &graph,
                             bool fuse) {
  return Partitioner(recipe, graph).run(fuse);
}
