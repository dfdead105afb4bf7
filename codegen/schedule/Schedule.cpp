//===- Schedule.cpp - Choice of family and its parameters -----------------===//
#include "codegen/schedule/Schedule.h"

#include "refops/core/Spelling.h"

#include <charconv>

using namespace tandem;
using namespace tandem::codegen;

/// Parameter names and the families that read them.
static constexpr const char *parameterNames[] = {
    "block",  // row-wise: the longest row that one tile holds
    "chunk",  // row-wise: columns of a tile where rows are longer
    "rows",   // row-wise: rows of a tile
    "warps",  // all: warps of a CTA
    "tile_m", // matmul: rows of a tile
    "tile_n", // matmul, gemv: columns of a tile
    "tile_k", // matmul, gemv: k elements of a loop step
};

Result<void> codegen::checkParameterNames(const CompileOptions &options) {
  Error errors;
  for (const auto &[name, value] : options.set) {
    std::string known;
    bool isKnown = false;
    for (const char *parameter : parameterNames) {
      isKnown |= name == parameter;
      known += (known.empty() ? "" : ", ") + std::string(parameter);
    }
    if (!isKnown)
      errors.messages.push_back("set: no schedule parameter is named '" + name +
                                "', expected one of " + known);
  }
  if (!errors.messages.empty())
    return errors;
  return {};
}

Result<int64_t> codegen::parameter(const CompileOptions &options,
                                   const char *name, int64_t chosen,
                                   int64_t least, int64_t most) {
  auto found = options.set.find(name);
  if (found == options.set.end())
    return chosen;
  const std::string &text = found->second;
  int64_t value = 0;
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  bool isPower = value > 0 && (value & (value - 1)) == 0;
  if (code != std::errc() || end != text.data() + text.size() || !isPower ||
      value < least || value > most)
    return Error("set: " + std::string(name) +
                 ": expected a power of two from " + std::to_string(least) +
                 " to " + std::to_string(most) + ", got '" + text + "'");
  return value;
}

Result<KernelSchedule> codegen::schedule(const KernelPlan &plan,
                                         const ScheduleInput &input) {
  KernelSchedule schedule;
  schedule.plan = plan;
  bool addressesItself =
      plan.family == Family::Attention || plan.family == Family::Recurrence;
  if (addressesItself)
    findOperands(schedule, input);
  else
    mapSpace(schedule, input);
  Result<void> done;
  switch (plan.family) {
  case Family::RowWise:
    done = scheduleRows(schedule, input);
    break;
  case Family::Matmul:
    done = scheduleMatmul(schedule, input);
    break;
  case Family::Gemv:
    done = scheduleGemv(schedule, input);
    break;
  case Family::Attention:
    done = scheduleAttention(schedule, input);
    break;
  case Family::Recurrence:
    done = scheduleRecurrence(schedule, input);
    break;
  }
  if (!done)
    return done.error();
  return schedule;
}
