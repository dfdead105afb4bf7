//===- RunPlan.h - Executing a plan -----------------------------*- C++ -*-===//
//
// One task after another in an order that the counters allow: by the references
// on the host, or one kernel a task on a device, each judged against the
// reference on the inputs that the device itself had.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_PLAN_RUNPLAN_H
#define TANDEM_HARNESS_PLAN_RUNPLAN_H

#include "harness/plan/Plan.h"
#include "harness/run/Engine.h"
#include "harness/run/Execution.h"

#include <map>

namespace tandem::harness {

/// Contents of the plan's buffers, contiguous, one a buffer.
using PlanMemory = std::vector<HostTensor>;

/// Buffers of the plan: \p given for those that it has by name; the other
/// inputs, weights and states get normal numbers made from \p seed, or zeros
/// where they are integers; scratch and outputs are poison. Fails on a name
/// that is no input, weight or state, and on another type.
Result<PlanMemory> planMemory(const Plan &plan,
                              std::map<std::string, HostTensor> given,
                              uint64_t seed);

/// Runs the references in the order that \p seed picks. Fails on an index
/// outside its table, naming the task.
Result<void> runReferences(const Plan &plan, uint64_t seed, PlanMemory &memory,
                           const Engine &engine);

/// What became of a task on a device.
struct TaskOutcome {
  size_t task = 0;
  /// Largest error in units of the bound.
  double ratio = 0;
  /// What is wrong, or empty.
  std::string failure;
};

struct PlanRunOptions {
  uint64_t seed = 0;
  /// Compare every task with its reference.
  bool check = true;
  std::string target;
};

/// Runs one kernel a task on \p device in the order that \p options.seed picks,
/// and leaves the buffers' contents in \p memory. Stops at the first task that
/// is wrong.
Result<std::vector<TaskOutcome>>
runOnDevice(const Plan &plan, PlanMemory &memory, const Engine &engine,
            Device &device, const PlanRunOptions &options);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_PLAN_RUNPLAN_H
