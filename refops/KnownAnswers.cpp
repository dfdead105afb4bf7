//===- KnownAnswers.cpp - Is the reference right? -------------------------===//
#include "refops/KnownAnswers.h"
#include "refops/Registry.h"
#include "refops/core/Signature.h"

#include <charconv>

using namespace tandem;
using namespace tandem::refops;

HostTensor::HostTensor(DType dtype, const Dims &shape,
                       const std::vector<double> &values)
    : desc(contiguous(dtype, shape)) {
  assert(static_cast<int64_t>(values.size()) == desc.numElements() &&
         "as many values as elements");
  const size_t size = dtypeSize(dtype);
  bytes.resize(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i)
    storeDouble(dtype, values[i], bytes.data() + i * size);
}

HostTensor HostTensor::filled(DType dtype, const Dims &shape, double fill) {
  const int64_t count = contiguous(dtype, shape).numElements();
  return {dtype, shape, std::vector<double>(static_cast<size_t>(count), fill)};
}

double tandem::refops::ulpDistance(DType dtype, double a, double b) {
  if (std::isnan(a) && std::isnan(b))
    return 0;
  if (a == b)
    return std::signbit(a) == std::signbit(b) || !isFloat(dtype) ? 0 : 0.5;
  if (!std::isfinite(a) || !std::isfinite(b))
    return infinity;
  if (!isFloat(dtype))
    return std::fabs(a - b);
  // Known answers are near or wrong: no need to count far.
  const double low = std::min(a, b), high = std::max(a, b);
  double x = low;
  for (int steps = 1; steps <= 1024; ++steps) {
    x = nextUp(dtype, x);
    if (x >= high)
      return steps;
  }
  return infinity;
}

Result<std::vector<HostTensor>>
tandem::refops::runKnownAnswer(const RefOp &op, const KnownAnswer &answer) {
  std::vector<HostTensor> inputs, outputs;
  for (const KnownTensor &input : answer.inputs)
    inputs.emplace_back(input);
  const Signature &signature = signatureOf(opInfo(op.code));
  for (size_t o = 0; o < signature.results.size(); ++o)
    outputs.push_back(HostTensor::filled(answer.expected[o].dtype,
                                         answer.expected[o].shape, untouched));
  FaultLog log;
  const StepNumerics numerics = StepNumerics::exact();
  OpCall<double> call;
  for (HostTensor &input : inputs)
    call.in.emplace_back(input.view());
  for (HostTensor &output : outputs)
    call.out.emplace_back(output.view());
  std::vector<size_t> states;
  for (size_t i = 0; i < signature.operands.size(); ++i)
    if (signature.operands[i].isState) {
      states.push_back(i);
      call.state.emplace_back(inputs[i].view());
    }
  call.params = &answer.params;
  call.numerics = &numerics;
  call.log = &log;
  if (Result<void> done = op.evaluate(call); !done)
    return done.error();
  for (size_t i : states)
    outputs.push_back(std::move(inputs[i]));
  return outputs;
}

/// The shortest text that reads back as \p x.
static std::string numberText(double x) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, x);
  return {text, end.ptr};
}

static std::optional<std::string> firstMistake(const RefOp &op,
                                               const KnownAnswer &answer) {
  const std::string place =
      std::string(op.name) + ": known answer '" + answer.name + "': ";
  Result<std::vector<HostTensor>> outputs = runKnownAnswer(op, answer);
  if (!outputs)
    return place + outputs.error().text();
  for (size_t o = 0; o < outputs->size(); ++o) {
    const KnownTensor &expected = answer.expected[o];
    for (size_t i = 0; i < expected.values.size(); ++i) {
      const double want = roundedTo(expected.dtype, expected.values[i]);
      const double got = (*outputs)[o].at(static_cast<int64_t>(i));
      if (ulpDistance(expected.dtype, got, want) <= answer.maxUlp)
        continue;
      return place + "output " + std::to_string(o) + " element " +
             std::to_string(i) + " is " + numberText(got) + ", expected " +
             numberText(want) + " (" + answer.from.how + ")";
    }
  }
  return std::nullopt;
}

Result<void> tandem::refops::checkKnownAnswers(const RefOp &op) {
  std::vector<std::string> mistakes;
  for (const KnownAnswer &answer : op.knownAnswers)
    if (std::optional<std::string> mistake = firstMistake(op, answer))
      mistakes.push_back(*mistake);
  if (mistakes.empty())
    return {};
  return Error(std::move(mistakes));
}
