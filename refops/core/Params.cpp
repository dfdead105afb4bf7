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
