//===- RecipeReader.cpp - Recipes from JSON -------------------------------===//
#include "refops/core/RecipeChecker.h"
#include "refops/core/RecipeWords.h"
#include "refops/core/Spelling.h"

#include <array>
#include <limits>

using namespace tandem;
using nlohmann::json;

namespace {
class RecipeReader {
public:
  explicit RecipeReader(std::string_view file) : messages(file) {}

  Result<Recipe> read(const json &document) {
    static constexpr std::array<std::string_view, 4> members = {
        "name", "inputs", "outputs", "recipe"};
    JsonObject top(document, "", members, messages);
    if (!top.isValid())
      return messages.error();
    readInterface(top);
    const json *steps = findSteps(top);
    if (!steps)
      return messages.error();
    for (size_t i = 0; i < steps->size(); ++i)
      draft.steps.push_back(readStep((*steps)[i], indexed("steps", i)));
    return finishRecipe(std::move(draft), messages);
  }

private:
  void readInterface(JsonObject &top) {
    const std::optional<std::string> name = top.getString("name");
    const json *inputs = top.getArray("inputs");
    const json *outputs = top.getArray("outputs");
    draft.hasInputs = inputs != nullptr;
    draft.hasOutputs = outputs != nullptr;
    for (size_t i = 0; inputs && i < inputs->size(); ++i)
      readInput((*inputs)[i], indexed("inputs", i));
    for (size_t i = 0; outputs && i < outputs->size(); ++i)
      readOutput((*outputs)[i], indexed("outputs", i));
    if (outputs && outputs->empty() && !hasState(draft.recipe))
      messages.add("outputs", "the recipe has no output");
    // A name that was reported as missing is not reported as empty.
    draft.recipe.name = name.value_or("unnamed");
    checkInterface(draft, messages);
  }

  /// The steps, or null after a message that makes looking at them pointless.
  const json *findSteps(JsonObject &top) {
    static constexpr std::array<std::string_view, 1> members = {"steps"};
    const json *recipe = top.find("recipe");
    if (!recipe) {
      messages.add("", "'recipe' is missing");
      return nullptr;
    }
    JsonObject object(*recipe, "recipe", members, messages);
    const json *steps = object.isValid() ? object.getArray("steps") : nullptr;
    if (!steps)
      return nullptr;
    if (steps->empty()) {
      messages.add("steps", "expected at least one step");
      return nullptr;
    }
    if (steps->size() > maxSteps) {
      messages.add("steps", "expected at most " + std::to_string(maxSteps) +
                                " steps, got " + std::to_string(steps->size()));
      return nullptr;
    }
    return steps;
  }

  std::optional<DType> readDtype(JsonObject &object, std::string_view member) {
    return dtypeIn(object, member, messages);
  }

  std::optional<std::vector<Dim>> readShape(JsonObject &object,
                                            std::string_view member) {
    const json *array = object.getArray(member);
    if (!array)
      return std::nullopt;
    std::vector<Dim> shape;
    for (size_t i = 0; i < array->size(); ++i) {
      const json &dim = (*array)[i];
      if (dim.is_string())
        shape.emplace_back(dim.get_ref<const std::string &>());
      else if (const std::optional<int64_t> size = integerIn(dim))
        shape.emplace_back(*size);
      else
        messages.add(indexed(object.placeOf(member), i),
                     "a dim is a 64-bit integer or a name, got " +
                         describeJson(dim));
    }
    if (shape.size() != array->size())
      return std::nullopt;
    return shape;
  }

  void readInput(const json &j, const std::string &place) {
    static constexpr std::array<std::string_view, 4> members = {
        "name", "dtype", "shape", "role"};
    static constexpr std::array<std::string_view, 1> roles = {"state"};
    JsonObject object(j, place, members, messages);
    RecipeInput input;
    input.name = readName(object);
    draft.inputIsBad.push_back(!readType(object, input.type));
    if (object.has("role")) {
      const std::optional<std::string> role = object.getString("role");
      input.isState = role == "state";
      if (role && !input.isState)
        messages.add(object.placeOf("role"), "no role is named " +
                                                 quote(*role) +
                                                 didYouMean(*role, roles));
    }
    draft.recipe.inputs.push_back(std::move(input));
  }

  void readOutput(const json &j, const std::string &place) {
    static constexpr std::array<std::string_view, 3> members = {"name", "dtype",
                                                                "shape"};
    JsonObject object(j, place, members, messages);
    RecipeOutput output;
    output.name = readName(object);
    draft.outputIsBad.push_back(!readType(object, output.type));
    draft.recipe.outputs.push_back(std::move(output));
  }

  /// A name that nobody else has stands for one that was reported.
  std::string readName(JsonObject &object) {
    const std::optional<std::string> name = object.getString("name");
    return name ? *name : "unnamed_" + std::to_string(numUnnamed++);
  }

  bool readType(JsonObject &object, TensorType &type) {
    const std::optional<DType> dtype = readDtype(object, "dtype");
    std::optional<std::vector<Dim>> shape = readShape(object, "shape");
    if (dtype)
      type.dtype = *dtype;
    if (shape)
      type.shape = std::move(*shape);
    return dtype && shape;
  }

  DraftStep readStep(const json &j, const std::string &place) {
    static constexpr std::array<std::string_view, 7> members = {
        "op", "args", "out", "params", "out_shape", "out_dtype", "expr"};
    DraftStep step;
    JsonObject object(j, place, members, messages);
    step.isComplete = object.isValid();
    if (!object.isValid())
      return step;
    readOp(object, place, step);
    readArgs(object, step);
    readOuts(object, place, step);
    if (object.has("expr"))
      readExpr(object, step);
    if (const json *params = object.find("params"))
      readParams(*params, object.placeOf("params"), step);
    if (object.has("out_shape")) {
      step.outShape = readShape(object, "out_shape");
      step.isComplete &= step.outShape.has_value();
      if (step.outShape)
        checkOutShape(*step.outShape, object.placeOf("out_shape"));
    }
    if (object.has("out_dtype")) {
      step.outDtype = readDtype(object, "out_dtype");
      step.isComplete &= step.outDtype.has_value();
    }
    return step;
  }

  /// The expression of a MAP step stands beside its op.
  void readExpr(JsonObject &object, DraftStep &step) {
    const std::optional<std::string> text = object.getString("expr");
    step.isComplete &= text.has_value();
    if (step.op && step.op->code != Opcode::MAP)
      messages.add(object.placeOf("expr"),
                   "only MAP has an expression, this step is " +
                       std::string(step.op->name));
    else if (text)
      step.params.values.insert_or_assign("expr", *text);
  }

  void checkOutShape(const std::vector<Dim> &shape, const std::string &place) {
    for (size_t i = 0; i < shape.size(); ++i)
      if (!shape[i].isSymbol() && shape[i].size() < 0)
        messages.add(indexed(place, i),
                     "dim " + shape[i].text() + " is negative");
  }

  void readOp(JsonObject &object, const std::string &place, DraftStep &step) {
    if (const json *op = object.find("op"))
      step.op = opIn(*op, object.placeOf("op"), messages);
    else
      messages.add(place, "'op' is missing");
  }

  static std::optional<int> indexIn(const json &j) {
    const std::optional<int64_t> index = integerIn(j);
    if (!index || *index < 0 || *index > std::numeric_limits<int>::max())
      return std::nullopt;
    return static_cast<int>(*index);
  }

  void readArgs(JsonObject &object, DraftStep &step) {
    const json *args = object.getArray("args");
    step.isComplete &= args != nullptr;
    for (size_t i = 0; args && i < args->size(); ++i)
      step.args.push_back(
          readArg((*args)[i], indexed(object.placeOf("args"), i)));
  }

  std::optional<ValueRef> readArg(const json &j, const std::string &place) {
    const bool isRef =
        j.is_object() && j.size() == 1 && (j.contains("in") || j.contains("s"));
    if (!isRef) {
      messages.add(place, "expected {\"in\": k} or {\"s\": j}, got " +
                              describeShort(j));
      return std::nullopt;
    }
    const bool isInput = j.contains("in");
    const json &value = *j.begin();
    const std::optional<int> index = indexIn(value);
    if (!index) {
      messages.add(place, std::string("expected the index of ") +
                              (isInput ? "an input" : "a scratch") + ", got " +
                              describeJson(value));
      return std::nullopt;
    }
    return ValueRef{isInput ? ValueRef::Kind::Input : ValueRef::Kind::Scratch,
                    *index};
  }

  /// An object's members are what matters here.
  static std::string describeShort(const json &j) {
    if (!j.is_object())
      return describeJson(j);
    std::string names;
    size_t count = 0;
    for (const auto &[name, value] : j.items()) {
      if (++count > 4) {
        names += ", ...";
        break;
      }
      names += (names.empty() ? "" : ", ") + quote(name);
    }
    return names.empty() ? "an empty object" : "an object with " + names;
  }

  void readOuts(JsonObject &object, const std::string &place, DraftStep &step) {
    const json *out = object.find("out");
    const std::string outPlace = object.placeOf("out");
    if (!out) {
      // What gives nothing has nowhere to put it.
      const bool givesNothing =
          step.op && step.op->defined && signatureOf(*step.op).results.empty();
      if (!givesNothing) {
        messages.add(place, "'out' is missing");
        step.isComplete = false;
      }
      return;
    }
    if (!out->is_array()) {
      step.outs.push_back(readOut(*out, outPlace));
      return;
    }
    for (size_t i = 0; i < out->size(); ++i)
      step.outs.push_back(readOut((*out)[i], indexed(outPlace, i)));
  }

  std::optional<ValueRef> readOut(const json &j, const std::string &place) {
    if (j.is_string() && j.get_ref<const std::string &>() == "final")
      return ValueRef{ValueRef::Kind::Final, 0};
    if (integerIn(j) == -1)
      return ValueRef{ValueRef::Kind::Final, 0};
    if (const std::optional<int> index = indexIn(j))
      return ValueRef{ValueRef::Kind::Scratch, *index};
    if (j.is_object() && j.size() == 1 && j.contains("out")) {
      const json &value = *j.begin();
      if (const std::optional<int> index = indexIn(value))
        return ValueRef{ValueRef::Kind::Final, *index};
      messages.add(place, "expected the index of an output, got " +
                              describeJson(value));
      return std::nullopt;
    }
    messages.add(place, "expected a scratch index, \"final\" or "
                        "{\"out\": k}, got " +
                            describeShort(j));
    return std::nullopt;
  }

  void readParams(const json &j, const std::string &place, DraftStep &step) {
    if (!j.is_object()) {
      messages.add(place, "expected an object, got " + describeJson(j));
      step.isComplete = false;
      return;
    }
    for (const auto &[name, value] : j.items()) {
      if (value.is_object()) {
        readOperandParam(name, value, memberOf(place, name), step);
        continue;
      }
      if (std::optional<ParamValue> read = paramIn(step.op, name, value)) {
        step.params.values.insert_or_assign(name, std::move(*read));
        continue;
      }
      step.isComplete = false;
      messages.add(memberOf(place, name),
                   "expected true, false, a number or a string, got " +
                       describeJson(value));
    }
  }

  /// A param that is a value of the recipe is an operand behind the others.
  void readOperandParam(const std::string &name, const json &value,
                        const std::string &place, DraftStep &step) {
    const std::optional<ValueRef> arg = readArg(value, place);
    step.isComplete &= arg.has_value();
    const OperandParam held{static_cast<int64_t>(step.args.size())};
    step.params.values.insert_or_assign(name, held);
    step.args.push_back(arg);
  }

  Messages messages;
  DraftRecipe draft;
  int numUnnamed = 0;
};
} // namespace

Result<Recipe> tandem::readRecipe(std::string_view text,
                                  std::string_view file) {
  if (text.size() > maxRecipeBytes)
    return Error(std::string(file) + ": expected at most " +
                 std::to_string(maxRecipeBytes) + " bytes, got " +
                 std::to_string(text.size()));
  const Result<json> document = parseJson(text, file);
  if (!document)
    return document.error();
  return RecipeReader(file).read(*document);
}
