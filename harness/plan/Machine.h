//===- Machine.h - Counters, queues and who may run -------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_PLAN_MACHINE_H
#define TANDEM_HARNESS_PLAN_MACHINE_H

#include "harness/plan/Plan.h"

namespace tandem::harness {

/// An order in which the plan's tasks may run one after another: at each step
/// \p seed picks one of the tasks that may start; seed 0 takes the lowest.
/// Fails when tasks are left that none can start (a deadlock), with one message
/// for each queue: its next task, and a counter that it waits on.
Result<std::vector<size_t>> scheduleTasks(const Plan &plan, uint64_t seed);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_PLAN_MACHINE_H
