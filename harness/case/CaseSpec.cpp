//===- CaseSpec.cpp - One case, spelt out ---------------------------------===//
#include "harness/case/CaseSpec.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

using namespace tandem;
using namespace tandem::harness;
using nlohmann::json;

static TensorDesc describe(const TensorType &type, const DimBindings &dims,
                           const LayoutSpec &layout) {
  TensorDesc desc = contiguous(type.dtype, bindShape(type.shape, dims));
  if (!layout.strides.empty())
    desc.strides = layout.strides;
  return desc;
}

TensorDesc CaseSpec::inputDesc(size_t index) const {
  return describe(recipe.inputs[index].type, dims, inputs[index].layout);
}

TensorDesc CaseSpec::outputDesc(size_t index) const {
  return describe(recipe.outputs[index].type, dims, outputs[index].layout);
}

PlacedOperands tandem::harness::placeOperands(const CaseSpec &spec) {
  PlacedOperands placed;
  uint64_t base = uint64_t(1) << 44;
  auto place = [&base](TensorDesc desc, const LayoutSpec &layout) {
    const auto offset =
        static_cast<uint64_t>(layout.offset) * dtypeSize(desc.dtype);
    const Operand operand{std::move(desc), base + offset};
    base += uint64_t(1) << 40;
    return operand;
  };
  for (size_t i = 0; i < spec.inputs.size(); ++i)
    placed.inputs.push_back(place(spec.inputDesc(i), spec.inputs[i].layout));
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const OperandSpec &output = spec.outputs[i];
    placed.outputs.push_back(
        output.aliasOf >= 0 ? placed.inputs[static_cast<size_t>(output.aliasOf)]
                            : place(spec.outputDesc(i), output.layout));
  }
  return placed;
}

std::string tandem::harness::opsOf(const Recipe &recipe) {
  std::string ops;
  for (const Step &step : recipe.steps) {
    ops += ops.empty() ? "" : "+";
    ops += opInfo(step.op).mnemonic;
  }
  return ops;
}

int64_t tandem::harness::numElements(const CaseSpec &spec) {
  int64_t total = 0;
  for (size_t i = 0; i < spec.inputs.size(); ++i)
    total += spec.inputDesc(i).numElements();
  for (size_t i = 0; i < spec.outputs.size(); ++i)
    total += spec.outputDesc(i).numElements();
  return total;
}

int64_t tandem::harness::numMultiplyAdds(const CaseSpec &spec) {
  int64_t total = 0;
  for (const Step &step : spec.recipe.steps) {
    if (step.op != Opcode::GEMM_TILE && step.op != Opcode::GEMV_TILE)
      continue;
    Dims out = bindShape(step.results[0].shape, spec.dims);
    const ValueRef &x = step.args[0];
    int64_t inner = 0;
    if (x.kind == ValueRef::Kind::Input) {
      inner =
          bindShape(spec.recipe.inputs[static_cast<size_t>(x.index)].type.shape,
                    spec.dims)
              .back();
    } else {
      for (const Step &other : spec.recipe.steps)
        for (size_t i = 0; i < other.outs.size(); ++i)
          if (other.outs[i] == x)
            inner = bindShape(other.results[i].shape, spec.dims).back();
    }
    int64_t product = inner;
    for (int64_t size : out)
      product *= size;
    total += product;
  }
  return total;
}

/// JSON has no number for these.
static json givenToJson(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  return value;
}

static Result<double> givenFromJson(const json &j, const std::string &place) {
  if (j.is_number())
    return j.get<double>();
  if (j == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  if (j == "inf" || j == "-inf")
    return j == "inf" ? std::numeric_limits<double>::infinity()
                      : -std::numeric_limits<double>::infinity();
  return Error(place + ": expected a number, nan, inf or -inf, got " +
               j.dump());
}

static json operandToJson(const OperandSpec &operand, bool isInput) {
  json j = json::object();
  if (!operand.layout.strides.empty())
    j["strides"] = operand.layout.strides;
  if (operand.layout.offset)
    j["offset"] = operand.layout.offset;
  if (operand.aliasOf >= 0)
    j["alias_of"] = operand.aliasOf;
  if (!isInput)
    return j;
  j["values"] = operand.values.kind;
  if (operand.values.kind == givenKind) {
    j["values"] = json::array();
    for (double value : operand.values.given)
      j["values"].push_back(givenToJson(value));
  }
  if (operand.values.seed)
    j["seed"] = operand.values.seed;
  if (operand.values.limit)
    j["limit"] = operand.values.limit;
  if (operand.values.patch != "none") {
    j["patch"] = operand.values.patch;
    j["patch_at"] = operand.values.patchAt;
  }
  return j;
}

static Result<OperandSpec> operandFromJson(const json &j,
                                           const std::string &place) {
  OperandSpec operand;
  operand.layout.strides = j.value("strides", Dims());
  operand.layout.offset = j.value("offset", int64_t(0));
  operand.aliasOf = j.value("alias_of", -1);
  const json values = j.value("values", json("zero"));
  if (values.is_array()) {
    operand.values.kind = givenKind;
    if (values.empty())
      return Error(place + ".values: expected at least one number");
    for (const json &element : values) {
      Result<double> value = givenFromJson(element, place + ".values");
      if (!value)
        return value.error();
      operand.values.given.push_back(*value);
    }
  } else {
    operand.values.kind = values.get<std::string>();
  }
  operand.values.seed = j.value("seed", uint64_t(0));
  operand.values.limit = j.value("limit", int64_t(0));
  operand.values.patch = j.value("patch", "none");
  operand.values.patchAt = j.value("patch_at", uint64_t(0));
  return operand;
}

void tandem::harness::to_json(json &j, const CaseSpec &spec) {
  j = json::object();
  j["recipe"] = json::parse(writeRecipe(spec.recipe));
  j["dims"] = json::object();
  for (const auto &[name, size] : spec.dims)
    j["dims"][name] = size;
  j["inputs"] = json::array();
  for (const OperandSpec &operand : spec.inputs)
    j["inputs"].push_back(operandToJson(operand, true));
  j["outputs"] = json::array();
  for (const OperandSpec &operand : spec.outputs)
    j["outputs"].push_back(operandToJson(operand, false));
  j["target"] = spec.target;
  if (!spec.fuse)
    j["fuse"] = false;
  if (!spec.set.empty())
    j["set"] = spec.set;
  const EnvironmentSpec &around = spec.environment;
  j["environment"] = {{"schedule_seed", around.scheduleSeed},
                      {"approximation", around.approximation},
                      {"fill", around.fill},
                      {"guard_bands", around.guardBands},
                      {"repeat", around.repeat}};
  if (!spec.expect.empty())
    j["expect"] = spec.expect;
}

Result<CaseSpec> tandem::harness::specFromJson(const json &j,
                                               std::string_view place) {
  const std::string at(place);
  if (!j.is_object() || !j.contains("recipe"))
    return Error(at + ": a case needs a 'recipe'");
  Result<Recipe> recipe = readRecipe(j["recipe"].dump(), at + ".recipe");
  if (!recipe)
    return recipe.error();
  CaseSpec spec;
  spec.recipe = recipe.take();
  // nlohmann::json throws on a member of another type; the exception ends here.
  try {
    const json dims = j.value("dims", json::object());
    const json inputs = j.value("inputs", json::array());
    const json outputs = j.value("outputs", json::array());
    for (const auto &[name, size] : dims.items())
      spec.dims[name] = size.get<int64_t>();
    for (const auto &[list, name, operands] :
         {std::tuple(&inputs, "inputs", &spec.inputs),
          std::tuple(&outputs, "outputs", &spec.outputs)})
      for (size_t i = 0; i < list->size(); ++i) {
        Result<OperandSpec> operand = operandFromJson(
            list->at(i), at + "." + name + "[" + std::to_string(i) + "]");
        if (!operand)
          return operand.error();
        operands->push_back(operand.take());
      }
    spec.target = j.value("target", spec.target);
    spec.fuse = j.value("fuse", true);
    spec.set = j.value("set", std::map<std::string, std::string>());
    spec.expect = j.value("expect", "");
    const json around = j.value("environment", json::object());
    EnvironmentSpec &env = spec.environment;
    env.scheduleSeed = around.value("schedule_seed", uint64_t(0));
    env.approximation = around.value("approximation", "nearest");
    env.fill = around.value("fill", uint8_t(0xAA));
    env.guardBands = around.value("guard_bands", false);
    env.repeat = around.value("repeat", false);
  } catch (const json::exception &error) {
    return Error(at + ": " + error.what());
  }
  if (spec.inputs.size() != spec.recipe.inputs.size())
    return Error(at + ".inputs: expected " +
                 std::to_string(spec.recipe.inputs.size()) + " entries, got " +
                 std::to_string(spec.inputs.size()));
  if (spec.outputs.size() != spec.recipe.outputs.size())
    return Error(at + ".outputs: expected " +
                 std::to_string(spec.recipe.outputs.size()) + " entries, got " +
                 std::to_string(spec.outputs.size()));
  auto checkType = [&](const TensorType &type, const OperandSpec &operand,
                       const std::string &where) -> Result<void> {
    for (const Dim &dim : type.shape)
      if (dim.isSymbol() && !spec.dims.contains(dim.symbol()))
        return Error(at + ".dims: '" + dim.symbol() + "' has no size");
    if (!operand.layout.strides.empty() &&
        operand.layout.strides.size() != type.shape.size())
      return Error(where + ".strides: expected " +
                   std::to_string(type.shape.size()) + " numbers, got " +
                   std::to_string(operand.layout.strides.size()));
    return {};
  };
  for (size_t i = 0; i < spec.inputs.size(); ++i)
    if (auto ok = checkType(spec.recipe.inputs[i].type, spec.inputs[i],
                            at + ".inputs[" + std::to_string(i) + "]");
        !ok)
      return ok.error();
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const std::string where = at + ".outputs[" + std::to_string(i) + "]";
    if (auto ok =
            checkType(spec.recipe.outputs[i].type, spec.outputs[i], where);
        !ok)
      return ok.error();
    if (spec.outputs[i].aliasOf >= static_cast<int>(spec.inputs.size()))
      return Error(where + ".alias_of: no input " +
                   std::to_string(spec.outputs[i].aliasOf));
  }
  return spec;
}
