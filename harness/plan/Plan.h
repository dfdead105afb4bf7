//===- Plan.h - Tasks over named buffers, ordered by counters ---*- C++ -*-===//
//
//   { "name": "layer",
//     "buffers": [{"name": "x", "dtype": "bfloat16", "shape": [1, 64],
//                  "role": "input|weight|scratch|state|output"}],
//     "counters": 2,
//     "tasks": [{"op": "RMSNORM", "inputs": ["x", "w"], "outputs": ["h"],
//                "params": {"eps": 1e-5, "pos": {"buffer": "pos"}},
//                "wait": [{"counter": 0, "value": 1}], "signal": 1,
//                "queue": 0}] }
//
// A task may start when every counter that it waits on has reached its value;
// finishing it adds one to the counter that it signals. Tasks of one queue run
// in order; across queues only counters order anything (SEMANTICS, "Plans").
// Inputs are the op's operands in order, states among them; outputs are its
// results. Each is a buffer's name, or `{"buffer": "q", "shape": [4, 16]}` to
// see the same elements in another shape. `name`, `params`, `wait`, `signal`
// and `queue` (0) may be absent.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_PLAN_PLAN_H
#define TANDEM_HARNESS_PLAN_PLAN_H

#include "refops/core/JsonText.h"
#include "refops/core/Recipe.h"

#include <string>
#include <string_view>
#include <vector>

namespace tandem::harness {

/// Limits of the format. The order between tasks takes a bit for each pair.
inline constexpr size_t maxPlanTasks = 16384;
inline constexpr size_t maxPlanBuffers = 65536;
inline constexpr int64_t maxPlanCounters = 65536;

enum class BufferRole : uint8_t { Input, Weight, Scratch, State, Output };

struct PlanBuffer {
  std::string name;
  /// Dims are numbers.
  TensorType type;
  BufferRole role = BufferRole::Scratch;
  TensorDesc desc() const;
};

struct PlanWait {
  int64_t counter = 0;
  int64_t value = 0;
};

struct PlanTask {
  Opcode op = Opcode::NOP;
  /// The op on the task's buffers: inputs[i] of the recipe is buffer reads[i],
  /// outputs[i] is buffer writes[i], in the shape that the task sees.
  Recipe recipe;
  std::vector<size_t> reads, writes;
  std::vector<PlanWait> waits;
  /// -1 signals nothing.
  int64_t signal = -1;
  int64_t queue = 0;

  /// The buffers that the task changes: writes, and states among reads.
  std::vector<size_t> changed() const;
};

struct Plan {
  std::string name;
  std::vector<PlanBuffer> buffers;
  int64_t numCounters = 0;
  std::vector<PlanTask> tasks;
};

/// Reads and checks a plan: format, every task's operands and params, that each
/// wait can be met, that no two tasks touch a buffer without an order where one
/// of them writes, that nothing is read before it is written, and that every
/// task can run. Fails with all errors, each `file: tasks[i].member: ...`.
Result<Plan> readPlan(std::string_view json, std::string_view file);

/// Adds what is wrong with the order of the tasks to \p messages.
void checkOrder(const Plan &plan, Messages &messages);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_PLAN_PLAN_H
