//===- Contenders.cpp - Those that a row compares -------------------------===//
#include "harness/bench/Contenders.h"

#include "harness/bench/Ceilings.h"

#include <algorithm>
#include <array>

using namespace tandem;
using namespace tandem::bench;
using nlohmann::json;

std::string_view tandem::bench::kindName(Contender::Kind kind) {
  constexpr std::array<std::string_view, 4> names = {"ours", "ceiling", "peer",
                                                     "control"};
  return names[static_cast<size_t>(kind)];
}

Contenders::~Contenders() {
  for (const Contender &one : all)
    if (one.graph && one.owns)
      queue.release(one.graph);
  if (askedHost)
    (void)bench.peers({{"do", "release"}});
}

Result<uint64_t>
Contenders::captureAll(const std::function<Result<void>(size_t set)> &enqueue) {
  return queue.capture([&]() -> Result<void> {
    for (int i = 0; i < rotation.launches; ++i)
      if (Result<void> ok = enqueue(static_cast<size_t>(i % rotation.sets));
          !ok)
        return ok;
    return {};
  });
}

Contender Contenders::ours(const std::map<std::string, std::string> &set) {
  Contender one;
  one.name = "tandem";
  for (const auto &[name, value] : set)
    one.name += " " + name + "=" + value;
  one.set = set;
  const auto fail = [&](const Error &error) {
    one.error = error.text();
    return std::move(one);
  };
  CompileOptions options;
  options.target = bench.target;
  options.set = set;
  const OperandSet &first = sets.front();
  Result<std::shared_ptr<const Program>> program =
      bench.compile(row.recipe, first.inputs, first.outputs, options);
  if (!program)
    return fail(program.error());
  for (const std::string &sentence : (*program)->explanation)
    one.detail += (one.detail.empty() ? "" : "; ") + sentence;
  const Result<LoadedProgram> kernels = bench.load(*bench.device, **program);
  if (!kernels)
    return fail(kernels.error());
  std::vector<std::shared_ptr<PreparedProgram>> prepared;
  for (const OperandSet &operands : sets) {
    auto made = bench.prepare(*bench.device, **program, *kernels,
                              operands.inputs, operands.outputs);
    if (!made)
      return fail(made.error());
    prepared.emplace_back(made.take());
    one.kept.push_back(prepared.back());
  }
  const Result<uint64_t> graph = captureAll(
      [&](size_t set) { return prepared[set]->enqueue(queue.stream()); });
  if (!graph)
    return fail(graph.error());
  one.graph = *graph;
  if (!hasState(row.recipe))
    one.outputs = first.outputs;
  return one;
}

void Contenders::addOurs() {
  all.push_back(ours({}));
  for (const std::map<std::string, std::string> &set : row.sets)
    all.push_back(ours(set));
}

void Contenders::addCeilings(uint64_t seed) {
  if (row.ceiling == Ceiling::Flops)
    return;
  const bool copies = row.ceiling == Ceiling::Copy;
  // A copy reads half of the bytes and writes half.
  const int64_t bytes =
      std::max<int64_t>(16, (copies ? row.bytes / 2 : row.bytes) / 16 * 16);
  std::vector<std::pair<Operand, Operand>> buffers;
  const auto make = [&](int64_t size) -> Result<Operand> {
    const Result<uint64_t> address = memory.allocate(size, "plain buffer");
    if (!address)
      return address.error();
    return Operand{contiguous(DType::U8, {size}), *address};
  };
  const auto fail = [&](const Error &error) {
    Contender one;
    one.name = ceilingName(row.ceiling);
    one.kind = Contender::Kind::Ceiling;
    one.error = error.text();
    all.push_back(std::move(one));
  };
  for (int i = 0; i < rotation.sets; ++i) {
    Result<Operand> x = make(bytes), y = make(copies ? bytes : 16);
    if (!x || !y)
      return fail(x ? y.error() : x.error());
    harness::ValueSpec noise;
    noise.kind = "uniform";
    if (Result<void> ok = filler.fill(*x, noise); !ok)
      return fail(ok.error());
    buffers.emplace_back(x.take(), y.take());
  }
  int processors = 132;
  const DeviceInfo info = bench.device->info();
  if (const auto fact = info.facts.find("multiprocessors");
      fact != info.facts.end())
    processors = std::max(1, std::atoi(fact->second.c_str()));

  std::vector<Contender> made;
  for (const PlainKernel &plain : plainKernels(row.ceiling, processors)) {
    Contender one;
    one.name = plain.name;
    one.kind = Contender::Kind::Ceiling;
    Result<std::shared_ptr<LoadedKernel>> kernel =
        bench.device->load(plain.kernel);
    if (!kernel)
      return fail(kernel.error());
    std::vector<std::shared_ptr<PreparedLaunch>> launches;
    for (const auto &[x, y] : buffers) {
      Result<std::unique_ptr<PreparedLaunch>> launch =
          bench.device->prepare(*kernel, {x, y});
      if (!launch)
        return fail(launch.error());
      launches.emplace_back(launch.take());
      one.kept.push_back(launches.back());
    }
    const Result<uint64_t> graph = captureAll(
        [&](size_t set) { return launches[set]->enqueue(queue.stream()); });
    if (!graph)
      return fail(graph.error());
    one.graph = *graph;
    made.push_back(std::move(one));
  }
  if (copies) {
    Contender one;
    one.name = "copy by the driver";
    one.kind = Contender::Kind::Ceiling;
    const Result<uint64_t> graph = captureAll([&](size_t set) {
      const auto &[x, y] = buffers[set];
      return queue.copy(y.address, x.address, static_cast<uint64_t>(bytes));
    });
    if (graph) {
      one.graph = *graph;
      made.push_back(std::move(one));
    }
  }
  std::vector<uint64_t> graphs;
  for (const Contender &one : made)
    graphs.push_back(one.graph);
  const Result<Measured> trial =
      measure(queue, graphs, rotation.launches, 3, seed);
  if (!trial) {
    for (const Contender &one : made)
      queue.release(one.graph);
    return fail(trial.error());
  }
  for (size_t i = 0; i < made.size(); ++i)
    made[i].timing = trial->timings[i];
  std::ranges::sort(made, {},
                    [](const Contender &one) { return one.timing.medianUs(); });
  constexpr size_t kept = 2;
  for (size_t i = 0; i < made.size(); ++i)
    if (i < kept)
      all.push_back(std::move(made[i]));
    else
      queue.release(made[i].graph);
}

void Contenders::addPeer(const std::string &name,
                         Result<std::unique_ptr<Cublas>> &cublas) {
  if (name != "cublas")
    return addFromHost(name);
  Contender one;
  one.name = name;
  one.kind = Contender::Kind::Peer;
  const std::optional<Product> product = productOf(row);
  if (!product) {
    one.error = "has no such product";
  } else if (!cublas) {
    one.error = cublas.error().text();
  } else {
    one.detail = (*cublas)->name();
    one.outputs = sets.front().outputs;
    // Once before, so that nothing is initialised inside the capture.
    Result<void> ok = (*cublas)->multiply(*product, sets.front());
    const Result<uint64_t> graph = ok ? captureAll([&](size_t set) {
      return (*cublas)->multiply(*product, sets[set]);
    })
                                      : Result<uint64_t>(ok.error());
    if (graph)
      one.graph = *graph;
    else
      one.error = graph.error().text();
  }
  all.push_back(std::move(one));
}

static json operandJson(const std::string &name, const Operand &operand) {
  return {{"name", name},
          {"dtype", dtypeName(operand.desc.dtype)},
          {"shape", operand.desc.shape},
          {"address", operand.address}};
}

void Contenders::addFromHost(const std::string &name) {
  Contender one;
  one.name = name;
  one.kind = Contender::Kind::Peer;
  if (!bench.peers) {
    one.error = "runs in Python: python3 -m tandem bench run";
    all.push_back(std::move(one));
    return;
  }
  json request = {{"do", "capture"},
                  {"peer", name},
                  {"row", row.name},
                  {"recipe", json::parse(writeRecipe(row.recipe))},
                  {"launches", rotation.launches},
                  {"sets", json::array()}};
  for (const OperandSet &set : sets) {
    json inputs = json::array(), outputs = json::array();
    for (size_t i = 0; i < set.inputs.size(); ++i)
      inputs.push_back(operandJson(row.recipe.inputs[i].name, set.inputs[i]));
    for (size_t i = 0; i < set.outputs.size(); ++i)
      outputs.push_back(
          operandJson(row.recipe.outputs[i].name, set.outputs[i]));
    request["sets"].push_back({{"inputs", inputs}, {"outputs", outputs}});
  }
  askedHost = true;
  const json answer = bench.peers(request);
  one.error = answer.value("error", "");
  one.detail = answer.value("detail", "");
  if (one.error.empty()) {
    const Result<uint64_t> graph =
        queue.instantiate(answer.value("graph", uint64_t(0)));
    if (graph)
      one.graph = *graph;
    else
      one.error = graph.error().text();
    // Empty where the peer says that its results cannot be compared.
    const json addresses = answer.value("outputs", json::array());
    if (addresses.size() == sets.front().outputs.size())
      for (size_t i = 0; i < addresses.size(); ++i)
        one.outputs.push_back(
            {sets.front().outputs[i].desc, addresses[i].get<uint64_t>()});
  }
  all.push_back(std::move(one));
}

void Contenders::addControl() {
  const Contender *again = nullptr;
  for (const Contender &one : all)
    if (one.graph && (one.kind == Contender::Kind::Peer ||
                      (one.kind == Contender::Kind::Ours && !again))) {
      again = &one;
      if (one.kind == Contender::Kind::Peer)
        break;
    }
  if (!again)
    return;
  Contender control;
  control.name = again->name;
  control.kind = Contender::Kind::Control;
  control.graph = again->graph;
  control.owns = false;
  all.push_back(std::move(control));
}

Result<void> Contenders::compare() {
  std::optional<Sample> expected;
  for (Contender &one : all) {
    if (!one.graph || one.outputs.empty() ||
        one.kind == Contender::Kind::Control)
      continue;
    // Poison, a NaN in every float: what is not written is not right.
    if (one.outputs.front().address == sets.front().outputs.front().address)
      for (const Operand &output : one.outputs)
        if (Result<void> ok = bench.device->fill(
                output.address, 0xff,
                static_cast<uint64_t>(output.desc.numElements()) *
                    dtypeSize(output.desc.dtype),
                /*initialised=*/false);
            !ok)
          return ok;
    const Result<double> ran = queue.replay(one.graph);
    if (!ran)
      return Error(one.name + ": " + ran.error().text());
    Result<Sample> sample = sampleOf(*bench.device, one.outputs);
    if (!sample)
      return Error(one.name + ": " + sample.error().text());
    if (!expected) {
      expected = sample.take();
      continue;
    }
    const Result<double> difference = differenceOf(*sample, *expected);
    if (!difference)
      return Error(one.name + ": " + difference.error().text());
    one.difference = *difference;
  }
  return {};
}

Result<std::vector<GpuSensors>> Contenders::time(int rounds, uint64_t seed) {
  std::vector<uint64_t> graphs;
  std::vector<Contender *> timed;
  for (Contender &one : all)
    if (one.graph) {
      graphs.push_back(one.graph);
      timed.push_back(&one);
    }
  if (graphs.empty())
    return Error("nothing to measure");
  Result<Measured> measured =
      measure(queue, graphs, rotation.launches, rounds, seed);
  if (!measured)
    return measured.error();
  for (size_t i = 0; i < timed.size(); ++i)
    timed[i]->timing = std::move(measured->timings[i]);
  return std::move(measured->sensors);
}
