//===- Foresight.cpp - What a case would prove ----------------------------===//
#include "harness/gen/Foresight.h"

#include "harness/run/Execution.h"
#include "refops/Evaluate.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::harness;

/// Beyond this the reference costs as much as the rest of a case.
static constexpr int64_t mostElements = 1 << 20;
static constexpr int64_t mostMultiplyAdds = 1 << 24;

/// What an output holds before the reference runs.
static constexpr std::byte poison{0xAA};

Vacuity tandem::harness::foresee(const CaseSpec &spec) {
  if (numElements(spec) > mostElements ||
      numMultiplyAdds(spec) > mostMultiplyAdds)
    return Vacuity::None;
  Result<std::vector<HostTensor>> inputs = makeInputs(spec);
  if (!inputs)
    return Vacuity::None;
  std::vector<View> sources, targets;
  for (HostTensor &input : *inputs)
    sources.push_back(input.view());
  std::vector<HostTensor> outputs(spec.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorDesc desc = spec.outputDesc(i);
    outputs[i].desc = contiguous(desc.dtype, desc.shape);
    outputs[i].bytes.assign(static_cast<size_t>(desc.numElements()) *
                                dtypeSize(desc.dtype),
                            poison);
    targets.push_back(outputs[i].view());
  }
  std::vector<refops::IndexFault> faults;
  refops::EvaluateOptions options;
  options.faults = &faults;
  if (!refops::run(spec.recipe, sources, targets, options))
    return Vacuity::None;
  for (size_t i = 0; i < inputs->size(); ++i)
    if (spec.recipe.inputs[i].isState)
      outputs.push_back(std::move((*inputs)[i]));
  for (const HostTensor &output : outputs) {
    Census census;
    const size_t size = dtypeSize(output.desc.dtype);
    const std::byte *element = output.bytes.data();
    for (int64_t i = 0; i < output.desc.numElements(); ++i, element += size)
      // What the op leaves alone has no verdict.
      if (!std::all_of(element, element + size,
                       [](std::byte b) { return b == poison; }))
        census.add(output.desc.dtype, element);
    const Vacuity found = census.vacuity();
    if (found != Vacuity::None &&
        !(found == Vacuity::NaN && spec.expect == "nan") &&
        !(found == Vacuity::Zero && spec.expect == "zero"))
      return found;
  }
  return Vacuity::None;
}
