//===- RecipeWriter.cpp - Recipes as canonical JSON -----------------------===//
#include "refops/core/JsonText.h"
#include "refops/core/Recipe.h"

using namespace tandem;
using json = nlohmann::ordered_json;

static json typeToJson(const std::string &name, const TensorType &type) {
  json shape = json::array();
  for (const Dim &dim : type.shape) {
    if (dim.isSymbol())
      shape.push_back(dim.symbol());
    else
      shape.push_back(dim.size());
  }
  json j;
  j["name"] = name;
  j["dtype"] = dtypeName(type.dtype);
  j["shape"] = std::move(shape);
  return j;
}

static json refToJson(const ValueRef &ref, bool isOut) {
  if (ref.kind == ValueRef::Kind::Input)
    return json{{"in", ref.index}};
  if (ref.kind == ValueRef::Kind::Final)
    return ref.index == 0 ? json("final") : json{{"out", ref.index}};
  return isOut ? json(ref.index) : json{{"s", ref.index}};
}

static json stepToJson(const Step &step) {
  json j;
  j["op"] = opInfo(step.op).name;
  j["args"] = json::array();
  for (const ValueRef &arg : step.args)
    j["args"].push_back(refToJson(arg, false));
  if (step.outs.size() == 1) {
    j["out"] = refToJson(step.outs[0], true);
  } else if (step.outs.size() > 1) {
    j["out"] = json::array();
    for (const ValueRef &out : step.outs)
      j["out"].push_back(refToJson(out, true));
  }
  if (!step.params.values.empty()) {
    json params = json::object();
    for (const auto &[name, value] : step.params.values)
      std::visit([&](const auto &held) { params[name] = held; }, value);
    j["params"] = std::move(params);
  }
  // The wrapper says the types of outputs; shapes follow from the operands.
  if (!step.results.empty() && !step.outs.empty() &&
      step.outs[0].kind == ValueRef::Kind::Scratch)
    j["out_dtype"] = dtypeName(step.results[0].dtype);
  return j;
}

std::string tandem::writeRecipe(const Recipe &recipe) {
  json j;
  j["name"] = recipe.name;
  j["inputs"] = json::array();
  for (const RecipeInput &input : recipe.inputs) {
    j["inputs"].push_back(typeToJson(input.name, input.type));
    if (input.isState)
      j["inputs"].back()["role"] = "state";
  }
  j["outputs"] = json::array();
  for (const RecipeOutput &output : recipe.outputs)
    j["outputs"].push_back(typeToJson(output.name, output.type));
  j["recipe"]["steps"] = json::array();
  for (const Step &step : recipe.steps)
    j["recipe"]["steps"].push_back(stepToJson(step));
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}
