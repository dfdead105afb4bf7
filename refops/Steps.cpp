//===- Steps.cpp - Runs the steps of a recipe one after another -----------===//
#include "refops/Steps.h"
#include "refops/Registry.h"

#include <map>

using namespace tandem;
using namespace tandem::refops;

static Result<void> invoke(const RefOp &op, OpCall<double> &call) {
  return op.evaluate(call);
}
static Result<void> invoke(const RefOp &op, OpCall<Bounded> &call) {
  return op.evaluateBounded(call);
}

static Result<StepNumerics> numericsOf(const Contract *contract, int step,
                                       const RefOp &op) {
  const StepContract *found = nullptr;
  if (contract)
    for (const StepContract &candidate : contract->steps)
      if (candidate.step == step)
        found = &candidate;
  if (!found)
    return StepNumerics::exact();
  const std::string place = "contract: steps[" + std::to_string(step) + "]";
  Result<StepNumerics> numerics = StepNumerics::from(*found, place);
  if (!numerics)
    return numerics;
  if (op.multiplies && numerics->dot == StepNumerics::Dot::None)
    return Error(place + ": " + std::string(op.name) + " needs a 'dot'");
  const bool needsDepth = op.reduces || numerics->dot == StepNumerics::Dot::Fma;
  if (needsDepth && !numerics->hasDepth())
    return Error(place + ": " + std::string(op.name) + " needs a 'depth'");
  return numerics;
}

/// For each step, the scratch slots that no later step reads before they are
/// written again.
static std::vector<std::vector<int>> lastReads(const Recipe &recipe) {
  std::vector<std::vector<int>> released(recipe.steps.size());
  std::map<int, bool> isLive; // slot -> is read further on
  for (size_t i = recipe.steps.size(); i-- > 0;) {
    for (const ValueRef &out : recipe.steps[i].outs)
      if (out.kind == ValueRef::Kind::Scratch) {
        if (!isLive[out.index])
          released[i].push_back(out.index);
        isLive[out.index] = false;
      }
    for (const ValueRef &arg : recipe.steps[i].args)
      if (arg.kind == ValueRef::Kind::Scratch && !isLive[arg.index]) {
        released[i].push_back(arg.index);
        isLive[arg.index] = true;
      }
  }
  return released;
}

/// For each input of the recipe, which of its states it is, or -1.
static std::vector<int> stateNumbers(const Recipe &recipe) {
  std::vector<int> numbers;
  int next = 0;
  for (const RecipeInput &input : recipe.inputs)
    numbers.push_back(input.isState ? next++ : -1);
  return numbers;
}

template <typename T>
static Result<void> runAll(OpCall<T> &whole) {
  const Recipe &recipe = *whole.recipe;
  std::vector<TensorDesc> inputs;
  for (const Source &source : whole.in)
    inputs.push_back(source.desc());
  Result<DimBindings> bindings = bindDims(recipe, inputs);
  if (!bindings)
    return bindings.error();

  const std::vector<std::vector<int>> released = lastReads(recipe);
  const std::vector<int> stateOf = stateNumbers(recipe);
  std::map<int, Buffer> scratch;
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    const Step &step = recipe.steps[i];
    const std::string place =
        recipe.name + ": steps[" + std::to_string(i) + "]";
    const RefOp *op = find_op(step.op);
    if (!op || step.op == Opcode::FUSED)
      return Error(place + ".op: " + std::string(opInfo(step.op).name) +
                   " has no reference in a recipe");
    Result<StepNumerics> numerics =
        numericsOf(whole.contract, static_cast<int>(i), *op);
    if (!numerics)
      return Error(recipe.name + ": " + numerics.error().text());

    OpCall<T> call;
    call.params = &step.params;
    call.numerics = &*numerics;
    call.jobs = whole.jobs;
    call.step = static_cast<int>(i);
    call.log = whole.log;
    for (const ValueRef &arg : step.args)
      call.in.push_back(arg.kind == ValueRef::Kind::Input
                            ? whole.in[static_cast<size_t>(arg.index)]
                            : Source(scratch.at(arg.index)));
    const Signature &signature = signatureOf(opInfo(step.op));
    for (size_t j = 0; j < signature.operands.size(); ++j)
      if (signature.operands[j].isState)
        call.state.push_back(whole.state[static_cast<size_t>(
            stateOf[static_cast<size_t>(step.args[j].index)])]);
    // New values first: a step may read the slot that it writes.
    std::vector<Buffer> results(step.outs.size());
    for (size_t o = 0; o < step.outs.size(); ++o) {
      if (step.outs[o].kind == ValueRef::Kind::Final) {
        call.out.push_back(whole.out[static_cast<size_t>(step.outs[o].index)]);
        continue;
      }
      results[o] = Buffer(step.results[o].dtype,
                          bindShape(step.results[o].shape, *bindings), true,
                          std::is_same_v<T, Bounded>);
      call.out.emplace_back(results[o]);
    }
    if (Result<void> done = invoke(*op, call); !done)
      return done;
    for (size_t o = 0; o < step.outs.size(); ++o)
      if (step.outs[o].kind == ValueRef::Kind::Scratch)
        scratch[step.outs[o].index] = std::move(results[o]);
    for (int slot : released[i])
      scratch.erase(slot);
  }
  return {};
}

Result<void> tandem::refops::runSteps(OpCall<double> &call) {
  return runAll(call);
}

Result<void> tandem::refops::runSteps(OpCall<Bounded> &call) {
  return runAll(call);
}
