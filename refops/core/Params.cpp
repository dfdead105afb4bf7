//===- Params.cpp - The parameters of a step ------------------------------===//
#include "refops/core/Params.h"

#include <cassert>

using namespace tandem;

template <typename T>
static const T *given(const Params &params, std::string_view name) {
  const auto found = params.values.find(name);
  if (found == params.values.end())
    return nullptr;
  const T *value = std::get_if<T>(&found->second);
  assert(value && "a checked param has its declared type");
  return value;
}

std::optional<size_t> Params::operandOf(std::string_view name) const {
  const auto found = values.find(name);
  if (found == values.end())
    return std::nullopt;
  const OperandParam *held = std::get_if<OperandParam>(&found->second);
  if (!held)
    return std::nullopt;
  return static_cast<size_t>(held->operand);
}

size_t Params::numOperands() const {
  size_t count = 0;
  for (const auto &[name, value] : values)
    count += std::holds_alternative<OperandParam>(value);
  return count;
}

int64_t Params::getInt(std::string_view name, int64_t fallback) const {
  const int64_t *value = given<int64_t>(*this, name);
  return value ? *value : fallback;
}

float Params::getFloat(std::string_view name, float fallback) const {
  const double *value = given<double>(*this, name);
  return value ? static_cast<float>(*value) : fallback;
}

bool Params::getBool(std::string_view name, bool fallback) const {
  const bool *value = given<bool>(*this, name);
  return value ? *value : fallback;
}

std::string Params::getString(std::string_view name,
                              std::string fallback) const {
  const std::string *value = given<std::string>(*this, name);
  return value ? *value : fallback;
}
