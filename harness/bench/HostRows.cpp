//===- HostRows.cpp - What a launch and a compilation cost the host -------===//
#include "harness/bench/HostRows.h"

#include "harness/bench/Measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace tandem;
using namespace tandem::bench;
using nlohmann::json;

namespace {
using Clock = std::chrono::steady_clock;

double nsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

double rounded(double value) { return std::round(value * 100) / 100; }
} // namespace

/// Operands with a gap behind every row, so that no dims can be merged and
/// every stride is an argument.
static Result<Operand> spread(const TensorDesc &desc, const std::string &name,
                              Memory &memory) {
  Operand operand;
  operand.desc = desc;
  int64_t stride = 1;
  for (size_t d = desc.rank(); d-- > 0;) {
    operand.desc.strides[d] = stride;
    // Whole 16-byte vectors, for the schedules that want them.
    stride = stride * desc.shape[d] + 16;
    stride = (stride + 15) / 16 * 16;
  }
  const Result<uint64_t> address = memory.allocate(
      operand.desc.extent() * static_cast<int64_t>(dtypeSize(desc.dtype)),
      name);
  if (!address)
    return address.error();
  operand.address = *address;
  return operand;
}

/// The median over batches of the nanoseconds of one call. A batch is shorter
/// than the driver's queue, and the queue is empty when it begins.
static Result<double> nsOf(GpuQueue &queue,
                           const std::function<Result<void>()> &call) {
  constexpr int calls = 100, batches = 41;
  std::vector<double> ns;
  for (int batch = -2; batch < batches; ++batch) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < calls; ++i)
      if (Result<void> done = call(); !done)
        return done.error();
    const double took = nsSince(begin);
    if (Result<void> done = queue.synchronize(); !done)
      return done.error();
    if (batch >= 0)
      ns.push_back(took / calls);
  }
  return median(ns);
}

Result<void> tandem::bench::measureLaunch(const Row &row, const Bench &bench,
                                          const RunOptions &options,
                                          json &result) {
  GpuQueue &queue = *bench.device->queue();
  Memory memory(*bench.device);
  OperandSet set;
  const std::vector<TensorDesc> inputs = inputDescs(row),
                                outputs = outputDescs(row);
  for (size_t i = 0; i < inputs.size() + outputs.size(); ++i) {
    const bool isInput = i < inputs.size();
    Result<Operand> operand = spread(
        isInput ? inputs[i] : outputs[i - inputs.size()], "operand", memory);
    if (!operand)
      return operand.error();
    (isInput ? set.inputs : set.outputs).push_back(operand.take());
    const Operand &made = (isInput ? set.inputs : set.outputs).back();
    const auto bytes =
        static_cast<uint64_t>(made.desc.extent()) * dtypeSize(made.desc.dtype);
    if (Result<void> ok = bench.device->fill(made.address, 0, bytes, true); !ok)
      return ok;
  }
  CompileOptions compileOptions;
  compileOptions.target = bench.target;
  Result<std::shared_ptr<const Program>> program =
      bench.compile(row.recipe, set.inputs, set.outputs, compileOptions);
  if (!program)
    return program.error();
  const Result<LoadedProgram> kernels = bench.load(*bench.device, **program);
  if (!kernels)
    return kernels.error();
  Result<std::unique_ptr<PreparedProgram>> prepared = bench.prepare(
      *bench.device, **program, *kernels, set.inputs, set.outputs);
  if (!prepared)
    return prepared.error();
  size_t numArgs = 0;
  for (const ProgramLaunch &launch : (*program)->launches)
    numArgs += launch.kernel->launch.args.size();
  result["arguments"] = numArgs;

  json list = json::array();
  double plain = 0;
  const auto add = [&](const char *name, const char *kind,
                       const std::function<Result<void>()> &call) {
    const Result<double> ns = nsOf(queue, call);
    json one = {{"name", name}, {"kind", kind}};
    if (!ns) {
      one["error"] = ns.error().text();
    } else {
      one["ns"] = rounded(*ns);
      if (plain > 0)
        one["above_ns"] = rounded(*ns - plain);
      else
        plain = *ns;
    }
    list.push_back(std::move(one));
  };
  const uint64_t stream = queue.stream();
  add("cuLaunchKernel", "ceiling",
      [&] { return (*prepared)->enqueuePlainly(stream); });
  add("prepared", "ours", [&] { return (*prepared)->enqueue(stream); });
  add("checked call", "ours", [&] {
    Result<void> bound = (*prepared)->bind(set.inputs, set.outputs);
    return bound ? (*prepared)->enqueue(stream) : bound;
  });
  // The host measures our own launches from Python too.
  if (bench.peers) {
    const json answer =
        bench.peers({{"do", "launch"},
                     {"row", row.name},
                     {"recipe", json::parse(writeRecipe(row.recipe))},
                     {"dims", row.dims},
                     {"peers", options.peers}});
    if (answer.contains("error"))
      list.push_back({{"name", "python"},
                      {"kind", "peer"},
                      {"error", answer.value("error", "")}});
    for (json one : answer.value("contenders", json::array())) {
      if (one.contains("ns"))
        one["above_ns"] = rounded(one["ns"].get<double>() - plain);
      list.push_back(std::move(one));
    }
  }
  result["contenders"] = std::move(list);
  return {};
}

Result<void> tandem::bench::measureCompile(const Row &row, const Bench &bench,
                                           const RunOptions &options,
                                           json &result) {
  Memory memory(*bench.device);
  OperandSet set;
  const std::vector<TensorDesc> inputs = inputDescs(row),
                                outputs = outputDescs(row);
  // A compiler looks at alignment only.
  uint64_t address = 1 << 20;
  for (const TensorDesc &desc : inputs)
    set.inputs.push_back({desc, address += uint64_t(1) << 40});
  for (const TensorDesc &desc : outputs)
    set.outputs.push_back({desc, address += uint64_t(1) << 40});
  json list = json::array();
  const auto timed = [&](const char *name, bool useCache, bool loads,
                         int repeats) -> Result<void> {
    std::vector<double> ms;
    for (int i = 0; i < repeats; ++i) {
      CompileOptions compileOptions;
      compileOptions.target = bench.target;
      compileOptions.useCache = useCache;
      const Clock::time_point begin = Clock::now();
      const auto program =
          bench.compile(row.recipe, set.inputs, set.outputs, compileOptions);
      if (!program)
        return program.error();
      if (loads)
        if (const auto loaded = bench.load(*bench.device, **program); !loaded)
          return loaded.error();
      ms.push_back(nsSince(begin) / 1e6);
    }
    json one = {{"name", name},
                {"kind", "ours"},
                {"ms", rounded(median(ms))},
                {"first_ms", rounded(ms.front())}};
    list.push_back(std::move(one));
    return {};
  };
  // The first compilation of a process pays for what it initialises; `first_ms`
  // has that, the median has not.
  Result<void> done = timed("compile", false, false, 5);
  if (done)
    done = timed("compile and load", false, true, 3);
  if (done)
    done = timed("cached", true, false, 5);
  if (done && bench.peers && !options.peers.empty()) {
    const json answer =
        bench.peers({{"do", "compile"},
                     {"row", row.name},
                     {"recipe", json::parse(writeRecipe(row.recipe))},
                     {"dims", row.dims},
                     {"peers", options.peers}});
    if (answer.contains("error"))
      list.push_back({{"name", "python"},
                      {"kind", "peer"},
                      {"error", answer.value("error", "")}});
    for (const json &one : answer.value("contenders", json::array()))
      list.push_back(one);
  }
  result["contenders"] = std::move(list);
  return done;
}
