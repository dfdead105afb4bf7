//===- RecipeWords.cpp - The words that recipes and plans share -----------===//
#include "refops/core/RecipeWords.h"

#include "refops/core/Spelling.h"

#include <array>

using namespace tandem;
using nlohmann::json;

static constexpr std::array<std::string_view, 10> dtypeNames = {
    "float32",     "float16", "bfloat16", "float64", "float8_e4m3fn",
    "float8_e5m2", "int8",    "int32",    "int64",   "uint8"};

std::optional<DType> tandem::dtypeIn(JsonObject &object,
                                     std::string_view member,
                                     Messages &messages) {
  const std::optional<std::string> name = object.getString(member);
  if (!name)
    return std::nullopt;
  for (std::string_view known : dtypeNames)
    if (known == *name)
      return dtypeNamed(known);
  messages.add(object.placeOf(member), "no dtype is named " + quote(*name) +
                                           didYouMean(*name, dtypeNames));
  return std::nullopt;
}

const OpInfo *tandem::opIn(const json &j, const std::string &place,
                           Messages &messages) {
  if (j.is_string()) {
    const std::string &name = j.get_ref<const std::string &>();
    if (const OpInfo *op = findOpInfo(name))
      return op;
    const std::string_view nearest = nearestOpName(name);
    messages.add(place,
                 "no op is named " + quote(name) +
                     (nearest.empty()
                          ? std::string()
                          : "; did you mean '" + std::string(nearest) + "'?"));
  } else if (const std::optional<int64_t> code = integerIn(j)) {
    if (const OpInfo *op = findOpInfo(std::to_string(*code)))
      return op;
    messages.add(place, "no op has the code " + std::to_string(*code));
  } else {
    messages.add(place, "expected a name or a code, got " + describeJson(j));
  }
  return nullptr;
}

/// A type of quantised weights by its code or by the name of its code.
static std::optional<std::string> quantisedName(const json &value) {
  const std::optional<int64_t> code = integerIn(value);
  if (code == static_cast<int64_t>(DType::I8) || value == "I8")
    return "int8";
  if (code == static_cast<int64_t>(DType::I4) || value == "I4")
    return "int4";
  return std::nullopt;
}

std::optional<ParamValue>
tandem::paramIn(const OpInfo *op, std::string_view name, const json &value) {
  if (value.is_boolean())
    return value.get_ref<const bool &>();
  if (name == "qdtype")
    if (const std::optional<std::string> stored = quantisedName(value))
      return *stored;
  if (value.is_string())
    return value.get_ref<const std::string &>();
  const ParamInfo *info = op ? op->param(name) : nullptr;
  const bool isFloat = info && info->type == ParamType::Float;
  if (const std::optional<int64_t> integer = integerIn(value);
      integer && !isFloat)
    return *integer;
  if (value.is_number())
    return value.get<double>();
  return std::nullopt;
}
