//===- RulesOf.cpp - What a recipe decides beyond values ------------------===//
#include "harness/compare/RulesOf.h"

using namespace tandem;
using namespace tandem::harness;

/// Whether every step moves bits or is one f32 operation, so that even the sign
/// of a zero is decided; where factors round, a zero may have either.
static bool isBitExact(const Recipe &recipe) {
  for (const Step &step : recipe.steps)
    switch (step.op) {
    case Opcode::COPY:
    case Opcode::EMBED:
    case Opcode::ADD:
    case Opcode::MUL:
    case Opcode::ALLREDUCE_SHARD:
    case Opcode::KV_APPEND:
      break;
    default:
      return false;
    }
  return true;
}

/// Whether the recipe is one step that moves elements of one type; the source
/// of the elements is the step's last operand.
static bool isMove(const Recipe &recipe) {
  if (recipe.steps.size() != 1)
    return false;
  const Step &step = recipe.steps.front();
  if (step.op != Opcode::COPY && step.op != Opcode::EMBED)
    return false;
  const auto source = static_cast<size_t>(step.args.back().index);
  return recipe.inputs[source].type.dtype == step.results[0].dtype;
}

Result<CompareRules>
tandem::harness::rulesOf(const Recipe &recipe, const std::vector<View> &inputs,
                         const TensorDesc &desc,
                         const RunReference &runReference) {
  CompareRules rules;
  rules.signOfZero = isBitExact(recipe);
  if (!runReference || !isMove(recipe))
    return rules;
  rules.bytes.resize(static_cast<size_t>(desc.numElements()) *
                     dtypeSize(desc.dtype));
  if (auto ok = runReference(recipe, inputs, {View{desc, rules.bytes.data()}});
      !ok)
    return ok.error();
  rules.nanPayload = recipe.steps[0].op == Opcode::COPY;
  return rules;
}
