//===- RecipeCall.cpp - Checks of a call with actual tensors --------------===//
#include "refops/core/JsonText.h"
#include "refops/core/Overlap.h"
#include "refops/core/Recipe.h"
#include "refops/core/Spelling.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <cassert>

using namespace tandem;

static std::string inputPlace(const Recipe &recipe, size_t i) {
  return "input " + quote(recipe.inputs[i].name);
}

static std::string outputPlace(const Recipe &recipe, size_t i) {
  return "output " + quote(recipe.outputs[i].name);
}

std::string tandem::problemOfView(const TensorDesc &desc) {
  if (desc.strides.size() != desc.shape.size())
    return "expected one stride a dim, got " + desc.describe();
  TensorType type;
  type.dtype = desc.dtype;
  for (int64_t size : desc.shape)
    type.shape.emplace_back(size);
  if (std::string problem = problemOfShape(type); !problem.empty())
    return problem;
  if (desc.dtype == DType::I4)
    return "int4 is not a tensor's dtype";
  __int128 extent = 1;
  for (size_t d = 0; d < desc.rank(); ++d) {
    if (desc.strides[d] < 0)
      return "stride " + std::to_string(desc.strides[d]) + " is negative";
    if (desc.shape[d] > 1)
      extent += static_cast<__int128>(desc.shape[d] - 1) * desc.strides[d];
    if (extent > maxDim / 8)
      return "it spans more than 2^59 elements: " + desc.describe();
  }
  return {};
}

/// Reports what \p desc cannot be whatever the recipe says; true if nothing.
static bool checkDesc(const TensorDesc &desc, const std::string &place,
                      Messages &messages) {
  const std::string problem = problemOfView(desc);
  if (!problem.empty())
    messages.add(place, problem);
  return problem.empty();
}

static bool checkRank(const TensorType &expected, const TensorDesc &actual,
                      const std::string &place, Messages &messages) {
  if (actual.dtype == expected.dtype && actual.rank() == expected.shape.size())
    return true;
  messages.add(place, "expected " + expected.describe() + ", got " +
                          actual.describe());
  return false;
}

static void bindInput(const Recipe &recipe, size_t i, const TensorDesc &actual,
                      DimBindings &bindings, Messages &messages) {
  const TensorType &expected = recipe.inputs[i].type;
  const std::string place = inputPlace(recipe, i);
  if (!checkDesc(actual, place, messages) ||
      !checkRank(expected, actual, place, messages))
    return;
  for (size_t d = 0; d < actual.rank(); ++d) {
    const Dim &dim = expected.shape[d];
    int64_t size;
    if (dim.isSymbol()) {
      size = bindings.try_emplace(dim.symbol(), actual.shape[d]).first->second;
      if (size == actual.shape[d])
        continue;
      messages.add(place, "dim " + std::to_string(d) + ": expected " +
                              dim.symbol() + " = " + std::to_string(size) +
                              " as in an earlier dim, got " +
                              std::to_string(actual.shape[d]));
    } else if (dim.size() != actual.shape[d]) {
      messages.add(place, "dim " + std::to_string(d) + ": expected " +
                              dim.text() + ", got " +
                              std::to_string(actual.shape[d]));
    }
  }
}

static TensorType bindType(const TensorType &type,
                           const DimBindings &bindings) {
  TensorType bound;
  bound.dtype = type.dtype;
  for (int64_t size : bindShape(type.shape, bindings))
    bound.shape.emplace_back(size);
  return bound;
}

/// Infers the types of the steps again with every dim known: windows, repeated
/// sizes and refused zeros depend on them.
static void checkSteps(const Recipe &recipe, const DimBindings &bindings,
                       Messages &messages) {
  std::map<int, TensorType> scratch;
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    const Step &step = recipe.steps[i];
    std::vector<TensorType> operands;
    for (const ValueRef &arg : step.args) {
      const size_t index = static_cast<size_t>(arg.index);
      operands.push_back(arg.kind == ValueRef::Kind::Input
                             ? bindType(recipe.inputs[index].type, bindings)
                             : scratch.at(arg.index));
    }
    std::optional<DType> dtype;
    std::optional<std::vector<Dim>> shape;
    if (!step.results.empty()) {
      dtype = step.results[0].dtype;
      shape = bindType(step.results[0], bindings).shape;
    }
    const Result<std::vector<TensorType>> results =
        inferResults(opInfo(step.op), operands, step.params, shape, dtype);
    if (!results)
      for (const std::string &message : results.error().messages)
        messages.add(indexed("steps", i), message);
    for (size_t k = 0; k < step.outs.size(); ++k)
      if (step.outs[k].kind == ValueRef::Kind::Scratch)
        scratch[step.outs[k].index] = bindType(step.results[k], bindings);
  }
}

static bool hasSymbols(const Recipe &recipe) {
  for (const RecipeInput &input : recipe.inputs)
    for (const Dim &dim : input.type.shape)
      if (dim.isSymbol())
        return true;
  return false;
}

static DimBindings bindInputs(const Recipe &recipe,
                              const std::vector<const TensorDesc *> &inputs,
                              Messages &messages) {
  DimBindings bindings;
  if (inputs.size() != recipe.inputs.size()) {
    messages.add("", "takes " + std::to_string(recipe.inputs.size()) +
                         " inputs, got " + std::to_string(inputs.size()));
    return bindings;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    bindInput(recipe, i, *inputs[i], bindings, messages);
  if (messages.empty() && hasSymbols(recipe))
    checkSteps(recipe, bindings, messages);
  return bindings;
}

Result<DimBindings> tandem::bindDims(const Recipe &recipe,
                                     const std::vector<TensorDesc> &inputs) {
  Messages messages(recipe.name);
  std::vector<const TensorDesc *> descs;
  for (const TensorDesc &desc : inputs)
    descs.push_back(&desc);
  DimBindings bindings = bindInputs(recipe, descs, messages);
  if (!messages.empty())
    return messages.error();
  return bindings;
}

Dims tandem::bindShape(const std::vector<Dim> &shape,
                       const DimBindings &bindings) {
  Dims bound;
  bound.reserve(shape.size());
  for (const Dim &dim : shape) {
    if (!dim.isSymbol()) {
      bound.push_back(dim.size());
      continue;
    }
    const auto value = bindings.find(dim.symbol());
    assert(value != bindings.end() && "every symbol is bound by an input");
    bound.push_back(value->second);
  }
  return bound;
}

/// Whether the op reads each element, or each row, where it writes it.
static bool readsWhereItWrites(Opcode op) {
  switch (op) {
  case Opcode::COPY:
  case Opcode::ADD:
  case Opcode::MUL:
  case Opcode::GELU:
  case Opcode::SILU_MUL:
  case Opcode::SOFTMAX:
  case Opcode::RMSNORM:
  case Opcode::LAYERNORM:
  case Opcode::ALLREDUCE_SHARD:
  case Opcode::SAMPLE_ARGMAX:
  case Opcode::MAP:
    return true;
  default:
    return false;
  }
}

/// Whether a kernel may write output \p k over input \p i in place: nothing
/// reads the input after the output is written, and what reads it reads each
/// element, or each row, where it writes. A matmul or a gather would read
/// elements that another thread has overwritten.
static bool mayAlias(const Recipe &recipe, size_t k, size_t i) {
  size_t writer = 0;
  for (size_t s = 0; s < recipe.steps.size(); ++s)
    for (const ValueRef &out : recipe.steps[s].outs)
      if (out == ValueRef{ValueRef::Kind::Final, static_cast<int>(k)})
        writer = s;
  const ValueRef input = {ValueRef::Kind::Input, static_cast<int>(i)};
  for (size_t s = 0; s < recipe.steps.size(); ++s) {
    const Step &step = recipe.steps[s];
    if (std::find(step.args.begin(), step.args.end(), input) == step.args.end())
      continue;
    if (s > writer || !readsWhereItWrites(step.op))
      return false;
    // A broadcast operand is read for elements elsewhere.
    for (const TensorType &result : step.results)
      if (result.shape != recipe.inputs[i].type.shape)
        return false;
  }
  return true;
}

namespace {
class CallChecker {
public:
  CallChecker(const Recipe &recipe, const std::vector<Operand> &inputs,
              const std::vector<Operand> &outputs, Messages &messages)
      : recipe(recipe), inputs(inputs), outputs(outputs), messages(messages) {}

  DimBindings run() {
    std::vector<const TensorDesc *> descs;
    for (const Operand &input : inputs)
      descs.push_back(&input.desc);
    DimBindings bindings = bindInputs(recipe, descs, messages);
    if (outputs.size() != recipe.outputs.size())
      messages.add("", "gives " + std::to_string(recipe.outputs.size()) +
                           " outputs, got " + std::to_string(outputs.size()));
    // Everything below needs the shapes.
    if (!messages.empty())
      return bindings;
    for (size_t k = 0; k < outputs.size(); ++k)
      checkOutput(k, bindings);
    for (size_t i = 0; i < inputs.size(); ++i)
      checkInput(i);
    if (messages.empty())
      checkOverlaps();
    return bindings;
  }

private:
  void checkAddress(const Operand &operand, const std::string &place) {
    const uint64_t size = dtypeSize(operand.desc.dtype);
    if (operand.address % size != 0)
      messages.add(place, "address " + std::to_string(operand.address) +
                              " is not a multiple of the element size " +
                              std::to_string(size));
    const uint64_t bytes = static_cast<uint64_t>(operand.desc.extent()) * size;
    if (operand.address + bytes < operand.address)
      messages.add(place, "it runs past the end of the address space");
  }

  /// What is written must have one place for each element.
  void checkWritten(const Operand &operand, const std::string &place) {
    switch (overlapsItself(operand.desc)) {
    case Overlap::No:
      return;
    case Overlap::Yes:
      return messages.add(place, "two elements share an address: " +
                                     operand.desc.describe());
    case Overlap::Unknown:
      return messages.add(place, "cannot tell whether two elements share an "
                                 "address: " +
                                     operand.desc.describe());
    }
  }

  void checkInput(size_t i) {
    checkAddress(inputs[i], inputPlace(recipe, i));
    if (recipe.inputs[i].isState)
      checkWritten(inputs[i], inputPlace(recipe, i));
  }

  void checkOutput(size_t k, const DimBindings &bindings) {
    const TensorDesc &actual = outputs[k].desc;
    const std::string place = outputPlace(recipe, k);
    const TensorType expected = bindType(recipe.outputs[k].type, bindings);
    if (!checkDesc(actual, place, messages) ||
        !checkRank(expected, actual, place, messages))
      return;
    for (size_t d = 0; d < actual.rank(); ++d)
      if (expected.shape[d].size() != actual.shape[d])
        messages.add(place, "dim " + std::to_string(d) + ": expected " +
                                expected.shape[d].text() + ", got " +
                                std::to_string(actual.shape[d]));
    checkAddress(outputs[k], place);
    checkWritten(outputs[k], place);
  }

  void refuseOverlap(const Operand &a, const std::string &placeA,
                     const Operand &b, const std::string &placeB) {
    const Overlap found = overlaps(a, b);
    if (found == Overlap::No)
      return;
    messages.add(placeA,
                 (found == Overlap::Yes ? "it overlaps "
                                        : "cannot tell whether it overlaps ") +
                     placeB);
  }

  void checkOverlaps() {
    for (size_t k = 0; k < outputs.size(); ++k) {
      const std::string place = outputPlace(recipe, k);
      for (size_t other = 0; other < k; ++other)
        refuseOverlap(outputs[k], place, outputs[other],
                      outputPlace(recipe, other));
      for (size_t i = 0; i < inputs.size(); ++i) {
        const bool isSame = outputs[k].address == inputs[i].address &&
                            outputs[k].desc == inputs[i].desc;
        if (!isSame || recipe.inputs[i].isState)
          refuseOverlap(outputs[k], place, inputs[i], inputPlace(recipe, i));
        else if (outputs[k].desc.numElements() && !mayAlias(recipe, k, i))
          messages.add(place, "it is written over " + inputPlace(recipe, i) +
                                  ", which is still read elsewhere");
      }
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t other = 0; other < inputs.size(); ++other)
        if (recipe.inputs[i].isState && i != other &&
            !(recipe.inputs[other].isState && other > i))
          refuseOverlap(inputs[i], inputPlace(recipe, i), inputs[other],
                        inputPlace(recipe, other));
  }

  const Recipe &recipe;
  const std::vector<Operand> &inputs;
  const std::vector<Operand> &outputs;
  Messages &messages;
};
} // namespace

Result<DimBindings> tandem::checkCall(const Recipe &recipe,
                                      const std::vector<Operand> &inputs,
                                      const std::vector<Operand> &outputs) {
  Messages messages(recipe.name);
  DimBindings bindings = CallChecker(recipe, inputs, outputs, messages).run();
  if (!messages.empty())
    return messages.error();
  return bindings;
}
