//===- Sweep.cpp - Runs probes on a device --------------------------------===//
#include "harness/hardware/Sweep.h"

#include "harness/hardware/Inputs.h"
#include "harness/hardware/ProbeKernel.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::hardware;

Sweeper::~Sweeper() {
  for (const auto &[name, buffer] : buffers)
    (void)device.release(buffer.address);
}

Result<Operand> Sweeper::buffer(const std::string &name, uint64_t words) {
  Buffer &kept = buffers[name];
  if (kept.bytes < 4 * words) {
    if (kept.bytes)
      if (Result<void> ok = device.release(kept.address); !ok)
        return ok.error();
    kept.bytes = 0;
    if (name == "input")
      inputFormats.clear();
    const Result<uint64_t> address = device.allocate(4 * words, name);
    if (!address)
      return address.error();
    kept = {*address, 4 * words};
  }
  return Operand{{DType::I32, {static_cast<int64_t>(words)}, {1}},
                 kept.address};
}

Result<void> Sweeper::load(const Probe &newProbe) {
  auto loaded = device.load(probeKernel(newProbe));
  if (!loaded)
    return Error(newProbe.name + ": " + loaded.error().text());
  probe = &newProbe;
  kernel = loaded.take();
  return {};
}

Result<SweepResult> Sweeper::run(const SweepRequest &request) {
  const uint32_t count = request.count ? request.count : probe->perStratum();
  const size_t strata = request.strata.size();
  const size_t all = strata * count;
  SweepResult result;
  std::vector<uint32_t> control = {count, request.step,
                                   request.wantsOutput ? wantsOutput : 0,
                                   static_cast<uint32_t>(all)};
  control.insert(control.end(), request.strata.begin(), request.strata.end());
  const uint64_t outputWords =
      request.wantsOutput ? all * static_cast<uint64_t>(outputStride(*probe))
                          : 1;
  // Whole sweeps keep theirs for the next probe.
  const char *inputName = request.wantsOutput ? "input of samples" : "input";
  std::vector<Operand> operands;
  for (const auto &[name, words] :
       std::initializer_list<std::pair<const char *, uint64_t>>{
           {"control", control.size()},
           {inputName, std::max<uint64_t>(1, all * static_cast<uint64_t>(
                                                       probe->inputWords()))},
           {"sums", strata * sumWords},
           {"output", outputWords}}) {
    Result<Operand> operand = buffer(name, words);
    if (!operand)
      return operand.error();
    operands.push_back(operand.take());
  }
  if (Result<void> ok =
          device.write(operands[0].address, control.data(), 4 * control.size());
      !ok)
    return ok.error();
  if (probe->inputWords() > 0) {
    const bool isThere = inputFormats == probe->inputs &&
                         inputStrata == request.strata && inputCount == count;
    if (!isThere || request.wantsOutput) {
      result.input = makeInputs(*probe, request.strata, count);
      if (Result<void> ok =
              device.write(operands[1].address, result.input.data(),
                           4 * result.input.size());
          !ok)
        return ok.error();
      if (!request.wantsOutput) {
        inputFormats = probe->inputs;
        inputStrata = request.strata;
        inputCount = count;
      }
    }
  }
  LaunchOptions options;
  options.checkRaces = options.checkInit = false;
  options.approximation = request.approximation;
  options.jobs = jobs;
  options.budget = uint64_t(1) << 60;
  const Result<LaunchReport> report = device.launch(*kernel, operands, options);
  if (!report)
    return Error(probe->name + ": " + report.error().text());
  if (!report->ok())
    return Error(probe->name + ": " + report->findings[0].text());
  std::vector<uint32_t> sums(strata * sumWords);
  if (Result<void> ok =
          device.read(operands[2].address, sums.data(), 4 * sums.size());
      !ok)
    return ok.error();
  const bool isMeasured = probe->measure.exists();
  for (size_t p = 0; p < strata; ++p) {
    StratumSums total;
    for (size_t w = 0; w < sumWords; w += 4) {
      const uint32_t *from = &sums[p * sumWords + w];
      total.all += from[0];
      total.hash += isMeasured ? from[1] : from[0];
      total.least = std::min(total.least, static_cast<int32_t>(from[2]));
      total.most = std::max(total.most, static_cast<int32_t>(from[3]));
    }
    result.sums.push_back(total);
  }
  if (request.wantsOutput) {
    result.output.resize(outputWords);
    if (Result<void> ok = device.read(operands[3].address, result.output.data(),
                                      4 * outputWords);
        !ok)
      return ok.error();
  }
  return result;
}
