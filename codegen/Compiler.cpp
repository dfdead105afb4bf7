//===- Compiler.cpp - Recipes to programs ---------------------------------===//
#include "codegen/Compiler.h"

#include "codegen/TunedSchedules.h"

#include "codegen/cache/Cache.h"
#include "codegen/cache/KernelCache.h"
#include "codegen/lower/TileToPtx.h"
#include "codegen/schedule/Parameters.h"
#include "codegen/tile/BuildTile.h"
#include "codegen/tile/Context.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <set>

using namespace tandem;
using namespace tandem::codegen;

namespace {
/// Adds up the time of stages by name.
class Clock {
public:
  Clock(std::vector<StageTiming> &timings) : timings(timings) {}

  void lap(const char *stage) {
    auto now = std::chrono::steady_clock::now();
    add(stage, std::chrono::duration<double, std::milli>(now - last).count());
    last = now;
  }
  void add(const std::string &stage, double milliseconds) {
    for (StageTiming &timing : timings)
      if (timing.stage == stage) {
        timing.milliseconds += milliseconds;
        return;
      }
    timings.push_back({stage, milliseconds});
  }
  void restart() { last = std::chrono::steady_clock::now(); }

private:
  std::vector<StageTiming> &timings;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};
} // namespace

static bool isIdentifier(const std::string &name) {
  auto isLetter = [](char c) { return std::isalpha(c) || c == '_'; };
  return !name.empty() && isLetter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return isLetter(c) || std::isdigit(c); });
}

/// Unique identifiers: the recipe's own names where they are such.
static std::vector<std::string> nameValues(const Recipe &recipe,
                                           const Graph &graph) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue &value = graph.values[v];
    // A kernel that updates a state does not read its old value beside it.
    if (value.isUpdate()) {
      names.push_back(names[value.input]);
      continue;
    }
    std::string name = value.input >= 0    ? recipe.inputs[value.input].name
                       : value.output >= 0 ? recipe.outputs[value.output].name
                                           : "t" + std::to_string(v);
    if (!isIdentifier(name) || !taken.insert(name).second) {
      name = "value" + std::to_string(v);
      taken.insert(name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

static bool isFp8(DType type) {
  return type == DType::F8E4M3 || type == DType::F8E5M2;
}

static Result<void> checkTarget(const Recipe &recipe,
                                const std::string &target) {
  if (target != "sm_80" && target != "sm_90a")
    return Error("target: expected sm_80 or sm_90a, got '" + target + "'");
  if (target == "sm_90a")
    return {};
  for (size_t s = 0; s < recipe.steps.size(); ++s) {
    bool usesFp8 = false;
    for (const ValueRef &arg : recipe.steps[s].args)
      usesFp8 |= arg.kind == ValueRef::Kind::Input &&
                 isFp8(recipe.inputs[arg.index].type.dtype);
    for (const TensorType &type : recipe.steps[s].results)
      usesFp8 |= isFp8(type.dtype);
    if (usesFp8)
      return Error("steps[" + std::to_string(s) +
                   "]: float8 needs sm_89 or newer, the target is " + target);
  }
  return {};
}

/// Builds, lowers and records one kernel.
static Result<Kernel> compileKernel(const KernelSchedule &schedule,
                                    const ScheduleInput &input, Clock &clock) {
  clock.restart();
  mlir::MLIRContext &context = threadContext();
  clock.lap("context");
  Result<TileKernel> built = buildTile(schedule, input, context);
  if (!built)
    return built.error();
  clock.lap("tile");
  Kernel kernel;
  llvm::raw_string_ostream stream(kernel.stages["tile"]);
  built->module->print(stream);
  kernel.stages["tile"] += "\n";
  clock.lap("print");
  PtxOptions ptxOptions;
  ptxOptions.keepStages = input.options.keepStages;
  Result<PtxOutput> ptx =
      tileToPtx(*built->module, input.options.target, ptxOptions);
  if (!ptx)
    return ptx.error();
  for (const StageTiming &timing : ptx->timings)
    clock.add(timing.stage, timing.milliseconds);
  clock.restart();
  kernel.ptx = std::move(ptx->ptx);
  kernel.launch = std::move(built->record);
  kernel.launch.sharedBytes = ptx->shared.dynamic;
  if (input.options.keepStages) {
    kernel.stages["nvvm"] = std::move(ptx->nvvm);
    kernel.stages["llvm"] = std::move(ptx->llvm);
  }
  return kernel;
}

/// The kernel for a schedule, from the caches if it is there. Its contract
/// carries the recipe's step numbers.
static Result<std::shared_ptr<const Kernel>>
kernelFor(const KernelSchedule &schedule, const ScheduleInput &input,
          Clock &clock, bool &wasCached) {
  const CompileOptions &options = input.options;
  std::string diskKey, memoryKey;
  if (options.useCache) {
    diskKey = cacheKey(kernelKeyText(schedule, input) +
                       (options.keepStages ? "stages" : ""));
    memoryKey = diskKey;
    for (int step : schedule.plan.steps)
      memoryKey += "," + std::to_string(step);
    if (auto known = memoryFind(memoryKey)) {
      clock.lap("cache");
      return known;
    }
  }
  std::optional<Kernel> kernel;
  if (options.useCache)
    if (std::optional<std::string> text = cacheRead(diskKey))
      kernel = readKernel(*text);
  clock.lap("cache");
  if (!kernel) {
    wasCached = false;
    Result<Kernel> compiled = compileKernel(schedule, input, clock);
    if (!compiled)
      return compiled.error();
    kernel = compiled.take();
    if (options.useCache)
      cacheWrite(diskKey, writeKernel(*kernel));
  }
  for (StepContract &step : kernel->launch.contract.steps)
    step.step = schedule.plan.steps[step.step];
  auto shared = std::make_shared<const Kernel>(std::move(*kernel));
  if (options.useCache)
    memoryAdd(memoryKey, shared);
  clock.lap("cache");
  return shared;
}

/// Where each value of the graph lies: the call's operands, and temporaries for
/// what one kernel leaves for another.
static void placeValues(const Graph &graph, const Partition &parts,
                        const std::vector<Operand> &inputs,
                        const std::vector<Operand> &outputs,
                        const DimBindings &bindings, Program &program,
                        std::vector<Operand> &operands,
                        std::vector<OperandSource> &sources) {
  operands.resize(graph.values.size());
  sources.resize(graph.values.size());
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue &value = graph.values[v];
    if (value.input >= 0) {
      operands[v] = inputs[value.input];
      sources[v] = {OperandSource::Kind::Input, value.input};
    } else if (value.output >= 0) {
      operands[v] = outputs[value.output];
      sources[v] = {OperandSource::Kind::Output, value.output};
    } else if (value.table) {
      const int64_t turned = bindShape({value.table->turned}, bindings)[0];
      operands[v].desc = contiguous(DType::F32, {turned / 2});
      sources[v] = {OperandSource::Kind::Table,
                    static_cast<int>(program.tables.size())};
      program.tables.push_back({value.table->theta, value.table->turned});
    }
  }
  for (const KernelPlan &plan : parts.kernels)
    for (int v : plan.writes) {
      if (graph.values[v].isFinal())
        continue;
      const TensorType &type = graph.values[v].type;
      operands[v].desc =
          contiguous(type.dtype, bindShape(type.shape, bindings));
      sources[v] = {OperandSource::Kind::Temporary,
                    static_cast<int>(program.temporaries.size())};
      program.temporaries.push_back({type});
    }
}

/// Gives what a scheduled product leaves its size, which the kernel that reads
/// it is then scheduled for.
static void sizeParts(const KernelSchedule &scheduled, KernelPlan &merge,
                      const DimBindings &bindings, Graph &graph,
                      std::vector<Operand> &operands,
                      const std::vector<OperandSource> &sources,
                      Program &program) {
  const int value = scheduled.plan.partials;
  TensorType &type = graph.values[value].type;
  type.shape.back() = Dim(partsOf(scheduled));
  merge.space = type.shape;
  operands[value].desc =
      contiguous(type.dtype, bindShape(type.shape, bindings));
  program.temporaries[sources[value].index].type = type;
}

Result<std::vector<TileKernel>>
codegen::buildTileKernels(const Recipe &recipe, const DimBindings &bindings,
                          const CompileOptions &options,
                          mlir::MLIRContext &context) {
  if (Result<void> ok = checkTarget(recipe, options.target); !ok)
    return ok.error();
  if (Result<void> ok = checkParameterNames(options); !ok)
    return ok.error();
  auto typical = typicalOperands(recipe, bindings);
  if (!typical)
    return typical.error();
  Graph graph = buildGraph(recipe);
  Partition parts = partition(recipe, graph, options.fuse);
  if (Result<void> ok = checkParametersAreRead(options, parts); !ok)
    return ok.error();
  if (Result<void> ok = splitWindows(graph, parts, recipe, bindings, options);
      !ok)
    return ok.error();
  splitArgmaxes(graph, parts, recipe);
  ScheduleInput input{recipe, graph, options, {}, nameValues(recipe, graph)};
  std::vector<OperandSource> sources;
  Program program;
  placeValues(graph, parts, typical->first, typical->second, bindings, program,
              input.operands, sources);
  std::vector<TileKernel> kernels;
  for (size_t i = 0; i < parts.kernels.size(); ++i) {
    Result<KernelSchedule> scheduled = schedule(parts.kernels[i], input);
    if (!scheduled)
      return scheduled.error();
    if (scheduled->partCols)
      sizeParts(*scheduled, parts.kernels[i + 1], bindings, graph,
                input.operands, sources, program);
    Result<TileKernel> built = buildTile(*scheduled, input, context);
    if (!built)
      return built.error();
    kernels.push_back(built.take());
  }
  return kernels;
}

/// The kernels of a checked call, with exactly these options.
static Result<void>
compileKernels(const Recipe &recipe, const std::vector<Operand> &inputs,
               const std::vector<Operand> &outputs, const DimBindings &bindings,
               const CompileOptions &options, Program &program, Clock &clock) {
  Graph graph = buildGraph(recipe);
  Partition parts = partition(recipe, graph, options.fuse);
  if (Result<void> ok = checkParametersAreRead(options, parts); !ok)
    return ok.error();
  if (Result<void> ok = splitWindows(graph, parts, recipe, bindings, options);
      !ok)
    return ok.error();
  splitArgmaxes(graph, parts, recipe);
  program.explanation = parts.explanation;
  clock.lap("fuse");

  ScheduleInput input{recipe, graph, options, {}, nameValues(recipe, graph)};
  std::vector<OperandSource> sources;
  placeValues(graph, parts, inputs, outputs, bindings, program, input.operands,
              sources);
  program.fromCache = true;
  for (size_t i = 0; i < parts.kernels.size(); ++i) {
    const KernelPlan &plan = parts.kernels[i];
    clock.restart();
    Result<KernelSchedule> scheduled = schedule(plan, input);
    if (!scheduled)
      return scheduled.error();
    if (scheduled->partCols)
      sizeParts(*scheduled, parts.kernels[i + 1], bindings, graph,
                input.operands, sources, program);
    clock.lap("schedule");
    Result<std::shared_ptr<const Kernel>> kernel =
        kernelFor(*scheduled, input, clock, program.fromCache);
    if (!kernel)
      return kernel.error();
    ProgramLaunch launch;
    launch.kernel = kernel.take();
    launch.steps = plan.steps;
    launch.family = familyName(*scheduled);
    for (const ScheduledOperand &operand : scheduled->operands)
      launch.operands.push_back(sources[operand.value]);
    program.explanation.push_back(
        "kernel " + std::to_string(program.launches.size()) + " (" +
        launch.kernel->launch.kernel + ") is " + scheduled->explanation);
    program.launches.push_back(std::move(launch));
  }
  return {};
}

Result<std::shared_ptr<const Program>>
tandem::compile(const Recipe &recipe, const std::vector<Operand> &inputs,
                const std::vector<Operand> &outputs,
                const CompileOptions &options) {
  auto program = std::make_shared<Program>();
  Clock clock(program->timings);
  program->recipe = recipe;
  program->target = options.target;
  if (Result<void> ok = checkTarget(recipe, options.target); !ok)
    return ok.error();
  if (Result<void> ok = checkParameterNames(options); !ok)
    return ok.error();
  Result<DimBindings> bindings = checkCall(recipe, inputs, outputs);
  if (!bindings)
    return bindings.error();
  clock.lap("check");

  if (options.useTuned && options.fuse && options.set.empty()) {
    Result<std::optional<std::map<std::string, std::string>>> tuned =
        tunedParameters(recipe, *bindings, options.target);
    if (!tuned)
      return tuned.error();
    clock.lap("tuned");
    if (*tuned) {
      // What was tuned for contiguous operands may be no kernel for these.
      CompileOptions withTuned = options;
      withTuned.set = **tuned;
      Program attempt = *program;
      if (compileKernels(recipe, inputs, outputs, *bindings, withTuned, attempt,
                         clock)) {
        attempt.timings = program->timings;
        *program = std::move(attempt);
        std::string sentence = "tuned:";
        for (const auto &[name, value] : withTuned.set)
          sentence += " " + name + "=" + value;
        program->explanation.push_back(std::move(sentence));
        return std::shared_ptr<const Program>(std::move(program));
      }
    }
  }
  if (Result<void> ok = compileKernels(recipe, inputs, outputs, *bindings,
                                       options, *program, clock);
      !ok)
    return ok.error();
  return std::shared_ptr<const Program>(std::move(program));
}

Contract Program::contract() const {
  Contract all;
  for (const ProgramLaunch &launch : launches)
    for (const StepContract &step : launch.kernel->launch.contract.steps)
      all.steps.push_back(step);
  std::sort(all.steps.begin(), all.steps.end(),
            [](const StepContract &a, const StepContract &b) {
              return a.step < b.step;
            });
  return all;
}

Result<std::pair<std::vector<Operand>, std::vector<Operand>>>
tandem::typicalOperands(const Recipe &recipe, const DimBindings &bindings) {
  // Far apart, so that no two overlap.
  uint64_t address = 1ull << 40;
  Error errors;
  auto place = [&](const std::string &name, const TensorType &type) {
    for (const Dim &dim : type.shape)
      if (dim.isSymbol() && !bindings.contains(dim.symbol()))
        errors.messages.push_back(name + ": no size is given for '" +
                                  dim.symbol() + "'");
    Operand operand;
    if (!errors.messages.empty())
      return operand;
    operand.desc = contiguous(type.dtype, bindShape(type.shape, bindings));
    operand.address = address;
    uint64_t bytes =
        static_cast<uint64_t>(operand.desc.extent()) * dtypeSize(type.dtype);
    address += (bytes + 511) / 256 * 256;
    return operand;
  };
  std::pair<std::vector<Operand>, std::vector<Operand>> operands;
  for (const RecipeInput &input : recipe.inputs)
    operands.first.push_back(place(input.name, input.type));
  for (const RecipeOutput &output : recipe.outputs)
    operands.second.push_back(place(output.name, output.type));
  if (!errors.messages.empty())
    return errors;
  return operands;
}
