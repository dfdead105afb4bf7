//===- Contract.cpp - The numerics contract as JSON -----------------------===//
#include "refops/core/Contract.h"

#include "refops/core/JsonText.h"
#include "refops/core/Spelling.h"

#include <array>
#include <limits>

using namespace tandem;
using nlohmann::json;

void tandem::to_json(json &j, const Contract &contract) {
  json steps = json::array();
  for (const StepContract &step : contract.steps) {
    json one = {{"step", step.step}, {"op", opInfo(step.op).mnemonic}};
    if (!step.depth.empty())
      one["depth"] = step.depth;
    if (!step.order.empty())
      one["order"] = step.order;
    if (!step.dot.empty())
      one["dot"] = step.dot;
    if (step.dotChunk)
      one["dot_chunk"] = step.dotChunk;
    if (!step.rescales.empty())
      one["rescales"] = step.rescales;
    if (!step.approx.empty())
      one["approx"] = step.approx;
    steps.push_back(std::move(one));
  }
  j = {{"accumulator", contract.accumulator}, {"steps", std::move(steps)}};
}

static int smallInt(JsonObject &object, std::string_view name,
                    Messages &messages) {
  const std::optional<int64_t> value = object.getInt(name);
  if (!value)
    return 0;
  if (*value < 0 || *value > std::numeric_limits<int>::max()) {
    messages.add(object.placeOf(name),
                 "expected a count, got " + std::to_string(*value));
    return 0;
  }
  return static_cast<int>(*value);
}

static std::vector<std::string>
stringsAt(JsonObject &object, std::string_view name, Messages &messages) {
  std::vector<std::string> strings;
  const json *array = object.getArray(name);
  for (size_t i = 0; array && i < array->size(); ++i) {
    const json &item = (*array)[i];
    if (item.is_string())
      strings.push_back(item.get_ref<const std::string &>());
    else
      messages.add(indexed(object.placeOf(name), i),
                   "expected a string, got " + describeJson(item));
  }
  return strings;
}

/// A function of `n`, or empty where the member is absent.
static std::string functionOfN(JsonObject &object, std::string_view name,
                               Messages &messages) {
  if (!object.has(name))
    return "";
  const std::string text = object.getString(name).value_or("");
  Result<IntExpr> expr = IntExpr::parse(text);
  if (!expr)
    messages.add(object.placeOf(name), expr.error().text());
  else
    for (const std::string &symbol : expr->symbols())
      if (symbol != "n")
        messages.add(object.placeOf(name),
                     "depends on " + quote(symbol) + ", expected only 'n'");
  return text;
}

static StepContract readStep(const json &j, const std::string &place,
                             Messages &messages) {
  static constexpr std::array<std::string_view, 8> members = {
      "step", "op", "depth", "order", "dot", "dot_chunk", "rescales", "approx"};
  StepContract step;
  JsonObject object(j, place, members, messages);
  if (!object.isValid())
    return step;
  step.step = smallInt(object, "step", messages);
  if (const std::optional<std::string> name = object.getString("op")) {
    if (const OpInfo *op = findOpInfo(*name))
      step.op = op->code;
    else
      messages.add(object.placeOf("op"), "no op is named " + quote(*name));
  }
  step.depth = functionOfN(object, "depth", messages);
  if (object.has("order"))
    step.order = object.getString("order").value_or("");
  if (object.has("dot"))
    step.dot = object.getString("dot").value_or("");
  if (object.has("dot_chunk"))
    step.dotChunk = smallInt(object, "dot_chunk", messages);
  step.rescales = functionOfN(object, "rescales", messages);
  if (object.has("approx"))
    step.approx = stringsAt(object, "approx", messages);
  return step;
}

Result<Contract> tandem::contractFromJson(const json &j,
                                          std::string_view place) {
  static constexpr std::array<std::string_view, 2> members = {"accumulator",
                                                              "steps"};
  Messages messages(place);
  Contract contract;
  JsonObject object(j, "", members, messages);
  if (object.isValid()) {
    contract.accumulator = object.getString("accumulator").value_or("");
    const json *steps = object.getArray("steps");
    for (size_t i = 0; steps && i < steps->size(); ++i)
      contract.steps.push_back(
          readStep((*steps)[i], indexed("steps", i), messages));
  }
  if (!messages.empty())
    return messages.error();
  return contract;
}
