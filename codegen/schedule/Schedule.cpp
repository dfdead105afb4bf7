//===- Schedule.cpp - Choice of family and its parameters -----------------===//
#include "codegen/schedule/Schedule.h"

#include "codegen/schedule/Parameters.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <charconv>

using namespace tandem;
using namespace tandem::codegen;

namespace {
/// Sets of families, as bits.
enum : unsigned {
  RowWise = 1,
  Matmul = 2,
  Gemv = 4,
  Attention = 8,
  Recurrence = 16
};

static unsigned bitOf(Family family) {
  switch (family) {
  case Family::RowWise:
    return RowWise;
  case Family::Matmul:
    return Matmul;
  case Family::Gemv:
    return Gemv;
  case Family::Attention:
    return Attention;
  case Family::Recurrence:
    return Recurrence;
  }
  return 0;
}

/// A parameter and the families that read it.
struct Parameter {
  const char *name;
  unsigned families;

  bool isReadBy(Family family) const { return families & bitOf(family); }
};
} // namespace

static constexpr Parameter parameters[] = {
    // The longest row that one tile holds.
    {"block", RowWise},
    // Columns of a tile where rows are longer.
    {"chunk", RowWise},
    // Rows of a tile.
    {"rows", RowWise},
    // Warps of a CTA.
    {"warps", RowWise | Matmul | Gemv | Attention | Recurrence},
    // Rows, columns and k elements of a tile.
    {"tile_m", Matmul},
    {"tile_n", Matmul | Gemv},
    {"tile_k", Matmul | Gemv},
    // Of an asynchronous product: stages (0 for a plain kernel; of attention,
    // reads on their way in a round), CTAs that
    // share W and x, rows of tiles walked together, registers of a thread that
    // multiplies.
    {"stages", Matmul | Attention},
    {"cluster_m", Matmul},
    {"cluster_n", Matmul},
    {"group", Matmul},
    {"registers", Matmul},
    // Of attention: parts of a window, neighbouring columns of a thread, tiles
    // of positions in a round, query heads of a CTA.
    {"splits", Attention},
    {"columns", Attention | Recurrence},
    {"tiles", Attention},
    {"heads", Attention},
    // Whether the kernel starts before the launch in front of it has ended,
    // and waits for that itself: 2, or 1 for not.
    {"early", RowWise | Gemv | Attention | Recurrence},
};

static constexpr std::pair<Family, const char *> familyNames[] = {
    {Family::RowWise, "row-wise"},
    {Family::Matmul, "matmul"},
    {Family::Gemv, "gemv"},
    {Family::Attention, "attention"},
    {Family::Recurrence, "recurrence"}};

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

/// Whether the time of a launch counts beside the kernel's: where a decoded
/// token reads weights or a cache once.
static bool startsEarly(const KernelSchedule &schedule) {
  return schedule.plan.family == Family::Gemv ||
         schedule.plan.family == Family::Attention || schedule.plan.merges;
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
  if (schedule.plan.family != Family::Attention && plan.leavesParts())
    requireParts(schedule);
  if (plan.family != Family::Matmul && input.options.target == "sm_90a") {
    Result<int64_t> early =
        parameter(input.options, "early", startsEarly(schedule) ? 2 : 1, 1, 2);
    if (!early)
      return early.error();
    schedule.startsEarly = *early == 2;
  }
  return schedule;
}
