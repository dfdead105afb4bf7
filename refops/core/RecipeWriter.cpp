//===- RecipeWriter.cpp - Recipes as canonical JSON -----------------------===//
#include "refops/core/JsonText.h"
#include "refops/core/Recipe.h"

using namespace tandem;
using json = nlohmann::ordered_json;

static json shapeToJson(const std::vector<Dim> &dims) {
  json shape = json::array();
  for (const Dim &dim : dims) {
    if (dim.isSymbol())
      shape.push_back(dim.symbol());
    else
      shape.push_back(dim.size());
  }
  return shape;
}

static json typeToJson(const std::string &name, const TensorType &type) {
  json j;
  j["name"] = name;
  j["dtype"] = dtypeName(type.dtype);
  j["shape"] = shapeToJson(type.shape);
  return j;
}

static json refToJson(const ValueRef &ref, bool isOut) {
  if (ref.kind == ValueRef::Kind::Input)
    return json{{"in", ref.index}};
  if (ref.kind == ValueRef::Kind::Final)
    return ref.index == 0 ? json("final") : json{{"out", ref.index}};
  return isOut ? json(ref.index) : json{{"s", ref.index}};
}

static json paramToJson(const ParamValue &value) {
  if (const bool *flag = std::get_if<bool>(&value))
    return *flag;
  if (const int64_t *number = std::get_if<int64_t>(&value))
    return *number;
  if (const double *real = std::get_if<double>(&value))
    return *real;
  return std::get<std::string>(value);
}

static json stepToJson(const Step &step) {
  json j;
  j["op"] = opInfo(step.op).name;
  j["args"] = json::array();
  for (size_t i = 0; i + step.params.numOperands() < step.args.size(); ++i)
    j["args"].push_back(refToJson(step.args[i], false));
  if (step.outs.size() == 1) {
    j["out"] = refToJson(step.outs[0], true);
  } else if (step.outs.size() > 1) {
    j["out"] = json::array();
    for (const ValueRef &out : step.outs)
      j["out"].push_back(refToJson(out, true));
  }
  if (step.op == Opcode::MAP)
    j["expr"] = step.params.getString("expr", "");
  if (step.params.values.size() > (step.op == Opcode::MAP ? 1u : 0u)) {
    json params = json::object();
    for (const auto &[name, value] : step.params.values)
      if (step.op == Opcode::MAP && name == "expr")
        continue;
      else if (const std::optional<size_t> operand =
                   step.params.operandOf(name))
        params[name] = refToJson(step.args[*operand], false);
      else
        params[name] = paramToJson(value);
    j["params"] = std::move(params);
  }
  // Packed int4 does not say how many columns its last byte holds.
  if (step.op == Opcode::DEQUANT && !step.results.empty())
    j["out_shape"] = shapeToJson(step.results[0].shape);
  // The wrapper says the types of outputs; other shapes follow from operands.
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
