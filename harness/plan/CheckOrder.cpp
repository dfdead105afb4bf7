//===- CheckOrder.cpp - What counters and queues order --------------------===//
//
// Counters only grow, so a task that may start stays so: whether all tasks can
// run does not depend on the schedule, and one run decides it. Which tasks are
// certain to be done when another starts is a fixed point: those of its queue
// before it, those that such a one is certain to follow, and a signaller t of
// a counter that it waits on unless `value` of the others may come without t.
//
//===----------------------------------------------------------------------===//
#include "harness/plan/Machine.h"
#include "harness/plan/Plan.h"

#include "refops/core/Spelling.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

using namespace tandem;
using namespace tandem::harness;

namespace {
/// A square of bits: row i holds the tasks that precede task i.
class Precedence {
public:
  explicit Precedence(size_t size)
      : words((size + 63) / 64), bits(size * words) {}

  bool test(size_t later, size_t earlier) const {
    return bits[later * words + earlier / 64] >> (earlier % 64) & 1;
  }
  /// Adds \p earlier and all that precede it; true if that is news.
  bool add(size_t later, size_t earlier) {
    bool isNew = false;
    for (size_t w = 0; w < words; ++w) {
      uint64_t more = bits[earlier * words + w];
      if (w == earlier / 64)
        more |= uint64_t(1) << (earlier % 64);
      uint64_t &mine = bits[later * words + w];
      isNew |= (more & ~mine) != 0;
      mine |= more;
    }
    return isNew;
  }

private:
  size_t words;
  std::vector<uint64_t> bits;
};

/// What a task does to a buffer, and to which columns of it.
struct Access {
  size_t task;
  bool isWrite;
  int64_t firstColumn = 0, endColumn = INT64_MAX;
};

class OrderChecker {
public:
  OrderChecker(const Plan &plan, Messages &messages)
      : plan(plan), messages(messages), before(plan.tasks.size()),
        signallers(static_cast<size_t>(plan.numCounters)) {
    for (size_t t = 0; t < plan.tasks.size(); ++t)
      if (plan.tasks[t].signal >= 0)
        signallers[static_cast<size_t>(plan.tasks[t].signal)].push_back(t);
  }

  void run() {
    checkWaits();
    if (!messages.empty())
      return;
    if (const Result<std::vector<size_t>> order = scheduleTasks(plan, 0);
        !order) {
      for (const std::string &message : order.error().messages)
        messages.add("", message);
      return;
    }
    order();
    checkAccesses();
  }

private:
  void checkWaits() {
    for (size_t t = 0; t < plan.tasks.size(); ++t)
      for (size_t w = 0; w < plan.tasks[t].waits.size(); ++w) {
        const PlanWait &wait = plan.tasks[t].waits[w];
        const size_t count =
            signallers[static_cast<size_t>(wait.counter)].size();
        if (wait.value > static_cast<int64_t>(count))
          messages.add(
              indexed(memberOf(indexed("tasks", t), "wait"), w),
              "counter " + std::to_string(wait.counter) + " never reaches " +
                  std::to_string(wait.value) + ": " + std::to_string(count) +
                  (count == 1 ? " task signals it" : " tasks signal it"));
      }
  }

  void order() {
    std::map<int64_t, size_t> last;
    std::vector<std::optional<size_t>> previous(plan.tasks.size());
    for (size_t t = 0; t < plan.tasks.size(); ++t) {
      const auto [found, isFirst] = last.try_emplace(plan.tasks[t].queue, t);
      if (!isFirst)
        previous[t] = std::exchange(found->second, t);
    }
    for (bool isNew = true; isNew;) {
      isNew = false;
      for (size_t t = 0; t < plan.tasks.size(); ++t) {
        if (previous[t])
          isNew |= before.add(t, *previous[t]);
        for (const PlanWait &wait : plan.tasks[t].waits)
          isNew |= addCertain(t, wait);
      }
    }
  }

  bool addCertain(size_t t, const PlanWait &wait) {
    const std::vector<size_t> &all =
        signallers[static_cast<size_t>(wait.counter)];
    bool isNew = false;
    for (size_t s : all) {
      int64_t without = 0;
      for (size_t other : all)
        without += other != s && !before.test(other, s);
      if (without < wait.value)
        isNew |= before.add(t, s);
    }
    return isNew;
  }

  /// The columns of its result that a task writes, where it sees the buffer as
  /// it is.
  Access writeOf(const PlanTask &task, size_t number, size_t output) const {
    Access access{number, true};
    const TensorType &type = task.recipe.outputs[output].type;
    if (type.shape.empty() || type != plan.buffers[task.writes[output]].type)
      return access;
    const Params &params = task.recipe.steps[0].params;
    const int64_t columns = type.shape.back().size();
    access.firstColumn = std::min(params.getInt("n_off", 0), columns);
    access.endColumn =
        access.firstColumn + std::min(params.getInt("N_tile", columns),
                                      columns - access.firstColumn);
    return access;
  }

  static bool meet(const Access &a, const Access &b) {
    return (a.isWrite || b.isWrite) && a.firstColumn < b.endColumn &&
           b.firstColumn < a.endColumn;
  }

  void checkAccesses() {
    std::vector<std::vector<Access>> accesses(plan.buffers.size());
    for (size_t t = 0; t < plan.tasks.size(); ++t) {
      const PlanTask &task = plan.tasks[t];
      const std::vector<size_t> changed = task.changed();
      for (size_t i = 0; i < changed.size(); ++i)
        accesses[changed[i]].push_back(
            i < task.writes.size() ? writeOf(task, t, i) : Access{t, true});
      for (size_t buffer : task.reads)
        if (std::find(changed.begin(), changed.end(), buffer) == changed.end())
          accesses[buffer].push_back({t, false});
    }
    for (size_t b = 0; b < accesses.size(); ++b) {
      checkPairs(b, accesses[b]);
      checkWritten(b, accesses[b]);
    }
  }

  void checkPairs(size_t buffer, const std::vector<Access> &all) {
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const Access &a = all[j], &b = all[i];
        if (!meet(a, b) || before.test(b.task, a.task) ||
            before.test(a.task, b.task))
          continue;
        messages.add(indexed("tasks", b.task),
                     std::string(b.isWrite ? "it writes " : "it reads ") +
                         quote(plan.buffers[buffer].name) + ", which " +
                         indexed("tasks", a.task) +
                         (a.isWrite ? " writes" : " reads") +
                         ", and nothing orders the two");
        // One message a task and buffer: the rest follows from it.
        break;
      }
  }

  void checkWritten(size_t buffer, const std::vector<Access> &all) {
    const BufferRole role = plan.buffers[buffer].role;
    const bool isWritten = std::any_of(
        all.begin(), all.end(), [](const Access &a) { return a.isWrite; });
    if (role == BufferRole::Output && !isWritten)
      messages.add(indexed("buffers", buffer),
                   "no task writes the output " +
                       quote(plan.buffers[buffer].name));
    if (role != BufferRole::Scratch && role != BufferRole::Output)
      return;
    for (const Access &access : all) {
      const bool isAfterWrite =
          access.isWrite ||
          std::any_of(all.begin(), all.end(), [&](const Access &other) {
            return other.isWrite && before.test(access.task, other.task);
          });
      if (!isAfterWrite)
        messages.add(indexed("tasks", access.task),
                     "it reads " + quote(plan.buffers[buffer].name) +
                         " before any task writes it");
    }
  }

  const Plan &plan;
  Messages &messages;
  Precedence before;
  std::vector<std::vector<size_t>> signallers;
};
} // namespace

void tandem::harness::checkOrder(const Plan &plan, Messages &messages) {
  OrderChecker(plan, messages).run();
}
