//===- Emulator.cpp - The device that interprets PTX ----------------------===//
#include "codegen/device/Device.h"
#include "codegen/device/Limits.h"
#include "codegen/device/emulator/Decoder.h"
#include "codegen/device/emulator/Heap.h"
#include "codegen/device/emulator/Run.h"
#include "codegen/device/emulator/async/MapCode.h"
#include "codegen/device/emulator/ptx/Parser.h"
#include "refops/core/RecordSymbols.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <optional>

using namespace tandem;
using namespace tandem::emulator;

namespace {
constexpr uint64_t defaultBudget = 20'000'000'000;
constexpr size_t mostFindings = 20;
// Stamps are 31 bits, so that ids compare as signed numbers.
constexpr uint64_t lastStamp = (uint64_t(1) << 31) - 2;

struct EmulatorKernel final : LoadedKernel {
  LaunchRecord record;
  LaunchSymbols symbols;
  Program program;
  /// With contraction, where that can make a difference.
  std::optional<Program> fused;
  std::vector<uint64_t> globals;
};

class Emulator final : public Device {
public:
  std::string_view kind() const override { return "emulator"; }

  DeviceInfo info() const override {
    DeviceInfo result;
    result.name = "PTX emulator";
    result.facts["tensor core"] = "H200, F = 25, R = 23";
    return result;
  }

  bool supports(std::string_view target) const override {
    return target == "sm_80" || target == "sm_86" || target == "sm_89" ||
           target == "sm_90" || target == "sm_90a";
  }

  Result<uint64_t> allocate(uint64_t bytes, std::string_view name) override {
    std::lock_guard lock(mutex);
    return heap.allocate(bytes, name);
  }
  Result<void> release(uint64_t address) override {
    std::lock_guard lock(mutex);
    previous.reset();
    return heap.release(address);
  }
  Result<void> write(uint64_t address, const void *source,
                     uint64_t bytes) override {
    std::lock_guard lock(mutex);
    Result<Region *> region = heap.find(address, bytes, "write");
    if (!region)
      return region.error();
    previous.reset();
    uint64_t offset = address - (*region)->base;
    if (bytes)
      std::memcpy((*region)->host + offset, source, bytes);
    (*region)->shadow->mark(offset, bytes, true);
    return {};
  }
  Result<void> read(uint64_t address, void *target, uint64_t bytes) override {
    std::lock_guard lock(mutex);
    Result<Region *> region = heap.find(address, bytes, "read");
    if (!region)
      return region.error();
    previous.reset();
    if (bytes)
      std::memcpy(target, (*region)->host + (address - (*region)->base), bytes);
    return {};
  }
  Result<void> fill(uint64_t address, uint8_t byte, uint64_t bytes,
                    bool initialised) override {
    std::lock_guard lock(mutex);
    previous.reset();
    return heap.fill(address, byte, bytes, initialised);
  }

  Result<std::array<std::byte, tensorMapBytes>>
  encodeTensorMap(const TensorMap &map) override {
    if (Result<void> r = checkTensorMap(map, "emulator"); !r)
      return r.error();
    return std::bit_cast<std::array<std::byte, tensorMapBytes>>(encodeMap(map));
  }

  Result<std::shared_ptr<LoadedKernel>> load(const Kernel &kernel) override;
  Result<LaunchReport> launch(LoadedKernel &kernel,
                              const std::vector<tandem::Operand> &operands,
                              const LaunchOptions &options) override;

private:
  Result<void> placeGlobals(const Module &module,
                            std::vector<ModuleVariable> &variables,
                            EmulatorKernel &kernel);
  Result<void> checkParams(const EmulatorKernel &kernel) const;
  Result<void> prepareSlots(const EmulatorKernel &kernel, BoundLaunch &bound,
                            uint64_t &workspace);

  std::mutex mutex;
  Heap heap;
  CtaPool pool;
  uint64_t errorSlot = 0;
  uint64_t nextStamp = 1;
  uint32_t launches = 0;
  /// The last launch, while the host has touched no memory since: a dependent
  /// one may overlap it.
  std::optional<EarlierLaunch> previous;
};
} // namespace

Result<std::shared_ptr<LoadedKernel>> Emulator::load(const Kernel &kernel) {
  const std::string &place = kernel.launch.kernel;
#if defined(__x86_64__) && defined(TANDEM_EMULATOR_NEEDS_AVX2)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return Error("emulator: this build needs a processor with AVX2 and FMA");
#endif
  if (!kernel.launch.target.empty() && !supports(kernel.launch.target))
    return Error(place + ": target " + kernel.launch.target +
                 " does not run here, sm_80 to sm_90a do");
  Result<Module> module = parseModule(kernel.ptx, place);
  if (!module)
    return module.error();
  const Entry *entry = nullptr;
  for (const Entry &candidate : module->entries)
    if (candidate.name == place)
      entry = &candidate;
  if (!entry)
    return Error("emulator: the PTX has no entry '" + place + "'");
  Result<std::vector<ModuleVariable>> variables =
      moduleVariables(*module, place);
  if (!variables)
    return variables.error();
  auto loaded = std::make_shared<EmulatorKernel>();
  loaded->record = kernel.launch;
  Result<LaunchSymbols> symbols = resolveSymbols(loaded->record);
  if (!symbols)
    return symbols.error();
  loaded->symbols = symbols.take();
  if (Result<void> placed = placeGlobals(*module, *variables, *loaded); !placed)
    return placed.error();
  Result<Program> program = decode(*module, *entry, *variables, place);
  if (!program)
    return program.error();
  loaded->program = program.take();
  if (mayContract(*module, *entry)) {
    Result<Program> fused = decode(*module, *entry, *variables, place, true);
    if (!fused)
      return fused.error();
    loaded->fused = fused.take();
  }
  return std::shared_ptr<LoadedKernel>(std::move(loaded));
}

/// Variables live as long as the device, as a loaded module's do on a GPU.
Result<void> Emulator::placeGlobals(const Module &module,
                                    std::vector<ModuleVariable> &variables,
                                    EmulatorKernel &kernel) {
  std::lock_guard lock(mutex);
  for (ModuleVariable &variable : variables) {
    Result<uint64_t> address = heap.allocate(
        variable.bytes,
        (variable.isConst ? ".const " : ".global ") + variable.name);
    if (!address)
      return address.error();
    variable.address = *address;
    kernel.globals.push_back(*address);
  }
  for (ModuleVariable &variable : variables) {
    for (const auto &[offset, name] : variable.relocations) {
      uint64_t value = 0;
      if (offset + 8 > variable.init.size())
        return Error(kernel.record.kernel + ": initialiser of '" +
                     variable.name + "': an address needs 64 bits");
      std::memcpy(&value, &variable.init[offset], 8);
      bool isKnown = false;
      for (const ModuleVariable &other : variables)
        if (other.name == name) {
          value += other.address;
          isKnown = true;
        }
      if (uint64_t function = functionAddress(module, name)) {
        value += function;
        isKnown = true;
      }
      if (!isKnown)
        return Error(kernel.record.kernel + ": initialiser of '" +
                     variable.name + "': '" + name + "' is not known");
      std::memcpy(&variable.init[offset], &value, 8);
    }
    Result<Region *> region =
        heap.find(variable.address, variable.bytes, "load");
    if (!region)
      return region.error();
    std::copy(variable.init.begin(), variable.init.end(), (*region)->host);
    (*region)->shadow->mark(0, variable.bytes, true);
  }
  return {};
}

Result<void> Emulator::checkParams(const EmulatorKernel &kernel) const {
  const LaunchRecord &record = kernel.record;
  const std::vector<ParamSlot> &params = kernel.program.params;
  if (params.size() != record.args.size())
    return Error(record.kernel + ": the kernel has " +
                 std::to_string(params.size()) +
                 " parameters, the launch record gives " +
                 std::to_string(record.args.size()));
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].bytes != paramSize(record.args[i]).bytes)
      return Error(record.kernel + ": parameter '" + params[i].name + "' has " +
                   std::to_string(params[i].bytes) +
                   " bytes, the launch record gives " +
                   std::to_string(paramSize(record.args[i]).bytes));
  const std::vector<int> &required = kernel.program.reqntid;
  const std::vector<int> &most = kernel.program.maxntid;
  for (size_t i = 0; i < 3; ++i)
    if (!required.empty() &&
        record.block[i] != (i < required.size() ? required[i] : 1))
      return Error(record.kernel + ": the PTX requires " +
                   std::to_string(i < required.size() ? required[i] : 1) +
                   " threads in dimension " + std::to_string(i) +
                   ", the launch record gives " +
                   std::to_string(record.block[i]));
  const std::vector<int> &cluster = kernel.program.reqCluster;
  for (size_t i = 0; i < 3; ++i)
    if (!cluster.empty() &&
        record.cluster[i] != (i < cluster.size() ? cluster[i] : 1))
      return Error(record.kernel + ": the PTX requires clusters of " +
                   std::to_string(i < cluster.size() ? cluster[i] : 1) +
                   " CTAs in dimension " + std::to_string(i) +
                   ", the launch record gives " +
                   std::to_string(record.cluster[i]));
  int64_t threads = 1, allowed = 1;
  for (size_t i = 0; i < 3; ++i) {
    threads *= record.block[i];
    allowed *= i < most.size() ? most[i] : 1;
  }
  if (!most.empty() && threads > allowed)
    return Error(record.kernel + ": the PTX allows " + std::to_string(allowed) +
                 " threads a block, the launch record gives " +
                 std::to_string(threads));
  return {};
}

/// Error slot and workspace: fresh for each launch.
Result<void> Emulator::prepareSlots(const EmulatorKernel &kernel,
                                    BoundLaunch &bound, uint64_t &workspace) {
  for (size_t i = 0; i < bound.args.size(); ++i) {
    KernelArg::Kind kind = kernel.record.args[i].kind;
    if (kind == KernelArg::Kind::ErrorSlot) {
      if (!errorSlot) {
        Result<uint64_t> slot = heap.allocate(8, "error slot");
        if (!slot)
          return slot.error();
        errorSlot = *slot;
      }
      if (Result<void> r = heap.fill(errorSlot, 0xff, 8, true); !r)
        return r;
      bound.args[i] = errorSlot;
    } else if (kind == KernelArg::Kind::Workspace) {
      if (!workspace) {
        auto bytes = static_cast<uint64_t>(bound.workspaceBytes);
        Result<uint64_t> made = heap.allocate(bytes, "workspace");
        if (!made)
          return made.error();
        workspace = *made;
        if (Result<void> r = heap.fill(workspace, 0, bytes, true); !r)
          return r;
      }
      bound.args[i] = workspace;
    }
  }
  return {};
}

Result<LaunchReport>
Emulator::launch(LoadedKernel &loaded,
                 const std::vector<tandem::Operand> &operands,
                 const LaunchOptions &options) {
  auto &kernel = static_cast<EmulatorKernel &>(loaded);
  const LaunchRecord &record = kernel.record;
  BoundLaunch bound;
  if (Result<void> r = bindLaunch(record, kernel.symbols, operands, bound); !r)
    return r.error();
  DeviceLimits limits;
  if (record.target == "sm_80")
    limits.sharedBytes = 163 << 10;
  if (Result<void> r = checkLimits(record, bound, limits); !r)
    return r.error();
  if (Result<void> r = checkParams(kernel); !r)
    return r.error();
  // "fused": plain products and sums contracted, the rest as it is nearest.
  const bool isFused = options.approximation == "fused";
  const Program &program =
      isFused && kernel.fused ? *kernel.fused : kernel.program;
  uint64_t shared =
      program.sharedBytes + static_cast<uint64_t>(record.sharedBytes);
  if (shared > static_cast<uint64_t>(limits.sharedBytes))
    return Error(record.kernel + ": " + std::to_string(program.sharedBytes) +
                 " bytes of static and " + std::to_string(record.sharedBytes) +
                 " of dynamic shared memory, at most " +
                 std::to_string(limits.sharedBytes) + " are allowed");
  static constexpr std::string_view approximations[] = {"nearest", "low",
                                                        "high", "random"};
  const auto *chosen =
      std::find(std::begin(approximations), std::end(approximations),
                isFused ? "nearest" : options.approximation);
  if (chosen == std::end(approximations))
    return Error("emulator: approximation '" + options.approximation +
                 "' is not one of nearest, low, high, random, fused");
  if (bound.isNoOp())
    return LaunchReport();
  uint64_t ctas = 1;
  for (int64_t dim : bound.grid)
    if (__builtin_mul_overflow(ctas, static_cast<uint64_t>(dim), &ctas) ||
        ctas > lastStamp)
      return Error(record.kernel + ": a grid of more than " +
                   std::to_string(lastStamp) + " CTAs is not emulated");

  std::lock_guard lock(mutex);
  uint64_t workspace = 0;
  if (Result<void> r = prepareSlots(kernel, bound, workspace); !r)
    return r.error();
  if (nextStamp + ctas > lastStamp) {
    heap.forgetAccesses();
    pool.clear();
    nextStamp = 1;
    previous.reset();
  }
  Launch launch;
  launch.program = &program;
  launch.regions = heap.regions();
  launch.params.resize(program.paramBytes);
  for (size_t i = 0; i < bound.args.size(); ++i) {
    char *param = launch.params.data() + program.params[i].offset;
    if (record.args[i].kind == KernelArg::Kind::TensorMap) {
      MapCode code = encodeMap(bound.maps[bound.args[i]]);
      std::memcpy(param, &code, sizeof code);
    } else {
      std::memcpy(param, &bound.args[i], program.params[i].bytes);
    }
  }
  launch.grid = bound.grid;
  launch.block = record.block;
  launch.cluster = record.cluster;
  launch.sharedBytes = shared;
  launch.dynamicSharedBytes = static_cast<uint64_t>(record.sharedBytes);
  launch.options = options;
  launch.approximation =
      static_cast<Approximation>(chosen - std::begin(approximations));
  launch.budget = options.budget ? options.budget : defaultBudget;
  launch.firstStamp = nextStamp;
  nextStamp += ctas;
  launch.launchNumber = ++launches;
  if (record.programmatic && previous)
    launch.earlier = &*previous;
  LaunchReport report =
      runLaunch(launch, pool, record.ctasCommunicate || program.mayWaitForCtas,
                mostFindings);

  previous.emplace();
  previous->kernel = record.kernel;
  previous->firstStamp = launch.firstStamp;
  for (const Inst &inst : program.code)
    previous->lines.push_back(inst.line);

  for (const KernelArg &arg : record.args) {
    if (arg.kind != KernelArg::Kind::ErrorSlot)
      continue;
    uint64_t value = *reinterpret_cast<const uint64_t *>(errorSlot);
    if (value != ~uint64_t(0))
      report.indexErrors.push_back(
          {static_cast<int>(value >> 48),
           static_cast<int64_t>(value & ((uint64_t(1) << 48) - 1))});
    break;
  }
  if (workspace)
    if (Result<void> r = heap.release(workspace); !r)
      return r.error();
  return report;
}

std::unique_ptr<Device> tandem::makeEmulator() {
  return std::make_unique<Emulator>();
}
