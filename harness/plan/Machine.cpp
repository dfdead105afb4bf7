//===- Machine.cpp - Counters, queues and who may run ---------------------===//
#include "harness/plan/Machine.h"

#include "harness/case/Random.h"

#include <algorithm>
#include <map>

using namespace tandem;
using namespace tandem::harness;

namespace {
class Machine {
public:
  explicit Machine(const Plan &plan)
      : plan(plan), counters(static_cast<size_t>(plan.numCounters)) {
    for (size_t t = 0; t < plan.tasks.size(); ++t)
      queues[plan.tasks[t].queue].push_back(t);
  }

  /// The tasks that may start, ascending.
  std::vector<size_t> ready() const {
    std::vector<size_t> tasks;
    for (const auto &[queue, list] : queues) {
      const size_t at = position(queue);
      if (at < list.size() && !blockerOf(list[at]))
        tasks.push_back(list[at]);
    }
    std::sort(tasks.begin(), tasks.end());
    return tasks;
  }

  void finish(size_t task) {
    ++done[plan.tasks[task].queue];
    if (plan.tasks[task].signal >= 0)
      ++counters[static_cast<size_t>(plan.tasks[task].signal)];
  }

  Error deadlock() const {
    Error error;
    for (const auto &[queue, list] : queues) {
      const size_t at = position(queue);
      if (at == list.size())
        continue;
      const PlanWait *wait = blockerOf(list[at]);
      error.messages.push_back(
          "deadlock: tasks[" + std::to_string(list[at]) + "] of queue " +
          std::to_string(queue) + " waits for counter " +
          std::to_string(wait->counter) + " to reach " +
          std::to_string(wait->value) + ", it stays at " +
          std::to_string(counters[static_cast<size_t>(wait->counter)]));
    }
    return error;
  }

private:
  size_t position(int64_t queue) const {
    const auto found = done.find(queue);
    return found == done.end() ? 0 : found->second;
  }

  /// A wait that is not met yet, or null.
  const PlanWait *blockerOf(size_t task) const {
    for (const PlanWait &wait : plan.tasks[task].waits)
      if (counters[static_cast<size_t>(wait.counter)] < wait.value)
        return &wait;
    return nullptr;
  }

  const Plan &plan;
  std::vector<int64_t> counters;
  std::map<int64_t, std::vector<size_t>> queues;
  std::map<int64_t, size_t> done;
};
} // namespace

Result<std::vector<size_t>> tandem::harness::scheduleTasks(const Plan &plan,
                                                           uint64_t seed) {
  Machine machine(plan);
  Random random(mix64(seed));
  std::vector<size_t> order;
  while (order.size() < plan.tasks.size()) {
    const std::vector<size_t> ready = machine.ready();
    if (ready.empty())
      return machine.deadlock();
    const size_t which = seed == 0 ? 0 : random.below(ready.size());
    order.push_back(ready[which]);
    machine.finish(ready[which]);
  }
  return order;
}
