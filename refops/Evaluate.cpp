//===- Evaluate.cpp - What a recipe should give ---------------------------===//
#include "refops/Evaluate.h"
#include "refops/Registry.h"

#include <cstring>

using namespace tandem;
using namespace tandem::refops;

/// One fault as a message: the first of them in order of (step, row).
static Result<void> report(const Recipe &recipe, FaultLog &log,
                           const EvaluateOptions &options) {
  if (log.faults.empty())
    return {};
  std::sort(log.faults.begin(), log.faults.end(),
            [](const IndexFault &a, const IndexFault &b) {
              return std::pair(a.step, a.row) < std::pair(b.step, b.row);
            });
  if (options.faults) {
    options.faults->insert(options.faults->end(), log.faults.begin(),
                           log.faults.end());
    return {};
  }
  const IndexFault &first = log.faults.front();
  const Step &step = recipe.steps[static_cast<size_t>(first.step)];
  return Error(recipe.name + ": steps[" + std::to_string(first.step) +
               "]: " + std::string(opInfo(step.op).mnemonic) + ": row " +
               std::to_string(first.row) + ": index " +
               std::to_string(first.index) + " is outside its " +
               (step.op == Opcode::EMBED ? "table" : "cache"));
}

template <typename T>
static Result<void>
evaluateFused(const Recipe &recipe, std::vector<Source> inputs,
              std::vector<Sink> outputs, std::vector<Sink> states,
              const Contract *contract, const EvaluateOptions &options) {
  FaultLog log;
  const StepNumerics unused = StepNumerics::exact();
  const Params none;
  OpCall<T> call;
  call.in = std::move(inputs);
  call.out = std::move(outputs);
  call.state = std::move(states);
  call.params = &none;
  call.numerics = &unused;
  call.jobs = options.jobs;
  call.log = &log;
  call.recipe = &recipe;
  call.contract = contract;
  const RefOp *fused = find_op(Opcode::FUSED);
  Result<void> done;
  if constexpr (std::is_same_v<T, double>)
    done = fused->evaluate(call);
  else
    done = fused->evaluateBounded(call);
  return done ? report(recipe, log, options) : done;
}

static std::vector<TensorDesc> descsOf(const std::vector<View> &views) {
  std::vector<TensorDesc> descs;
  for (const View &view : views)
    descs.push_back(view.desc);
  return descs;
}

/// Integers that a computed number may truncate to, as alternatives; too many
/// of them are no verdict. The error is symmetric, so where only one neighbour
/// can be reached the other one is listed, too.
static void listIntegers(Buffer &buffer, std::vector<uint8_t> &unchecked) {
  constexpr double most = 64;
  for (size_t i = 0; i < buffer.error.size(); ++i) {
    const double value = buffer.value[i], error = buffer.error[i];
    if (error == 0 || unchecked[i])
      continue;
    buffer.alternatives.resize(buffer.value.size());
    if (!buffer.alternatives[i].empty())
      continue; // an index, whose near-ties are known
    if (error > most)
      unchecked[i] = 1;
    for (double y = value - error; y <= value + error && !unchecked[i]; ++y)
      if (y != value)
        buffer.alternatives[i].push_back(static_cast<int64_t>(y));
  }
}

static Expected expectedFrom(Buffer buffer) {
  Expected expected;
  expected.desc = buffer.desc;
  expected.isStored = buffer.isRounded;
  expected.unchecked = std::move(buffer.unwritten);
  expected.unchecked.resize(buffer.value.size());
  for (size_t i = 0; i < buffer.error.size(); ++i)
    if (!expected.unchecked[i] && !(buffer.error[i] < infinity))
      expected.unchecked[i] = 1;
  if (isInteger(buffer.desc.dtype))
    listIntegers(buffer, expected.unchecked);
  // An index is right or it is not: its neighbours are no near miss.
  for (size_t i = 0; i < buffer.alternatives.size(); ++i)
    if (!buffer.alternatives[i].empty())
      buffer.error[i] = 0;
  expected.value = std::move(buffer.value);
  expected.error = std::move(buffer.error);
  expected.alternatives = std::move(buffer.alternatives);
  expected.integers = std::move(buffer.integers);
  return expected;
}

/// A state's values, which steps update and read as they are stored.
static Buffer copyOf(const Source &state) {
  Buffer buffer(state.desc().dtype, state.shape(), true, true);
  state.read(0, state.desc().numElements(), buffer.value.data());
  return buffer;
}

Result<std::vector<Expected>>
tandem::refops::evaluate(const Recipe &recipe, const std::vector<View> &inputs,
                         const Contract &contract,
                         const EvaluateOptions &options) {
  Result<DimBindings> bindings = bindDims(recipe, descsOf(inputs));
  if (!bindings)
    return bindings.error();
  std::vector<Buffer> buffers;
  buffers.reserve(recipe.outputs.size() + recipe.inputs.size());
  std::vector<Sink> outputs, states;
  for (const RecipeOutput &output : recipe.outputs) {
    buffers.emplace_back(output.type.dtype,
                         bindShape(output.type.shape, *bindings), false, true);
    outputs.emplace_back(buffers.back());
  }
  std::vector<Source> sources;
  for (size_t i = 0; i < inputs.size(); ++i) {
    sources.emplace_back(inputs[i]);
    if (!recipe.inputs[i].isState)
      continue;
    buffers.push_back(copyOf(sources.back()));
    sources.back() = Source(buffers.back());
    states.emplace_back(buffers.back());
  }
  if (Result<void> done =
          evaluateFused<Bounded>(recipe, std::move(sources), std::move(outputs),
                                 std::move(states), &contract, options);
      !done)
    return done.error();
  std::vector<Expected> expected;
  for (Buffer &buffer : buffers)
    expected.push_back(expectedFrom(std::move(buffer)));
  return expected;
}

/// Whether the memory of two views may have a byte in common.
static bool mayOverlap(const View &a, const View &b) {
  const auto end = [](const View &v) {
    return v.data +
           v.desc.extent() * static_cast<int64_t>(dtypeSize(v.desc.dtype));
  };
  return a.data < end(b) && b.data < end(a);
}

/// A copy of \p view's elements in dense memory of its own.
static View denseCopy(const View &view, std::vector<std::byte> &storage) {
  const size_t size = dtypeSize(view.desc.dtype);
  storage.resize(static_cast<size_t>(view.desc.numElements()) * size);
  std::byte *to = storage.data();
  forRuns(view.desc, view.desc.isContiguous(), 0, view.desc.numElements(),
          [&](int64_t offset, int64_t stride, int64_t n) {
            for (int64_t i = 0; i < n; ++i, to += size)
              std::memcpy(to,
                          view.data + (offset + i * stride) *
                                          static_cast<int64_t>(size),
                          size);
          });
  return {contiguous(view.desc.dtype, view.desc.shape), storage.data()};
}

Result<void> tandem::refops::run(const Recipe &recipe,
                                 const std::vector<View> &inputs,
                                 const std::vector<View> &outputs,
                                 const EvaluateOptions &options) {
  std::vector<Operand> in, out;
  for (const View &view : inputs)
    in.push_back({view.desc, reinterpret_cast<uint64_t>(view.data)});
  for (const View &view : outputs)
    out.push_back({view.desc, reinterpret_cast<uint64_t>(view.data)});
  if (Result<DimBindings> checked = checkCall(recipe, in, out); !checked)
    return checked.error();

  // An input that an output overwrites is read from a copy.
  std::vector<Source> sources;
  std::vector<Sink> sinks, states;
  std::vector<std::vector<std::byte>> copies(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    View from = inputs[i];
    for (const View &output : outputs)
      if (!recipe.inputs[i].isState && copies[i].empty() &&
          mayOverlap(inputs[i], output))
        from = denseCopy(inputs[i], copies[i]);
    sources.emplace_back(from);
    if (recipe.inputs[i].isState)
      states.emplace_back(inputs[i]);
  }
  for (const View &output : outputs)
    sinks.emplace_back(output);
  return evaluateFused<double>(recipe, std::move(sources), std::move(sinks),
                               std::move(states), nullptr, options);
}
