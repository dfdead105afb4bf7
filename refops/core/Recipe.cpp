//===- Recipe.cpp - Recipes built in memory -------------------------------===//
#include "refops/core/Recipe.h"

#include "refops/core/RecipeChecker.h"

#include <algorithm>

using namespace tandem;

Result<Recipe> tandem::checkRecipe(Recipe recipe, std::string_view file) {
  Messages messages(file);
  DraftRecipe draft;
  draft.recipe = std::move(recipe);
  checkInterface(draft, messages);
  recipe = std::move(draft.recipe);
  if (recipe.outputs.empty() && !recipe.steps.empty() &&
      recipe.steps.size() <= maxSteps && !hasState(recipe))
    messages.add("outputs", "the recipe has no output");
  if (recipe.steps.empty()) {
    messages.add("steps", "expected at least one step");
    return messages.error();
  }
  if (recipe.steps.size() > maxSteps) {
    messages.add("steps", "expected at most " + std::to_string(maxSteps) +
                              " steps, got " +
                              std::to_string(recipe.steps.size()));
    return messages.error();
  }
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    Step &step = recipe.steps[i];
    DraftStep one;
    if (isOp(step.op))
      one.op = &opInfo(step.op);
    else
      messages.add(memberOf(indexed("steps", i), "op"),
                   "no op has the code " +
                       std::to_string(static_cast<int>(step.op)));
    one.args.assign(step.args.begin(), step.args.end());
    one.outs.assign(step.outs.begin(), step.outs.end());
    one.params = std::move(step.params);
    if (!step.results.empty()) {
      one.outShape = step.results[0].shape;
      one.outDtype = step.results[0].dtype;
    }
    draft.steps.push_back(std::move(one));
  }
  draft.recipe = std::move(recipe);
  return finishRecipe(std::move(draft), messages);
}

bool tandem::hasState(const Recipe &recipe) {
  return std::any_of(recipe.inputs.begin(), recipe.inputs.end(),
                     [](const RecipeInput &input) { return input.isState; });
}

std::vector<RecipeOutput> tandem::writtenValues(const Recipe &recipe) {
  std::vector<RecipeOutput> written = recipe.outputs;
  for (const RecipeInput &input : recipe.inputs)
    if (input.isState)
      written.push_back({input.name, input.type});
  return written;
}

Result<Recipe> tandem::singleOpRecipe(Opcode op, std::vector<TensorType> inputs,
                                      Params params,
                                      std::optional<DType> outDtype) {
  const OpInfo &info = opInfo(op);
  const Result<std::vector<TensorType>> results =
      inferResults(info, inputs, params, std::nullopt, outDtype);
  if (!results)
    return results.error();
  const Signature &signature = signatureFor(info, inputs, params);
  const size_t numFormal = inputs.size() - params.numOperands();
  Recipe recipe;
  recipe.name = info.mnemonic;
  Step step;
  step.op = op;
  step.params = std::move(params);
  for (size_t i = 0; i < numFormal; ++i) {
    const size_t last = signature.operands.size() - 1;
    const SignatureOperand &formal = signature.operands[std::min(i, last)];
    std::string name = formal.name;
    if (formal.count == SignatureOperand::Count::OneOrMore)
      name += std::to_string(i - last);
    recipe.inputs.push_back({name, std::move(inputs[i]), formal.isState});
  }
  for (const auto &[name, value] : step.params.values)
    if (std::holds_alternative<OperandParam>(value))
      recipe.inputs.push_back(
          {name, std::move(inputs[recipe.inputs.size()]), false});
  for (size_t i = 0; i < recipe.inputs.size(); ++i)
    step.args.push_back({ValueRef::Kind::Input, static_cast<int>(i)});
  for (size_t k = 0; k < results->size(); ++k) {
    recipe.outputs.push_back({signature.results[k].name, (*results)[k]});
    step.outs.push_back({ValueRef::Kind::Final, static_cast<int>(k)});
  }
  recipe.steps.push_back(std::move(step));
  return checkRecipe(std::move(recipe), info.mnemonic);
}
