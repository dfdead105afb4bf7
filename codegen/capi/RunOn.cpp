//===- RunOn.cpp - One call on host memory --------------------------------===//
#include "codegen/capi/RunOn.h"

#include "codegen/capi/Staging.h"
#include "codegen/device/OpenDevice.h"

using namespace tandem;
using namespace tandem::capi;

Error capi::problemsOf(const LaunchReport &report) {
  Error error;
  for (const Finding &finding : report.findings)
    error.messages.push_back(finding.text());
  for (const IndexError &index : report.indexErrors)
    error.messages.push_back("steps[" + std::to_string(index.step) + "]: row " +
                             std::to_string(index.row) +
                             " has an index outside its table");
  return error;
}

Result<Ran> capi::runOn(Device &device, const Recipe &recipe,
                        const Options &options, const std::vector<View> &inputs,
                        const std::vector<View> &outputs,
                        tandem_status &status) {
  status = TANDEM_INVALID;
  if (inputs.size() != recipe.inputs.size() ||
      outputs.size() != recipe.outputs.size())
    return Error(recipe.name + ": takes " +
                 std::to_string(recipe.inputs.size()) + " inputs and gives " +
                 std::to_string(recipe.outputs.size()) + " outputs, got " +
                 std::to_string(inputs.size()) + " and " +
                 std::to_string(outputs.size()));
  Staging staging(device);
  std::vector<Operand> in, out;
  // Checked on the host's own addresses first: overlaps are the caller's.
  for (const View &view : inputs)
    in.push_back({view.desc, reinterpret_cast<uint64_t>(view.data)});
  for (const View &view : outputs)
    out.push_back({view.desc, reinterpret_cast<uint64_t>(view.data)});
  if (auto dims = checkCall(recipe, in, out); !dims)
    return dims.error();

  status = TANDEM_FAILED;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto operand = staging.addInput(inputs[i], recipe.inputs[i].name);
    if (!operand)
      return operand.error();
    in[i] = *operand;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto operand = staging.addOutput(outputs[i], recipe.outputs[i].name);
    if (!operand)
      return operand.error();
    out[i] = *operand;
  }
  CompileOptions compileOptions = options.compile;
  if (!options.hasTarget)
    compileOptions.target = bestTarget(device);
  Ran ran;
  auto program = compile(recipe, in, out, compileOptions);
  if (!program)
    return program.error();
  ran.program = program.take();
  auto report = runProgram(device, *ran.program, in, out, LaunchOptions());
  if (!report)
    return report.error();
  ran.report = report.take();
  if (!ran.report.ok())
    return ran;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (auto r = staging.copyBack(out[i], outputs[i]); !r)
      return r.error();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (recipe.inputs[i].isState)
      if (auto r = staging.copyBack(in[i], inputs[i]); !r)
        return r.error();
  return ran;
}
