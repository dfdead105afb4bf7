//===- KernelCache.cpp - Kernels by what they were made from --------------===//
#include "codegen/cache/KernelCache.h"

#include "codegen/cache/Cache.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <sstream>
#include <unordered_map>

using namespace tandem;
using namespace tandem::codegen;
using nlohmann::json;

static void writeParams(std::ostream &out, const Params &params) {
  for (const auto &[name, value] : params.values) {
    out << ' ' << name << '=';
    if (const std::optional<size_t> operand = params.operandOf(name))
      out << "operand " << *operand;
    else if (const double *real = std::get_if<double>(&value))
      out << std::hexfloat << *real;
    else
      std::visit(
          [&](const auto &held) {
            if constexpr (requires { out << held; })
              out << held;
          },
          value);
  }
}

std::string codegen::kernelKeyText(const KernelSchedule &schedule,
                                   const ScheduleInput &input) {
  std::ostringstream out;
  out << "target " << input.options.target << '\n';
  std::map<int, int> local;
  auto number = [&](int value) {
    return local.try_emplace(value, static_cast<int>(local.size()))
        .first->second;
  };
  for (const ScheduledOperand &operand : schedule.operands) {
    out << "operand " << number(operand.value) << ' ' << operand.name << ' '
        << dtypeName(operand.desc.dtype) << ' ' << operand.desc.rank()
        << (input.graph.values[operand.value].isFinal() ? " final " : " ")
        << int(operand.usage) << operand.isWritten << ' ' << operand.vector
        << (operand.usesMap ? " map" : "") << " partner "
        << operand.partnerVector << " col " << operand.colStride << " rows";
    for (const std::string &stride : operand.rowStrides)
      out << " [" << stride << ']';
    out << '\n';
  }
  for (auto [ids, table] : schedule.plan.guards)
    out << "guard " << number(ids) << ' ' << number(table) << '\n';
  if (schedule.plan.prologue >= 0)
    out << "prologue\n";
  for (int step : schedule.plan.steps) {
    const Step &info = input.recipe.steps[step];
    out << "step " << opInfo(info.op).mnemonic;
    // Its number is in the code that reports a bad index.
    if (reportsIndices(info.op))
      out << " number " << step;
    for (int arg : input.graph.args[step])
      out << ' ' << number(arg) << ':'
          << dtypeName(input.graph.values[arg].type.dtype);
    for (int value : input.graph.updates[step])
      if (value >= 0)
        out << " & " << number(value);
    for (size_t r = 0; r < info.results.size(); ++r)
      out << " -> " << number(input.graph.results[step][r]) << ':'
          << dtypeName(info.results[r].dtype) << writesAllColumns(info);
    writeParams(out, info.params);
    out << '\n';
  }
  if (schedule.plan.partials >= 0)
    out << "splits " << schedule.plan.splits << ' '
        << number(schedule.plan.partials) << schedule.plan.merges << '\n';
  out << familyName(schedule) << " tile " << schedule.tileRows << ' '
      << schedule.tileCols << ' ' << schedule.tileDepth << ' ' << schedule.warps
      << ' ' << schedule.threadCols << ' ' << schedule.headDim
      << schedule.newHeadsAreJoined << ' ' << schedule.tilesARound << ' '
      << schedule.splitsColumns << schedule.fillsColumns
      << schedule.sharesOuterRuns << schedule.loopsColumns
      << schedule.usesTensorCore << ' ' << dtypeName(schedule.dotType)
      << "\nrows " << schedule.rows;
  for (const std::string &size : schedule.rowSizes)
    out << " [" << size << ']';
  out << "\ncols " << schedule.cols << " k " << schedule.depth << " window "
      << schedule.colBegin << ' ' << schedule.colEnd << ' ' << schedule.colTiles
      << '\n';
  const Pipeline &pipeline = schedule.pipeline;
  if (pipeline.isUsed())
    out << "pipeline " << pipeline.stages << ' ' << pipeline.clusterM << ' '
        << pipeline.clusterN << ' ' << pipeline.group << ' '
        << pipeline.producerRegisters << ' ' << pipeline.consumerRegisters
        << (pipeline.isSwapped ? " swapped" : "")
        << (pipeline.streamsW ? " streams" : "") << '\n';
  for (const std::string &extent : schedule.grid)
    out << extent << '\n';
  for (const LaunchRecord::Precondition &condition : schedule.preconditions)
    out << condition.condition.text() << " : " << condition.reason << '\n';
  return out.str();
}

std::string codegen::writeKernel(const Kernel &kernel) {
  json j = {{"launch", writeLaunchRecord(kernel.launch)},
            {"ptx", kernel.ptx},
            {"stages", kernel.stages}};
  return j.dump();
}

std::optional<Kernel> codegen::readKernel(std::string_view text) {
  json j = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object() || !j.contains("launch") || !j.contains("ptx") ||
      !j.contains("stages") || !j["launch"].is_string() ||
      !j["ptx"].is_string() || !j["stages"].is_object())
    return std::nullopt;
  Result<LaunchRecord> record =
      readLaunchRecord(j["launch"].get<std::string>(), "cache");
  if (!record)
    return std::nullopt;
  Kernel kernel;
  kernel.launch = record.take();
  kernel.ptx = j["ptx"].get<std::string>();
  for (const auto &[name, stage] : j["stages"].items())
    if (stage.is_string())
      kernel.stages[name] = stage.get<std::string>();
  return kernel;
}

namespace {
/// A fuzz run meets a few thousand kernels; beyond that they start over.
constexpr size_t memoryLimit = 8192;
struct Memory {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Kernel>> kernels;
};
} // namespace

static Memory &memory() {
  static Memory shared;
  return shared;
}

std::shared_ptr<const Kernel> codegen::memoryFind(const std::string &key) {
  std::shared_lock lock(memory().mutex);
  auto found = memory().kernels.find(key);
  return found == memory().kernels.end() ? nullptr : found->second;
}

void codegen::memoryAdd(const std::string &key,
                        std::shared_ptr<const Kernel> kernel) {
  std::unique_lock lock(memory().mutex);
  if (memory().kernels.size() >= memoryLimit)
    memory().kernels.clear();
  memory().kernels[key] = std::move(kernel);
}

void codegen::memoryClear() {
  std::unique_lock lock(memory().mutex);
  memory().kernels.clear();
}

Result<void> tandem::clearCache() {
  memoryClear();
  std::string directory = cacheInfo().directory;
  std::error_code error;
  if (!std::filesystem::exists(directory, error))
    return {};
  if (!std::filesystem::is_directory(directory, error))
    return Error(directory + ": cannot be cleared: it is no folder");
  for (std::filesystem::directory_iterator it(directory, error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".kernel" && it->path().extension() != ".tmp")
      continue;
    std::error_code failure;
    std::filesystem::remove(it->path(), failure);
    if (failure)
      return Error(it->path().string() +
                   ": cannot be removed: " + failure.message());
  }
  return {};
}
