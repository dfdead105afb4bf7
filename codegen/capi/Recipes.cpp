//===- Recipes.cpp - The op table and recipes in C ------------------------===//
#include "codegen/capi/Objects.h"

#include "refops/core/JsonText.h"
#include "refops/core/OpInfo.h"
#include "refops/core/RecipeWords.h"
#include "refops/core/Spelling.h"

using namespace tandem;
using namespace tandem::capi;
using nlohmann::json;

namespace {

/// The long text of ODS, by mnemonic.
std::string_view descriptionOf(std::string_view mnemonic) {
  struct Entry {
    std::string_view mnemonic, text;
  };
  static const Entry entries[] = {
#define TANDEM_OP_DESCRIPTION(mnemonic, text) {#mnemonic, text},
#include "refops/core/OpDescriptions.inc"
#undef TANDEM_OP_DESCRIPTION
  };
  for (const Entry &entry : entries)
    if (entry.mnemonic == mnemonic)
      return entry.text;
  return {};
}

json operandJson(const SignatureOperand &operand) {
  constexpr const char *counts[] = {"one", "optional", "one_or_more"};
  json j = {{"name", operand.name},
            {"count", counts[static_cast<size_t>(operand.count)]},
            {"dtype", operand.dtypeClass},
            {"dims", operand.dims}};
  if (operand.isState)
    j["state"] = true;
  return j;
}

/// The operands of all alternatives; one that some lack is optional.
std::vector<SignatureOperand> operandsOf(const OpInfo &op) {
  std::vector<SignatureOperand> all;
  std::vector<size_t> uses;
  for (const Signature &signature : signaturesOf(op))
    for (const SignatureOperand &operand : signature.operands) {
      size_t i = 0;
      while (i < all.size() && all[i].name != operand.name)
        ++i;
      if (i == all.size()) {
        all.push_back(operand);
        uses.push_back(0);
      }
      ++uses[i];
    }
  for (size_t i = 0; i < all.size(); ++i)
    if (uses[i] < signaturesOf(op).size())
      all[i].count = SignatureOperand::Count::Optional;
  return all;
}

json paramJson(const ParamInfo &param) {
  constexpr const char *types[] = {"bool", "int", "float", "string"};
  return {{"name", param.name},
          {"type", types[static_cast<size_t>(param.type)]},
          {"default", param.defaultValue},
          {"range", param.range},
          {"doc", param.doc},
          {"may_be_operand", param.mayBeOperand}};
}

json opJson(const OpInfo &op) {
  json j = {{"code", static_cast<int>(op.code)},
            {"name", op.name},
            {"mnemonic", op.mnemonic},
            {"defined", op.defined},
            {"signature", op.signature},
            {"operands", json::array()},
            {"results", json::array()},
            {"params", json::array()},
            {"summary", op.summary},
            {"description", descriptionOf(op.mnemonic)}};
  if (!op.defined)
    return j;
  const Signature &signature = signatureOf(op);
  for (const SignatureOperand &operand : operandsOf(op))
    j["operands"].push_back(operandJson(operand));
  for (const SignatureOperand &result : signature.results)
    j["results"].push_back(operandJson(result));
  for (const ParamInfo &param : op.params)
    j["params"].push_back(paramJson(param));
  return j;
}

Result<Params> paramsFrom(const OpInfo &op, const char *text) {
  Params params;
  if (!text)
    return params;
  const Result<json> parsed = parseJson(text, "params");
  if (!parsed)
    return parsed.error();
  if (!parsed->is_object())
    return Error("params: not a JSON object");
  for (const auto &[name, value] : parsed->items()) {
    if (std::optional<ParamValue> read = paramIn(&op, name, value))
      params.values[name] = std::move(*read);
    else if (value.is_object() && value.size() == 1 && value.contains("in") &&
             value["in"].is_number_unsigned())
      params.values[name] = OperandParam{value["in"].get<int64_t>()};
    else
      return Error("params." + name + ": " + describeJson(value) +
                   ", expected a bool, number, string or {\"in\": operand}");
  }
  return params;
}

/// The op of that name, or an error that suggests the nearest one.
Result<const OpInfo *> definedOp(const char *name) {
  const OpInfo *op = findOpInfo(name);
  if (op && op->defined)
    return op;
  std::string_view near = nearestOpName(name);
  return Error("no op is named " + quote(name) +
               (near.empty() || near == name
                    ? ""
                    : "; did you mean " + quote(near) + "?"));
}

/// Reads the members `dtype` and `shape`, where they are, of \p j.
struct PartialType {
  std::optional<DType> dtype;
  std::optional<std::vector<Dim>> shape;
};
Result<PartialType> partialTypeFrom(const json &j, const std::string &place) {
  PartialType type;
  if (!j.is_object())
    return Error(place + ": not a JSON object");
  if (auto it = j.find("dtype"); it != j.end()) {
    if (it->is_string())
      type.dtype = dtypeNamed(it->get<std::string>());
    if (!type.dtype)
      return Error(place + ".dtype: no dtype is named " + describeJson(*it));
  }
  if (auto it = j.find("shape"); it != j.end()) {
    if (!it->is_array())
      return Error(place + ".shape: not a JSON list");
    type.shape.emplace();
    for (const json &dim : *it) {
      if (dim.is_string())
        type.shape->push_back(dim.get<std::string>());
      else if (const std::optional<int64_t> size = integerIn(dim))
        type.shape->push_back(*size);
      else
        return Error(place + ".shape: " + describeJson(dim) +
                     ", expected a size or a symbol");
    }
  }
  return type;
}

tandem_status giveRecipe(Result<Recipe> recipe, tandem_recipe **out,
                         char **error) {
  if (!recipe)
    return fail(TANDEM_INVALID, recipe.error(), error);
  *out = new tandem_recipe{recipe.take()};
  return TANDEM_OK;
}

std::string fileOf(const char *file) { return file ? file : "recipe"; }

} // namespace

extern "C" {

const char *tandem_version(void) { return TANDEM_VERSION; }

char *tandem_ops(void) {
  json all = json::array();
  for (const OpInfo &op : opTable())
    all.push_back(opJson(op));
  return giveJson(all);
}

tandem_status tandem_infer(const char *op, const char *operands,
                           const char *params, const char *out, char **results,
                           char **error) {
  return guarded(error, [&] {
    auto info = definedOp(op);
    if (!info)
      return fail(TANDEM_UNKNOWN, info.error(), error);
    const Result<json> parsed = parseJson(operands, "operands");
    if (!parsed)
      return fail(TANDEM_INVALID, parsed.error(), error);
    const json &listed = *parsed;
    if (!listed.is_array())
      return fail(TANDEM_INVALID, Error("operands: not a JSON list"), error);
    std::vector<TensorType> types;
    for (size_t i = 0; i < listed.size(); ++i) {
      std::string place = "operands[" + std::to_string(i) + "]";
      auto type = partialTypeFrom(listed[i], place);
      if (!type)
        return fail(TANDEM_INVALID, type.error(), error);
      if (!type->dtype || !type->shape)
        return fail(TANDEM_INVALID, Error(place + ": needs dtype and shape"),
                    error);
      types.push_back({*type->dtype, *type->shape});
    }
    auto given = paramsFrom(**info, params);
    if (!given)
      return fail(TANDEM_INVALID, given.error(), error);
    if (auto r = checkParams(**info, *given); !r)
      return fail(TANDEM_INVALID, r.error(), error);
    const Result<json> outType =
        out ? parseJson(out, "out") : Result<json>(json::object());
    if (!outType)
      return fail(TANDEM_INVALID, outType.error(), error);
    auto declared = partialTypeFrom(*outType, "out");
    if (!declared)
      return fail(TANDEM_INVALID, declared.error(), error);
    auto inferred =
        inferResults(**info, types, *given, declared->shape, declared->dtype);
    if (!inferred)
      return fail(TANDEM_INVALID, inferred.error(), error);
    json all = json::array();
    for (const TensorType &type : *inferred) {
      json shape = json::array();
      for (const Dim &dim : type.shape)
        shape.push_back(dim.isSymbol() ? json(dim.symbol()) : json(dim.size()));
      all.push_back({{"dtype", dtypeName(type.dtype)}, {"shape", shape}});
    }
    *results = giveJson(all);
    return TANDEM_OK;
  });
}

tandem_status tandem_recipe_read(const char *text, const char *file,
                                 tandem_recipe **recipe, char **error) {
  return guarded(error, [&] {
    return giveRecipe(readRecipe(text, fileOf(file)), recipe, error);
  });
}

tandem_status tandem_recipe_from_insn(const char *mlir, const char *file,
                                      tandem_recipe **recipe, char **error) {
  return guarded(error, [&] {
    return giveRecipe(recipeFromInsn(mlir, fileOf(file)), recipe, error);
  });
}

tandem_status tandem_recipe_for_op(const char *op, const tandem_view *inputs,
                                   size_t numInputs, const char *params,
                                   const char *outDtype, tandem_recipe **recipe,
                                   char **error) {
  return guarded(error, [&] {
    auto info = definedOp(op);
    if (!info)
      return fail(TANDEM_UNKNOWN, info.error(), error);
    auto given = paramsFrom(**info, params);
    if (!given)
      return fail(TANDEM_INVALID, given.error(), error);
    std::optional<DType> dtype;
    if (outDtype) {
      dtype = dtypeNamed(outDtype);
      if (!dtype)
        return fail(TANDEM_INVALID,
                    Error("out_dtype: no dtype is named " + quote(outDtype)),
                    error);
    }
    // Only types are asked for: views without data are fine here.
    std::vector<tandem_view> typed(inputs, inputs + numInputs);
    for (tandem_view &view : typed)
      view.data = &view;
    auto views = viewsFrom(typed.data(), numInputs, "inputs");
    if (!views)
      return fail(TANDEM_INVALID, views.error(), error);
    std::vector<TensorType> types;
    for (const View &view : *views)
      types.push_back(
          {view.desc.dtype, {view.desc.shape.begin(), view.desc.shape.end()}});
    return giveRecipe(
        singleOpRecipe((*info)->code, std::move(types), given.take(), dtype),
        recipe, error);
  });
}

void tandem_recipe_close(tandem_recipe *recipe) { delete recipe; }

char *tandem_recipe_json(const tandem_recipe *recipe) {
  return give(writeRecipe(recipe->recipe));
}

char *tandem_recipe_warnings(const tandem_recipe *recipe) {
  return giveJson(json(recipe->recipe.warnings));
}

tandem_status tandem_recipe_insn(const tandem_recipe *recipe, char **mlir,
                                 char **error) {
  return guarded(error, [&] {
    auto text = recipeToInsn(recipe->recipe);
    if (!text)
      return fail(TANDEM_FAILED, text.error(), error);
    *mlir = give(*text);
    return TANDEM_OK;
  });
}

tandem_status tandem_recipe_outputs(const tandem_recipe *recipe,
                                    const tandem_view *inputs, size_t numInputs,
                                    char **outputs, char **error) {
  return guarded(error, [&] {
    auto views = viewsFrom(inputs, numInputs, "inputs");
    if (!views)
      return fail(TANDEM_INVALID, views.error(), error);
    auto dims = bindDims(recipe->recipe, descsOf(*views));
    if (!dims)
      return fail(TANDEM_INVALID, dims.error(), error);
    json all = json::array();
    for (const RecipeOutput &output : recipe->recipe.outputs)
      all.push_back({{"name", output.name},
                     {"dtype", dtypeName(output.type.dtype)},
                     {"shape", bindShape(output.type.shape, *dims)}});
    *outputs = giveJson(all);
    return TANDEM_OK;
  });
}

} // extern "C"
