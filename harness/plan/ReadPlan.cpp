//===- ReadPlan.cpp - Plans from JSON -------------------------------------===//
#include "harness/plan/Plan.h"

#include "refops/core/RecipeWords.h"
#include "refops/core/Spelling.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <array>
#include <map>

using namespace tandem;
using namespace tandem::harness;
using nlohmann::json;

TensorDesc PlanBuffer::desc() const {
  return contiguous(type.dtype, bindShape(type.shape, {}));
}

std::vector<size_t> PlanTask::changed() const {
  std::vector<size_t> all = writes;
  for (size_t i = 0; i < reads.size(); ++i)
    if (recipe.inputs[i].isState)
      all.push_back(reads[i]);
  return all;
}

namespace {
/// A buffer as a task sees it.
struct Seen {
  size_t buffer = 0;
  TensorType type;
  bool operator==(const Seen &) const = default;
};

class PlanReader {
public:
  explicit PlanReader(std::string_view file) : messages(file) {}

  Result<Plan> read(const json &document) {
    static constexpr std::array<std::string_view, 4> members = {
        "name", "buffers", "counters", "tasks"};
    JsonObject top(document, "", members, messages);
    if (!top.isValid())
      return messages.error();
    plan.name = "plan";
    if (top.has("name"))
      plan.name = top.getString("name").value_or("plan");
    const json *buffers = listIn(top, "buffers", maxPlanBuffers);
    const json *tasks = listIn(top, "tasks", maxPlanTasks);
    if (const std::optional<int64_t> count = top.getInt("counters")) {
      plan.numCounters = *count;
      if (*count < 0 || *count > maxPlanCounters)
        messages.add("counters", "expected 0 to " +
                                     std::to_string(maxPlanCounters) +
                                     ", got " + std::to_string(*count));
    }
    for (size_t i = 0; buffers && i < buffers->size(); ++i)
      readBuffer((*buffers)[i], indexed("buffers", i));
    for (size_t i = 0; tasks && i < tasks->size(); ++i)
      readTask((*tasks)[i], indexed("tasks", i));
    if (messages.empty())
      checkOrder(plan, messages);
    if (!messages.empty())
      return messages.error();
    return std::move(plan);
  }

private:
  const json *listIn(JsonObject &top, const char *name, size_t limit) {
    const json *list = top.getArray(name);
    if (!list || (!list->empty() && list->size() <= limit))
      return list;
    messages.add(name, "expected 1 to " + std::to_string(limit) +
                           " of them, got " + std::to_string(list->size()));
    return nullptr;
  }

  void readBuffer(const json &j, const std::string &place) {
    static constexpr std::array<std::string_view, 4> members = {
        "name", "dtype", "shape", "role"};
    JsonObject object(j, place, members, messages);
    const size_t before = messages.size();
    PlanBuffer buffer;
    const std::optional<std::string> name = object.getString("name");
    if (name && !isIdentifier(*name))
      messages.add(object.placeOf("name"),
                   "expected a letter or '_', then letters, digits and '_', "
                   "got " +
                       quote(*name));
    else if (name && byName.contains(*name))
      messages.add(object.placeOf("name"),
                   "the name " + quote(*name) + " is given twice");
    buffer.name = name.value_or("");
    readType(object, buffer);
    readRole(object, buffer);
    if (name)
      byName.emplace(*name, plan.buffers.size());
    isBad.push_back(messages.size() != before);
    plan.buffers.push_back(std::move(buffer));
  }

  void readType(JsonObject &object, PlanBuffer &buffer) {
    if (const std::optional<DType> dtype = dtypeIn(object, "dtype", messages))
      buffer.type.dtype = *dtype;
    readShape(object, buffer);
  }

  void readShape(JsonObject &object, PlanBuffer &buffer) {
    const json *shape = object.getArray("shape");
    for (size_t d = 0; shape && d < shape->size(); ++d) {
      const std::optional<int64_t> size = integerIn((*shape)[d]);
      if (!size)
        messages.add(indexed(object.placeOf("shape"), d),
                     "a dim of a plan is a 64-bit integer, got " +
                         describeJson((*shape)[d]));
      buffer.type.shape.emplace_back(size.value_or(0));
    }
    if (const std::string problem = problemOfShape(buffer.type);
        !problem.empty())
      messages.add(object.placeOf("shape"), problem);
  }

  void readRole(JsonObject &object, PlanBuffer &buffer) {
    static constexpr std::array<std::string_view, 5> roles = {
        "input", "weight", "scratch", "state", "output"};
    const std::optional<std::string> role = object.getString("role");
    if (!role)
      return;
    const auto found = std::find(roles.begin(), roles.end(), *role);
    if (found == roles.end())
      messages.add(object.placeOf("role"), "no role is named " + quote(*role) +
                                               didYouMean(*role, roles));
    else
      buffer.role = static_cast<BufferRole>(found - roles.begin());
  }

  void readTask(const json &j, const std::string &place) {
    static constexpr std::array<std::string_view, 7> members = {
        "op", "inputs", "outputs", "params", "wait", "signal", "queue"};
    JsonObject object(j, place, members, messages);
    const size_t before = messages.size();
    isUntyped = false;
    PlanTask task;
    task.recipe.name = "task";
    const OpInfo *op = opOf(object, place);
    std::vector<Seen> inputs = buffersIn(object, "inputs");
    const std::vector<Seen> outputs = buffersIn(object, "outputs");
    readWaits(object, task);
    task.signal = counterIn(object, "signal").value_or(-1);
    if (object.has("queue"))
      task.queue = object.getInt("queue").value_or(0);
    Params params = paramsIn(object, op, inputs);
    if (op && messages.size() == before && !isUntyped) {
      task.op = op->code;
      typeTask(task, *op, std::move(params), inputs, outputs, place);
    }
    plan.tasks.push_back(std::move(task));
  }

  /// What a plan may hold: an opcode of its own, not a recipe.
  const OpInfo *opOf(JsonObject &object, const std::string &place) {
    const json *op = object.find("op");
    if (!op) {
      messages.add(place, "'op' is missing");
      return nullptr;
    }
    const OpInfo *info = opIn(*op, object.placeOf("op"), messages);
    if (!info || (info->code < Opcode::count && info->code != Opcode::FUSED))
      return info;
    messages.add(object.placeOf("op"),
                 std::string(info->mnemonic) + " stands in recipes only");
    return nullptr;
  }

  std::optional<size_t> bufferNamed(const std::string &name,
                                    const std::string &place) {
    const auto found = byName.find(name);
    if (found != byName.end())
      return isBad[found->second] ? std::nullopt
                                  : std::optional<size_t>(found->second);
    std::vector<std::string_view> names;
    for (const PlanBuffer &buffer : plan.buffers)
      names.push_back(buffer.name);
    messages.add(place,
                 "no buffer is named " + quote(name) + didYouMean(name, names));
    return std::nullopt;
  }

  std::vector<Seen> buffersIn(JsonObject &object, const char *member) {
    std::vector<Seen> found;
    const json *list = object.getArray(member);
    for (size_t i = 0; list && i < list->size(); ++i) {
      const std::string place = indexed(object.placeOf(member), i);
      if (std::optional<Seen> seen = seenIn((*list)[i], place))
        found.push_back(std::move(*seen));
      else
        isUntyped = true;
    }
    return found;
  }

  std::optional<Seen> seenIn(const json &j, const std::string &place) {
    if (j.is_string())
      return whole(bufferNamed(j.get_ref<const std::string &>(), place));
    static constexpr std::array<std::string_view, 2> members = {"buffer",
                                                                "shape"};
    JsonObject object(j, place, members, messages);
    if (!object.isValid())
      return std::nullopt;
    const std::optional<std::string> name = object.getString("buffer");
    PlanBuffer view;
    readShape(object, view);
    if (!name)
      return std::nullopt;
    std::optional<Seen> seen =
        whole(bufferNamed(*name, object.placeOf("buffer")));
    if (!seen)
      return std::nullopt;
    view.type.dtype = seen->type.dtype;
    if (view.desc().numElements() !=
        plan.buffers[seen->buffer].desc().numElements()) {
      messages.add(object.placeOf("shape"),
                   "expected as many elements as " + quote(*name) + " has, " +
                       seen->type.describe() + ", got " + view.type.describe());
      return std::nullopt;
    }
    seen->type = view.type;
    return seen;
  }

  std::optional<Seen> whole(std::optional<size_t> buffer) const {
    if (!buffer)
      return std::nullopt;
    return Seen{*buffer, plan.buffers[*buffer].type};
  }

  std::optional<int64_t> counterIn(JsonObject &object, const char *member) {
    if (!object.has(member))
      return std::nullopt;
    const std::optional<int64_t> counter = object.getInt(member);
    if (counter && (*counter < 0 || *counter >= plan.numCounters))
      messages.add(object.placeOf(member),
                   "no counter " + std::to_string(*counter) +
                       ": the plan has " + std::to_string(plan.numCounters));
    return counter;
  }

  void readWaits(JsonObject &object, PlanTask &task) {
    if (!object.has("wait"))
      return;
    static constexpr std::array<std::string_view, 2> members = {"counter",
                                                                "value"};
    const json *waits = object.getArray("wait");
    for (size_t i = 0; waits && i < waits->size(); ++i) {
      const std::string place = indexed(object.placeOf("wait"), i);
      JsonObject one((*waits)[i], place, members, messages);
      if (!one.isValid())
        continue;
      if (!one.has("counter"))
        messages.add(place, "'counter' is missing");
      const std::optional<int64_t> counter = counterIn(one, "counter");
      const std::optional<int64_t> value = one.getInt("value");
      if (value && *value < 0)
        messages.add(one.placeOf("value"),
                     "expected 0 or more, got " + std::to_string(*value));
      if (counter && value)
        task.waits.push_back({*counter, *value});
    }
  }

  /// Params as in a recipe, except that a buffer is named: `{"buffer": NAME}`.
  /// Such buffers are operands behind the others.
  Params paramsIn(JsonObject &object, const OpInfo *op,
                  std::vector<Seen> &inputs) {
    Params params;
    const json *given = object.find("params");
    if (!given)
      return params;
    const std::string place = object.placeOf("params");
    if (!given->is_object()) {
      messages.add(place, "expected an object, got " + describeJson(*given));
      return params;
    }
    for (const auto &[name, value] : given->items()) {
      const std::string where = memberOf(place, name);
      if (value.is_object() && value.size() == 1 && value.contains("buffer") &&
          value["buffer"].is_string()) {
        if (const std::optional<size_t> buffer = bufferNamed(
                value["buffer"].get_ref<const std::string &>(), where)) {
          const OperandParam held{static_cast<int64_t>(inputs.size())};
          params.values.insert_or_assign(name, held);
          inputs.push_back(*whole(buffer));
        } else {
          isUntyped = true;
        }
      } else if (const std::optional<ParamValue> read =
                     paramIn(op, name, value)) {
        params.values.insert_or_assign(name, *read);
      } else {
        messages.add(where, "expected true, false, a number, a string or "
                            "{\"buffer\": NAME}, got " +
                                describeJson(value));
      }
    }
    return params;
  }

  void typeTask(PlanTask &task, const OpInfo &op, Params params,
                const std::vector<Seen> &inputs,
                const std::vector<Seen> &outputs, const std::string &place) {
    std::vector<TensorType> types;
    for (const Seen &seen : inputs)
      types.push_back(seen.type);
    std::optional<std::vector<Dim>> shape;
    std::optional<DType> dtype;
    if (!outputs.empty()) {
      shape = outputs[0].type.shape;
      dtype = outputs[0].type.dtype;
    }
    const Result<std::vector<TensorType>> results =
        inferResults(op, types, params, shape, dtype);
    if (!results) {
      for (const std::string &message : results.error().messages)
        messages.add(place, message);
      return;
    }
    if (results->size() != outputs.size())
      return messages.add(memberOf(place, "outputs"),
                          std::string(op.mnemonic) + " gives " +
                              std::to_string(results->size()) +
                              " results, got " +
                              std::to_string(outputs.size()) + " buffers");
    const Signature &signature = signatureFor(op, types, params);
    Step step;
    step.op = op.code;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool isState =
          i < signature.operands.size() && signature.operands[i].isState;
      step.args.push_back(
          {ValueRef::Kind::Input, addInput(task, inputs[i], isState)});
      if (isState && plan.buffers[inputs[i].buffer].role != BufferRole::State)
        messages.add(indexed(memberOf(place, "inputs"), i),
                     std::string(op.mnemonic) + " updates '" +
                         signature.operands[i].name +
                         "' in place: expected a buffer with the role 'state'"
                         ", got " +
                         quote(plan.buffers[inputs[i].buffer].name));
    }
    for (size_t o = 0; o < outputs.size(); ++o)
      addOutput(task, step, outputs[o], (*results)[o],
                indexed(memberOf(place, "outputs"), o));
    step.params = std::move(params);
    step.results = *results;
    if (op.code != Opcode::NOP)
      task.recipe.steps.push_back(std::move(step));
  }

  /// The number of the recipe's input that \p seen is: each is there once.
  int addInput(PlanTask &task, const Seen &seen, bool isState) {
    std::vector<RecipeInput> &inputs = task.recipe.inputs;
    size_t number = 0;
    while (number < inputs.size() &&
           !(Seen{task.reads[number], inputs[number].type} == seen))
      ++number;
    if (number == inputs.size()) {
      task.reads.push_back(seen.buffer);
      inputs.push_back({"in" + std::to_string(number), seen.type, false});
    }
    inputs[number].isState |= isState;
    return static_cast<int>(number);
  }

  void addOutput(PlanTask &task, Step &step, const Seen &seen,
                 const TensorType &type, const std::string &place) {
    const PlanBuffer &to = plan.buffers[seen.buffer];
    if (to.role == BufferRole::Input || to.role == BufferRole::Weight)
      messages.add(place, quote(to.name) + " is an input of the plan; expected "
                                           "a scratch, a state or an output");
    for (size_t read : task.reads)
      if (read == seen.buffer)
        messages.add(place, quote(to.name) + " is also an input of the task");
    if (!(seen.type == type))
      messages.add(place, quote(to.name) + " is " + seen.type.describe() +
                              ", but the task gives " + type.describe());
    const size_t number = task.writes.size();
    step.outs.push_back({ValueRef::Kind::Final, static_cast<int>(number)});
    task.writes.push_back(seen.buffer);
    task.recipe.outputs.push_back({"out" + std::to_string(number), seen.type});
  }

  Messages messages;
  Plan plan;
  std::map<std::string, size_t, std::less<>> byName;
  /// Buffers that were reported: what uses them is not typed.
  std::vector<bool> isBad;
  /// Whether the task at hand names such a buffer.
  bool isUntyped = false;
};
} // namespace

Result<Plan> tandem::harness::readPlan(std::string_view text,
                                       std::string_view file) {
  if (text.size() > maxRecipeBytes)
    return Error(std::string(file) + ": expected at most " +
                 std::to_string(maxRecipeBytes) + " bytes, got " +
                 std::to_string(text.size()));
  const Result<json> document = parseJson(text, file);
  if (!document)
    return document.error();
  return PlanReader(file).read(*document);
}
