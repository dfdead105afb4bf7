//===- Devices.cpp - Running and checking in C ----------------------------===//
#include "codegen/capi/Objects.h"
#include "codegen/capi/RunOn.h"
#include "codegen/capi/Staging.h"

#include "codegen/device/OpenDevice.h"
#include "harness/compare/Compare.h"
#include "harness/compare/License.h"
#include "harness/compare/RulesOf.h"
#include "refops/Evaluate.h"

using namespace tandem;
using namespace tandem::capi;
using nlohmann::json;

namespace {

json reportJson(const LaunchReport &report) {
  json findings = json::array();
  for (const Finding &f : report.findings)
    findings.push_back({{"kind", f.kind},
                        {"message", f.message},
                        {"kernel", f.kernel},
                        {"ptx_line", f.ptxLine},
                        {"source", f.source},
                        {"address", f.address},
                        {"block", f.block},
                        {"thread", f.thread},
                        {"allocation", f.allocation},
                        {"other", f.other},
                        {"text", f.text()}});
  json errors = json::array();
  for (const IndexError &error : report.indexErrors)
    errors.push_back({{"step", error.step}, {"row", error.row}});
  return {{"findings", findings},
          {"index_errors", errors},
          {"thread_instructions", report.threadInstructions}};
}

/// A host tensor of its own.
struct Owned {
  TensorDesc desc;
  std::vector<std::byte> bytes;
  View view() { return {desc, bytes.data()}; }
};

Owned ownedLike(const TensorDesc &desc) {
  return {desc, std::vector<std::byte>(static_cast<size_t>(desc.extent()) *
                                       dtypeSize(desc.dtype))};
}

json comparisonJson(const std::string &name,
                    const harness::Comparison &comparison) {
  const harness::Receipt &receipt = comparison.receipt;
  json j = {{"name", name},
            {"elements", receipt.elements},
            {"unchecked", receipt.unchecked},
            {"wrong", comparison.numWrong},
            {"ratio", receipt.ratio},
            {"worst", receipt.worst},
            {"got", receipt.got},
            {"expected", receipt.expected},
            {"bound", receipt.bound}};
  if (comparison.failure)
    j["failure"] = comparison.failure->message;
  return j;
}

/// Compares all outputs with the reference under the program's contract.
Result<json> compareAll(const Recipe &recipe, const Ran &ran,
                        const std::vector<View> &inputs,
                        std::vector<Owned> &outputs) {
  const Contract contract = ran.program->contract();
  // Else a kernel could promise itself a wider bound.
  if (auto licensed = harness::checkLicense(contract, recipe); !licensed)
    return licensed.error();
  auto expected = refops::evaluate(recipe, inputs, contract);
  if (!expected)
    return expected.error();
  json results = json::array();
  bool failed = false;
  int64_t elements = 0, unchecked = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string &name = recipe.outputs[i].name;
    auto rules =
        harness::rulesOf(recipe, inputs, (*expected)[i].desc,
                         [](const Recipe &recipe, const std::vector<View> &in,
                            const std::vector<View> &out) {
                           return refops::run(recipe, in, out);
                         });
    if (!rules)
      return rules.error();
    harness::Comparison comparison = harness::compareOutput(
        name, (*expected)[i], outputs[i].bytes, /*untouched=*/{}, *rules);
    failed |= comparison.failure.has_value();
    elements += comparison.receipt.elements;
    unchecked += comparison.receipt.unchecked;
    results.push_back(comparisonJson(name, comparison));
  }
  const char *verdict = failed                     ? "failed"
                        : unchecked * 2 > elements ? "unchecked"
                                                   : "passed";
  return json{{"verdict", verdict}, {"outputs", results}};
}

} // namespace

extern "C" {

tandem_status tandem_device_open(const char *name, tandem_device **device,
                                 char **error) {
  return guarded(error, [&] {
    auto opened = openDevice(name);
    if (!opened) {
      bool known = std::string_view(name).starts_with("cuda");
      return fail(known ? TANDEM_FAILED : TANDEM_UNKNOWN, opened.error(),
                  error);
    }
    *device = new tandem_device{opened.take(), {}};
    return TANDEM_OK;
  });
}

void tandem_device_close(tandem_device *device) { delete device; }

char *tandem_device_describe(const tandem_device *device) {
  DeviceInfo info = device->device->info();
  return giveJson(json{{"kind", device->device->kind()},
                       {"name", info.name},
                       {"target", info.target},
                       {"driver", info.driver},
                       {"facts", info.facts}});
}

tandem_status tandem_run(tandem_device *device, const tandem_recipe *recipe,
                         const char *text, const tandem_view *inputs,
                         size_t numInputs, const tandem_view *outputs,
                         size_t numOutputs, char **report, char **error) {
  return guarded(error, [&] {
    auto options = optionsFrom(text);
    if (!options)
      return fail(TANDEM_INVALID, options.error(), error);
    auto in = viewsFrom(inputs, numInputs, "inputs");
    if (!in)
      return fail(TANDEM_INVALID, in.error(), error);
    auto out = viewsFrom(outputs, numOutputs, "outputs");
    if (!out)
      return fail(TANDEM_INVALID, out.error(), error);
    tandem_status status = TANDEM_OK;
    const std::scoped_lock lock(device->mutex);
    auto ran =
        runOn(*device->device, recipe->recipe, *options, *in, *out, status);
    if (!ran)
      return fail(status, ran.error(), error);
    if (report)
      *report = giveJson(reportJson(ran->report));
    Error problems = problemsOf(ran->report);
    if (problems.messages.empty())
      return TANDEM_OK;
    // Only indices: the caller's data is wrong, not the kernel.
    return fail(ran->report.ok() ? TANDEM_INVALID : TANDEM_FAILED, problems,
                error);
  });
}

tandem_status tandem_evaluate(const tandem_recipe *recipe,
                              const tandem_view *inputs, size_t numInputs,
                              const tandem_view *outputs, size_t numOutputs,
                              char **error) {
  return guarded(error, [&] {
    auto in = viewsFrom(inputs, numInputs, "inputs");
    if (!in)
      return fail(TANDEM_INVALID, in.error(), error);
    auto out = viewsFrom(outputs, numOutputs, "outputs");
    if (!out)
      return fail(TANDEM_INVALID, out.error(), error);
    if (auto r = refops::run(recipe->recipe, *in, *out); !r)
      return fail(TANDEM_INVALID, r.error(), error);
    return TANDEM_OK;
  });
}

tandem_status tandem_check(tandem_device *device, const tandem_recipe *handle,
                           const char *text, const tandem_view *inputs,
                           size_t numInputs, char **report, char **error) {
  return guarded(error, [&] {
    const Recipe &recipe = handle->recipe;
    auto options = optionsFrom(text);
    if (!options)
      return fail(TANDEM_INVALID, options.error(), error);
    auto in = viewsFrom(inputs, numInputs, "inputs");
    if (!in)
      return fail(TANDEM_INVALID, in.error(), error);
    auto dims = bindDims(recipe, descsOf(*in));
    if (!dims)
      return fail(TANDEM_INVALID, dims.error(), error);
    // The kernel works on copies of the states, the reference on the originals.
    std::vector<Owned> states, outputs;
    std::vector<View> kernelInputs = *in;
    states.reserve(in->size());
    for (size_t i = 0; i < in->size(); ++i)
      if (recipe.inputs[i].isState) {
        states.push_back(ownedLike((*in)[i].desc));
        std::copy_n((*in)[i].data, states.back().bytes.size(),
                    states.back().bytes.data());
        kernelInputs[i] = states.back().view();
      }
    std::vector<View> outputViews;
    for (const RecipeOutput &output : recipe.outputs)
      outputs.push_back(ownedLike(
          contiguous(output.type.dtype, bindShape(output.type.shape, *dims))));
    for (Owned &output : outputs)
      outputViews.push_back(output.view());

    tandem_status status = TANDEM_OK;
    const std::scoped_lock lock(device->mutex);
    auto ran = runOn(*device->device, recipe, *options, kernelInputs,
                     outputViews, status);
    if (!ran)
      return fail(status, ran.error(), error);
    Error problems = problemsOf(ran->report);
    json result;
    if (!problems.messages.empty()) {
      result = {{"verdict", "failed"}, {"outputs", json::array()}};
    } else {
      auto compared = compareAll(recipe, *ran, *in, outputs);
      if (!compared)
        return fail(TANDEM_INVALID, compared.error(), error);
      result = compared.take();
    }
    result["findings"] = problems.messages;
    result["explanation"] = ran->program->explanation;
    *report = giveJson(result);
    return TANDEM_OK;
  });
}

} // extern "C"
