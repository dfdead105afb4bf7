//===- RecipeChecker.cpp - The checks of a recipe's steps -----------------===//
#include "refops/core/RecipeChecker.h"

#include "refops/core/Spelling.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

using namespace tandem;

/// False if the type is bad.
static bool checkNamed(const std::string &name, const TensorType &type,
                       const std::string &place, std::set<std::string> &names,
                       Messages &messages) {
  if (!isIdentifier(name))
    messages.add(
        memberOf(place, "name"),
        "expected a letter or '_', then letters, digits and '_', got " +
            quote(name));
  else if (!names.insert(name).second)
    messages.add(memberOf(place, "name"),
                 "the name " + quote(name) + " is given twice");
  const size_t before = messages.size();
  if (const std::string problem = problemOfShape(type); !problem.empty())
    messages.add(memberOf(place, "shape"), problem);
  for (const Dim &dim : type.shape)
    if (dim.isSymbol() && !isIdentifier(dim.symbol()))
      messages.add(memberOf(place, "shape"),
                   "a dim is a number or a name, got " + quote(dim.symbol()));
  if (type.dtype == DType::I4)
    messages.add(memberOf(place, "dtype"),
                 "int4 is a 'qdtype' of packed weights, not a tensor's dtype");
  return messages.size() == before;
}

void tandem::checkInterface(DraftRecipe &draft, Messages &messages) {
  const Recipe &recipe = draft.recipe;
  const auto isNameChar = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '-' || c == '.';
  };
  if (recipe.name.empty() || recipe.name.size() > 128 ||
      !std::all_of(recipe.name.begin(), recipe.name.end(), isNameChar))
    messages.add("name", "expected 1 to 128 letters, digits, '_', '-' and "
                         "'.', got " +
                             quote(recipe.name));
  std::set<std::string> names;
  draft.inputIsBad.resize(recipe.inputs.size());
  draft.outputIsBad.resize(recipe.outputs.size());
  for (size_t i = 0; i < recipe.inputs.size(); ++i)
    if (!checkNamed(recipe.inputs[i].name, recipe.inputs[i].type,
                    indexed("inputs", i), names, messages))
      draft.inputIsBad[i] = true;
  for (size_t i = 0; i < recipe.outputs.size(); ++i)
    if (!checkNamed(recipe.outputs[i].name, recipe.outputs[i].type,
                    indexed("outputs", i), names, messages))
      draft.outputIsBad[i] = true;
}

namespace {
class Finisher {
public:
  Finisher(DraftRecipe &draft, Messages &messages)
      : draft(draft), recipe(draft.recipe), messages(messages),
        inputIsRead(recipe.inputs.size()), writers(recipe.outputs.size(), -1) {}

  void run() {
    for (size_t i = 0; i < draft.steps.size(); ++i)
      finishStep(i);
    if (draft.hasOutputs)
      checkOutputsWritten();
    warnUnused();
  }

private:
  /// A scratch slot between two writes.
  struct Slot {
    /// Absent when the step that wrote it could not be typed.
    std::optional<TensorType> type;
    size_t writer = 0;
    bool isRead = false;
  };

  void finishStep(size_t i) {
    DraftStep &step = draft.steps[i];
    const std::string place = indexed("steps", i);
    std::vector<TensorType> operands;
    bool isTyped = step.isComplete && step.op;
    for (size_t j = 0; j < step.args.size(); ++j) {
      const TensorType *type =
          typeOfArg(step.args[j], placeOfArg(step, place, j));
      isTyped &= type != nullptr;
      if (type)
        operands.push_back(*type);
    }
    if (step.op)
      isTyped &= checkOp(step, place);
    for (size_t k = 0; k < step.outs.size(); ++k)
      isTyped &= claimOut(step.outs[k], i, placeOfOut(step, place, k));

    std::optional<std::vector<TensorType>> results;
    if (isTyped)
      results = typeStep(step, operands, place);
    if (results)
      checkStates(step, operands, place);
    writeOuts(step, i, results);

    Step finished;
    finished.op = step.op ? step.op->code : Opcode::NOP;
    for (const std::optional<ValueRef> &arg : step.args)
      finished.args.push_back(arg.value_or(ValueRef{}));
    for (const std::optional<ValueRef> &out : step.outs)
      finished.outs.push_back(out.value_or(ValueRef{}));
    finished.params = std::move(step.params);
    if (results)
      finished.results = std::move(*results);
    recipe.steps.push_back(std::move(finished));
  }

  static std::string placeOfArg(const DraftStep &step, const std::string &place,
                                size_t j) {
    for (const auto &[name, value] : step.params.values)
      if (step.params.operandOf(name) == j)
        return memberOf(memberOf(place, "params"), name);
    return indexed(memberOf(place, "args"), j);
  }

  /// What a step updates in place is a state of the recipe, and each only once.
  void checkStates(const DraftStep &step,
                   const std::vector<TensorType> &operands,
                   const std::string &place) {
    const Signature &signature = signatureFor(*step.op, operands, step.params);
    for (size_t j = 0; j < signature.operands.size(); ++j) {
      if (!signature.operands[j].isState)
        continue;
      const ValueRef &arg = *step.args[j];
      const std::string argPlace = placeOfArg(step, place, j);
      const bool isInput = arg.kind == ValueRef::Kind::Input;
      if (!isInput || !recipe.inputs[static_cast<size_t>(arg.index)].isState)
        messages.add(argPlace,
                     std::string(step.op->mnemonic) + " updates '" +
                         signature.operands[j].name +
                         "' in place: expected an input with the role "
                         "'state', got " +
                         (isInput ? "input " : "scratch ") +
                         std::to_string(arg.index));
      for (size_t other = 0; other < step.args.size(); ++other)
        if (other != j && *step.args[other] == arg)
          messages.add(argPlace, "it is updated in place and is also " +
                                     placeOfArg(step, place, other));
      updatesState = true;
    }
  }

  static std::string placeOfOut(const DraftStep &step, const std::string &place,
                                size_t k) {
    const std::string out = memberOf(place, "out");
    return step.outs.size() == 1 ? out : indexed(out, k);
  }

  /// The type of what \p arg reads; null if it is unknown or was reported.
  const TensorType *typeOfArg(const std::optional<ValueRef> &arg,
                              const std::string &place) {
    if (!arg)
      return nullptr;
    const std::string index = std::to_string(arg->index);
    switch (arg->kind) {
    case ValueRef::Kind::Input: {
      if (!draft.hasInputs)
        return nullptr;
      const size_t count = recipe.inputs.size();
      if (arg->index < 0 || static_cast<size_t>(arg->index) >= count) {
        messages.add(place, "no input " + index + ": the recipe has " +
                                std::to_string(count));
        return nullptr;
      }
      inputIsRead[static_cast<size_t>(arg->index)] = true;
      if (draft.inputIsBad[static_cast<size_t>(arg->index)])
        return nullptr;
      return &recipe.inputs[static_cast<size_t>(arg->index)].type;
    }
    case ValueRef::Kind::Scratch: {
      const auto slot = slots.find(arg->index);
      if (slot == slots.end()) {
        messages.add(place, "scratch " + index +
                                " is read before any step "
                                "writes it");
        return nullptr;
      }
      slot->second.isRead = true;
      return slot->second.type ? &*slot->second.type : nullptr;
    }
    case ValueRef::Kind::Final:
      messages.add(place, "an output cannot be read; expected an input or a "
                          "scratch");
      return nullptr;
    }
    return nullptr;
  }

  /// What can be said of the op without its operands' types.
  bool checkOp(const DraftStep &step, const std::string &place) {
    if (step.op->code == Opcode::FUSED) {
      messages.add(memberOf(place, "op"), "a recipe cannot hold a fused step");
      return false;
    }
    if (!step.op->defined) {
      messages.add(memberOf(place, "op"),
                   std::string(step.op->mnemonic) +
                       ": the op is not available yet in this version");
      return false;
    }
    bool isRight = true;
    if (Result<void> checked = checkParams(*step.op, step.params); !checked) {
      for (const std::string &message : checked.error().messages)
        messages.add(memberOf(place, "params"), message);
      isRight = false;
    }
    const size_t numResults = signatureOf(*step.op).results.size();
    if (step.isComplete && step.outs.size() != numResults) {
      messages.add(memberOf(place, "out"),
                   std::string(step.op->mnemonic) + " gives " +
                       std::to_string(numResults) +
                       (numResults == 1 ? " result" : " results") + ", got " +
                       std::to_string(step.outs.size()) +
                       (step.outs.size() == 1 ? " place" : " places"));
      isRight = false;
    }
    return isRight;
  }

  /// Notes that step \p i writes \p out; false if it cannot.
  bool claimOut(const std::optional<ValueRef> &out, size_t i,
                const std::string &place) {
    if (!out)
      return false;
    if (out->kind == ValueRef::Kind::Input) {
      messages.add(place, "an input cannot be written; expected a scratch or "
                          "an output");
      return false;
    }
    if (out->index < 0) {
      messages.add(place, "expected a scratch index from 0, got " +
                              std::to_string(out->index));
      return false;
    }
    if (out->kind == ValueRef::Kind::Scratch)
      return true;
    if (!draft.hasOutputs)
      return false;
    const size_t index = static_cast<size_t>(out->index);
    if (index >= writers.size()) {
      messages.add(place, "no output " + std::to_string(index) +
                              ": the recipe has " +
                              std::to_string(writers.size()));
      return false;
    }
    if (writers[index] >= 0) {
      messages.add(place, "output " + std::to_string(index) + " (" +
                              quote(recipe.outputs[index].name) +
                              ") is written twice, first by steps[" +
                              std::to_string(writers[index]) + "]");
      return false;
    }
    writers[index] = static_cast<int>(i);
    return !draft.outputIsBad[index];
  }

  std::optional<std::vector<TensorType>>
  typeStep(const DraftStep &step, const std::vector<TensorType> &operands,
           const std::string &place) {
    std::optional<DType> dtype = step.outDtype;
    // The wrapper's word stands for the step's where it has none.
    for (size_t k = 0; k < step.outs.size() && !dtype; ++k)
      if (step.outs[k]->kind == ValueRef::Kind::Final)
        dtype = outputOf(*step.outs[k]).type.dtype;
    Result<std::vector<TensorType>> results =
        inferResults(*step.op, operands, step.params, step.outShape, dtype);
    if (!results) {
      for (const std::string &message : results.error().messages)
        messages.add(place, message);
      return std::nullopt;
    }
    bool isRight = true;
    for (size_t k = 0; k < step.outs.size(); ++k) {
      if (step.outs[k]->kind != ValueRef::Kind::Final)
        continue;
      const RecipeOutput &output = outputOf(*step.outs[k]);
      if (output.type == (*results)[k])
        continue;
      messages.add(placeOfOut(step, place, k),
                   "output " + quote(output.name) + " is declared " +
                       output.type.describe() + ", but the step gives " +
                       (*results)[k].describe());
      isRight = false;
    }
    if (!isRight)
      return std::nullopt;
    return results.take();
  }

  const RecipeOutput &outputOf(const ValueRef &out) const {
    return recipe.outputs[static_cast<size_t>(out.index)];
  }

  void writeOuts(const DraftStep &step, size_t i,
                 const std::optional<std::vector<TensorType>> &results) {
    for (size_t k = 0; k < step.outs.size(); ++k) {
      const std::optional<ValueRef> &out = step.outs[k];
      if (!out || out->kind != ValueRef::Kind::Scratch)
        continue;
      const auto found = slots.find(out->index);
      if (found != slots.end())
        warnSlot(found->first, found->second);
      Slot slot;
      if (results)
        slot.type = (*results)[k];
      slot.writer = i;
      slots.insert_or_assign(out->index, std::move(slot));
    }
  }

  void warnSlot(int index, const Slot &slot) {
    if (!slot.isRead)
      recipe.warnings.push_back("steps[" + std::to_string(slot.writer) +
                                "].out: scratch " + std::to_string(index) +
                                " is never read");
  }

  void checkOutputsWritten() {
    // A recipe may do nothing but update its states.
    if (writers.empty() && hasState(recipe) && !updatesState &&
        messages.empty())
      messages.add("outputs", "the recipe has no output, and no step updates "
                              "a state");
    for (size_t k = 0; k < writers.size(); ++k)
      if (writers[k] < 0)
        messages.add(indexed("outputs", k),
                     "no step writes " + quote(recipe.outputs[k].name));
  }

  void warnUnused() {
    for (const auto &[index, slot] : slots)
      warnSlot(index, slot);
    for (size_t k = 0; k < inputIsRead.size(); ++k)
      if (!inputIsRead[k])
        recipe.warnings.push_back("inputs[" + std::to_string(k) +
                                  "]: no step reads " +
                                  quote(recipe.inputs[k].name));
  }

  DraftRecipe &draft;
  Recipe &recipe;
  Messages &messages;
  std::vector<bool> inputIsRead;
  /// The step that writes each output, or -1.
  std::vector<int> writers;
  std::map<int, Slot> slots;
  bool updatesState = false;
};
} // namespace

Result<Recipe> tandem::finishRecipe(DraftRecipe draft, Messages &messages) {
  draft.recipe.steps.clear();
  draft.recipe.warnings.clear();
  Finisher(draft, messages).run();
  if (!messages.empty())
    return messages.error();
  return std::move(draft.recipe);
}
