//===- Execution.cpp - One launch of a case -------------------------------===//
#include "harness/run/Execution.h"

#include "harness/compare/License.h"
#include "harness/gen/Values.h"
#include "harness/run/Buffer.h"

#include <cstring>

using namespace tandem;
using namespace tandem::harness;

/// Copies the element that a repeated dim shows everywhere to all its places.
static void repeatElements(const Dims &strides, HostTensor &tensor) {
  const size_t size = dtypeSize(tensor.desc.dtype);
  const Dims &dense = tensor.desc.strides;
  Dims index(tensor.desc.rank(), 0);
  const int64_t count = tensor.desc.numElements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t source = 0;
    for (size_t d = 0; d < index.size(); ++d)
      source += strides[d] == 0 ? 0 : index[d] * dense[d];
    if (source != i)
      std::memcpy(tensor.bytes.data() + i * int64_t(size),
                  tensor.bytes.data() + source * int64_t(size), size);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.desc.shape[d])
        break;
      index[d] = 0;
    }
  }
}

Result<std::vector<HostTensor>>
tandem::harness::makeInputs(const CaseSpec &spec) {
  std::vector<HostTensor> inputs(spec.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorDesc desc = spec.inputDesc(i);
    inputs[i].desc = contiguous(desc.dtype, desc.shape);
    inputs[i].bytes.resize(static_cast<size_t>(desc.numElements()) *
                           dtypeSize(desc.dtype));
    if (Result<void> ok = fillValues(spec.inputs[i].values, inputs[i].view());
        !ok)
      return ok.error();
    for (size_t d = 0; d < desc.rank(); ++d)
      if (desc.strides[d] == 0 && desc.shape[d] > 1) {
        repeatElements(desc.strides, inputs[i]);
        break;
      }
  }
  return inputs;
}

static Failure failure(const CaseSpec &spec, std::string stage,
                       std::string kind, std::string message) {
  Failure result{
      {std::move(stage), std::move(kind), {}}, std::move(message), ""};
  for (const Step &step : spec.recipe.steps)
    result.what.ops.insert(std::string(opInfo(step.op).mnemonic));
  return result;
}

Execution tandem::harness::execute(const CaseSpec &spec,
                                   const std::vector<HostTensor> &inputs,
                                   const Engine &engine, Device &device,
                                   uint8_t fill, uint64_t scheduleSeed) {
  Execution result;
  std::vector<Buffer> inputBuffers, outputBuffers;
  std::vector<Operand> inputOperands, outputOperands;
  auto deviceError = [&](const Error &error) {
    result.failure = failure(spec, "device", "memory", error.text());
    return std::move(result);
  };
  Buffer::Options place;
  place.fill = fill;
  place.guardBands = spec.environment.guardBands || device.kind() == "cuda";
  inputBuffers.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    place.offset = spec.inputs[i].layout.offset;
    Result<Buffer> buffer = Buffer::make(device, spec.recipe.inputs[i].name,
                                         spec.inputDesc(i), place);
    if (!buffer)
      return deviceError(buffer.error());
    inputBuffers.push_back(buffer.take());
    if (Result<void> ok = inputBuffers.back().writeElements(inputs[i].bytes);
        !ok)
      return deviceError(ok.error());
    inputOperands.push_back(inputBuffers.back().operand());
  }
  outputBuffers.reserve(spec.outputs.size());
  std::vector<Buffer *> targets;
  std::vector<bool> isOverwritten(inputs.size());
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    if (spec.outputs[i].aliasOf >= 0) {
      const auto shared = static_cast<size_t>(spec.outputs[i].aliasOf);
      isOverwritten[shared] = true;
      targets.push_back(&inputBuffers[shared]);
      outputOperands.push_back(inputOperands[shared]);
      continue;
    }
    place.offset = spec.outputs[i].layout.offset;
    Result<Buffer> buffer = Buffer::make(device, spec.recipe.outputs[i].name,
                                         spec.outputDesc(i), place);
    if (!buffer)
      return deviceError(buffer.error());
    outputBuffers.push_back(buffer.take());
    targets.push_back(&outputBuffers.back());
    outputOperands.push_back(targets.back()->operand());
  }
  if (Result<DimBindings> ok =
          checkCall(spec.recipe, inputOperands, outputOperands);
      !ok) {
    result.skipped = "refused call: " + ok.error().text();
    return result;
  }

  CompileOptions compileOptions;
  compileOptions.target = spec.target;
  compileOptions.fuse = spec.fuse;
  compileOptions.set = spec.set;
  Result<std::shared_ptr<const Program>> program = engine.compile(
      spec.recipe, inputOperands, outputOperands, compileOptions);
  if (!program && !spec.set.empty() &&
      program.error().text().find("set: ") != std::string::npos) {
    result.skipped = "refused schedule: " + program.error().text();
    return result;
  }
  if (!program) {
    result.failure = failure(spec, "compile", "error", program.error().text());
    return result;
  }
  result.program = program.take();
  if (Result<void> licensed =
          checkLicense(engine.contractOf(*result.program), spec.recipe);
      !licensed) {
    result.failure =
        failure(spec, "contract", "unlicensed", licensed.error().text());
    return result;
  }

  LaunchOptions launch;
  launch.scheduleSeed = scheduleSeed;
  launch.approximation = spec.environment.approximation;
  Result<LaunchReport> report = engine.run(
      device, *result.program, inputOperands, outputOperands, launch);
  if (!report) {
    result.failure = failure(spec, "launch", "refused", report.error().text());
    return result;
  }
  result.report = report.take();
  if (!result.report.ok()) {
    const Finding &first = result.report.findings.front();
    result.failure = failure(
        spec, "check", first.kind,
        first.kernel + ":" + std::to_string(first.ptxLine) + ": " +
            first.message +
            (first.allocation.empty() ? "" : " (" + first.allocation + ")"));
    return result;
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    Result<std::vector<std::byte>> elements = targets[i]->readElements();
    if (!elements)
      return deviceError(elements.error());
    // What is written over an input shows no poison where it stays untouched.
    result.untouched.push_back(spec.outputs[i].aliasOf >= 0
                                   ? std::vector<uint8_t>()
                                   : targets[i]->untouched(*elements));
    result.outputs.push_back(elements.take());
    if (targets[i]->damage()) {
      result.failure = failure(spec, "guard", "overrun", *targets[i]->damage());
      return result;
    }
  }
  for (size_t i = 0; i < inputBuffers.size(); ++i) {
    Result<std::vector<std::byte>> elements = inputBuffers[i].readElements();
    if (!elements)
      return deviceError(elements.error());
    if (inputBuffers[i].damage()) {
      result.failure =
          failure(spec, "guard", "overrun", *inputBuffers[i].damage());
      return result;
    }
    if (!spec.recipe.inputs[i].isState && !isOverwritten[i] &&
        *elements != inputs[i].bytes) {
      result.failure = failure(spec, "guard", "input-changed",
                               spec.recipe.inputs[i].name +
                                   ": the kernel wrote to its input");
      return result;
    }
    if (spec.recipe.inputs[i].isState) {
      result.untouched.emplace_back(
          static_cast<size_t>(inputs[i].desc.numElements()));
      result.outputs.push_back(elements.take());
    }
  }
  return result;
}
