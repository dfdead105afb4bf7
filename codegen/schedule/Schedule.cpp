//===- Schedule.cpp - Choice of family and its parameters -----------------===//
#include "codegen/schedule/Schedule.h"

#include "codegen/schedule/Parameters.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <charconv>

using namespace tandem;
using namespace tandem::codegen;

namespace {
/// A parameter and the families that read it.
struct Parameter {
  const char *name;
  bool rowWise, matmul, gemv, attention;

  bool isReadBy(Family family) const {
    return family == Family::RowWise     ? rowWise
           : family == Family::Matmul    ? matmul
           : family == Family::Attention ? attention
                                         : family == Family::Gemv && gemv;
  }
};
} // namespace

static constexpr Parameter parameters[] = {
    // The longest row that one tile holds.
    {"block", true, false, false, false},
    // Columns of a tile where rows are longer.
    {"chunk", true, false, false, false},
    // Rows of a tile.
    {"rows", true, false, false, false},
    // Warps of a CTA.
    {"warps", true, true, true, true},
    // Rows, columns and k elements of a tile.
    {"tile_m", false, true, false, false},
    {"tile_n", false, true, true, false},
    {"tile_k", false, true, true, false},
    // Of an asynchronous product: stages (0 for a plain kernel), CTAs that
    // share W and x, rows of tiles walked together, registers of a thread that
    // multiplies.
    {"stages", false, true, false, false},
    {"cluster_m", false, true, false, false},
    {"cluster_n", false, true, false, false},
    {"group", false, true, false, false},
    {"registers", false, true, false, false},
    // Of attention: parts of a window, neighbouring columns of a thread, tiles
    // of positions in a round, query heads of a CTA.
    {"splits", false, false, false, true},
    {"columns", false, false, false, true},
    {"tiles", false, false, false, true},
    {"heads", false, false, false, true},
};

static constexpr std::pair<Family, const char *> familyNames[] = {
    {Family::RowWise, "row-wise"},
    {Family::Matmul, "matmul"},
    {Family::Gemv, "gemv"},
    {Family::Attention, "attention"}};

std::string codegen::familyName(const KernelSchedule &schedule) {
  switch (schedule.plan.family) {
  case Family::RowWise:
    return "row-wise";
  case Family::Matmul:
    return schedule.pipeline.isUsed() ? "asynchronous matmul" : "matmul";
  case Family::Gemv:
    return "gemv";
  case Family::Attention:
    return "attention";
  case Family::Recurrence:
    return "recurrence";
  }
  return "";
}

static std::string familiesThatRead(const Parameter &parameter) {
  std::string text;
  for (auto [family, name] : familyNames)
    if (parameter.isReadBy(family))
      text += (text.empty() ? "" : " and ") + std::string(name);
  return text;
}

static const Parameter *findParameter(const std::string &name) {
  for (const Parameter &parameter : parameters)
    if (name == parameter.name)
      return &parameter;
  return nullptr;
}

Result<void> codegen::checkParameterNames(const CompileOptions &options) {
  Error errors;
  std::string known;
  for (const Parameter &parameter : parameters)
    known += (known.empty() ? "" : ", ") + std::string(parameter.name);
  for (const auto &[name, value] : options.set)
    if (!findParameter(name))
      errors.messages.push_back("set: no schedule parameter is named " +
                                quote(name) + ", expected one of " + known);
  if (!errors.messages.empty())
    return errors;
  return {};
}

Result<void> codegen::checkParametersAreRead(const CompileOptions &options,
                                             const Partition &parts) {
  Error errors;
  for (const auto &[name, value] : options.set) {
    const Parameter *parameter = findParameter(name);
    if (!parameter)
      continue;
    bool isRead = false;
    std::string present;
    for (auto [family, familyName] : familyNames) {
      if (std::none_of(
              parts.kernels.begin(), parts.kernels.end(),
              [&](const KernelPlan &plan) { return plan.family == family; }))
        continue;
      isRead |= parameter->isReadBy(family);
      present += (present.empty() ? "" : " and ") + std::string(familyName);
    }
    if (!isRead)
      errors.messages.push_back("set: " + name + ": only " +
                                familiesThatRead(*parameter) +
                                " kernels read it, this recipe has " +
                                (present.empty() ? "none" : present));
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
