//===- RunPlan.cpp - Executing a plan -------------------------------------===//
#include "harness/plan/RunPlan.h"

#include "harness/case/Random.h"
#include "harness/compare/Compare.h"
#include "harness/compare/RulesOf.h"
#include "harness/gen/Values.h"
#include "harness/plan/Machine.h"
#include "harness/run/Buffer.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::harness;

static bool isGiven(BufferRole role) {
  return role == BufferRole::Input || role == BufferRole::Weight ||
         role == BufferRole::State;
}

/// The elements of \p tensor in row-major order without gaps.
static HostTensor dense(HostTensor tensor) {
  if (tensor.desc.isContiguous())
    return tensor;
  HostTensor result;
  result.desc = contiguous(tensor.desc.dtype, tensor.desc.shape);
  const size_t size = dtypeSize(tensor.desc.dtype);
  const View view = tensor.view();
  for (int64_t e = 0; e < tensor.desc.numElements(); ++e)
    result.bytes.insert(result.bytes.end(), view.atLinear(e),
                        view.atLinear(e) + size);
  return result;
}

static Result<HostTensor> madeFor(const PlanBuffer &buffer, uint64_t seed) {
  HostTensor tensor;
  tensor.desc = buffer.desc();
  tensor.bytes.assign(static_cast<size_t>(tensor.desc.numElements()) *
                          dtypeSize(tensor.desc.dtype),
                      std::byte(isGiven(buffer.role) ? 0 : 0xAA));
  if (!isGiven(buffer.role) || !isFloat(buffer.type.dtype))
    return tensor;
  ValueSpec values;
  values.kind = "normal";
  values.seed = seed;
  if (Result<void> filled = fillValues(values, tensor.view()); !filled)
    return filled.error();
  return tensor;
}

Result<PlanMemory> tandem::harness::planMemory(
    const Plan &plan, std::map<std::string, HostTensor> given, uint64_t seed) {
  PlanMemory memory;
  for (const PlanBuffer &buffer : plan.buffers) {
    const auto found = given.find(buffer.name);
    if (found == given.end() || !isGiven(buffer.role)) {
      Result<HostTensor> made = madeFor(buffer, mix64(seed + memory.size()));
      if (!made)
        return made.error();
      memory.push_back(made.take());
      continue;
    }
    const TensorDesc desc = buffer.desc();
    if (found->second.desc.dtype != desc.dtype ||
        found->second.desc.shape != desc.shape)
      return Error("buffer '" + buffer.name + "': expected " +
                   buffer.type.describe() + ", got " +
                   found->second.desc.describe());
    memory.push_back(dense(std::move(found->second)));
    given.erase(found);
  }
  if (!given.empty())
    return Error("the plan has no input, weight or state named '" +
                 given.begin()->first + "'");
  return memory;
}

/// A buffer in the shape that a task sees.
static TensorDesc descOf(const TensorType &type) {
  return contiguous(type.dtype, bindShape(type.shape, {}));
}

static std::string placeOf(const Plan &plan, size_t task) {
  return plan.name + ": tasks[" + std::to_string(task) + "] (" +
         std::string(opInfo(plan.tasks[task].op).mnemonic) + ")";
}

Result<void> tandem::harness::runReferences(const Plan &plan, uint64_t seed,
                                            PlanMemory &memory,
                                            const Engine &engine) {
  const Result<std::vector<size_t>> order = scheduleTasks(plan, seed);
  if (!order)
    return order.error();
  for (size_t t : *order) {
    const PlanTask &task = plan.tasks[t];
    if (task.recipe.steps.empty())
      continue;
    std::vector<View> reads, writes;
    for (size_t i = 0; i < task.reads.size(); ++i)
      reads.push_back({descOf(task.recipe.inputs[i].type),
                       memory[task.reads[i]].bytes.data()});
    for (size_t i = 0; i < task.writes.size(); ++i)
      writes.push_back({descOf(task.recipe.outputs[i].type),
                        memory[task.writes[i]].bytes.data()});
    if (Result<void> done = engine.runReference(task.recipe, reads, writes);
        !done)
      return Error(placeOf(plan, t) + ": " + done.error().text());
  }
  return {};
}

namespace {
class DeviceRun {
public:
  DeviceRun(const Plan &plan, PlanMemory &memory, const Engine &engine,
            Device &device, const PlanRunOptions &options)
      : plan(plan), memory(memory), engine(engine), device(device),
        options(options) {}

  Result<std::vector<TaskOutcome>> run() {
    const Result<std::vector<size_t>> order = scheduleTasks(plan, options.seed);
    if (!order)
      return order.error();
    if (Result<void> placed = place(); !placed)
      return placed.error();
    std::vector<TaskOutcome> outcomes;
    for (size_t t : *order) {
      if (plan.tasks[t].recipe.steps.empty())
        continue;
      Result<TaskOutcome> outcome = runTask(t);
      if (!outcome)
        return Error(placeOf(plan, t) + ": " + outcome.error().text());
      outcomes.push_back(outcome.take());
      if (!outcomes.back().failure.empty())
        break;
    }
    for (size_t b = 0; b < buffers.size(); ++b)
      if (Result<void> read = readBack(b); !read)
        return read.error();
    return outcomes;
  }

private:
  Result<void> place() {
    buffers.reserve(plan.buffers.size());
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      Buffer::Options where;
      where.guardBands = true;
      Result<Buffer> buffer =
          Buffer::make(device, plan.buffers[b].name, memory[b].desc, where);
      if (!buffer)
        return buffer.error();
      buffers.push_back(buffer.take());
      // Scratch and outputs stay poison until a task writes them.
      if (!isGiven(plan.buffers[b].role))
        continue;
      if (Result<void> ok = buffers.back().writeElements(memory[b].bytes); !ok)
        return ok.error();
    }
    return {};
  }

  Result<void> readBack(size_t b) {
    Result<std::vector<std::byte>> elements = buffers[b].readElements();
    if (!elements)
      return elements.error();
    memory[b].bytes = elements.take();
    if (buffers[b].damage())
      return Error(*buffers[b].damage());
    return {};
  }

  Result<TaskOutcome> runTask(size_t t) {
    const PlanTask &task = plan.tasks[t];
    std::vector<Operand> reads, writes;
    for (size_t i = 0; i < task.reads.size(); ++i)
      reads.push_back({descOf(task.recipe.inputs[i].type),
                       buffers[task.reads[i]].operand().address});
    for (size_t i = 0; i < task.writes.size(); ++i)
      writes.push_back({descOf(task.recipe.outputs[i].type),
                        buffers[task.writes[i]].operand().address});
    CompileOptions compileOptions;
    compileOptions.target = options.target;
    Result<std::shared_ptr<const Program>> program =
        engine.compile(task.recipe, reads, writes, compileOptions);
    if (!program)
      return program.error();
    // The reference sees what the kernel is about to see.
    if (options.check)
      for (size_t buffer : task.reads)
        if (Result<void> read = readBack(buffer); !read)
          return read.error();
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < task.reads.size(); ++i)
      inputs.push_back(
          {descOf(task.recipe.inputs[i].type), memory[task.reads[i]].bytes});
    std::vector<std::vector<std::byte>> before;
    for (size_t buffer : task.writes) {
      if (Result<void> read = readBack(buffer); !read)
        return read.error();
      before.push_back(memory[buffer].bytes);
    }
    Result<LaunchReport> report =
        engine.run(device, **program, reads, writes, LaunchOptions());
    if (!report)
      return report.error();
    TaskOutcome outcome;
    outcome.task = t;
    if (!report->indexErrors.empty())
      return Error("row " + std::to_string(report->indexErrors[0].row) +
                   ": index outside its table");
    if (!report->ok())
      outcome.failure = report->findings.front().text();
    else if (options.check)
      if (Result<void> judged = judge(task, inputs, before, **program, outcome);
          !judged)
        return judged.error();
    return outcome;
  }

  /// The first element that the op does not write and that changed: a sibling
  /// tile's, perhaps.
  static std::optional<size_t>
  changedOutside(const refops::Expected &expected,
                 const std::vector<std::byte> &before,
                 const std::vector<std::byte> &after) {
    const size_t size = dtypeSize(expected.desc.dtype);
    for (size_t e = 0; e < expected.unchecked.size(); ++e)
      if (expected.unchecked[e] == 2 &&
          !std::equal(before.begin() + std::ptrdiff_t(e * size),
                      before.begin() + std::ptrdiff_t((e + 1) * size),
                      after.begin() + std::ptrdiff_t(e * size)))
        return e;
    return std::nullopt;
  }

  Result<void> judge(const PlanTask &task, std::vector<HostTensor> &inputs,
                     const std::vector<std::vector<std::byte>> &before,
                     const Program &program, TaskOutcome &outcome) {
    std::vector<View> views;
    for (HostTensor &input : inputs)
      views.push_back(input.view());
    Result<std::vector<refops::Expected>> expected = engine.evaluate(
        task.recipe, views, engine.contractOf(program), nullptr);
    if (!expected)
      return expected.error();
    const std::vector<size_t> changed = task.changed();
    for (size_t i = 0; i < changed.size(); ++i) {
      const PlanBuffer &buffer = plan.buffers[changed[i]];
      if (Result<void> read = readBack(changed[i]); !read)
        return read.error();
      refops::Expected &output = (*expected)[i];
      if (i < before.size())
        if (const std::optional<size_t> element =
                changedOutside(output, before[i], memory[changed[i]].bytes))
          outcome.failure = buffer.name + ": element " +
                            std::to_string(*element) +
                            " is not of the task's tile and was changed";
      for (uint8_t &mark : output.unchecked)
        mark = mark == 2 ? 1 : mark;
      Result<CompareRules> rules =
          rulesOf(task.recipe, views, output.desc, engine.runReference);
      if (!rules)
        return rules.error();
      Comparison comparison = compareOutput(
          buffer.name, output, memory[changed[i]].bytes, {}, *rules);
      outcome.ratio = std::max(outcome.ratio, comparison.receipt.ratio);
      if (comparison.failure && outcome.failure.empty())
        outcome.failure = comparison.failure->message;
    }
    return {};
  }

  const Plan &plan;
  PlanMemory &memory;
  const Engine &engine;
  Device &device;
  const PlanRunOptions &options;
  std::vector<Buffer> buffers;
};
} // namespace

Result<std::vector<TaskOutcome>>
tandem::harness::runOnDevice(const Plan &plan, PlanMemory &memory,
                             const Engine &engine, Device &device,
                             const PlanRunOptions &options) {
  return DeviceRun(plan, memory, engine, device, options).run();
}
