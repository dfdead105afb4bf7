//===- Params.h - The parameters of a step ----------------------*- C++ -*-===//
#ifndef TANDEM_REFOPS_CORE_PARAMS_H
#define TANDEM_REFOPS_CORE_PARAMS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tandem {

/// The number of the step's operand that holds the param on the device. Such
/// operands stand after all others, in the order of their params' names.
struct OperandParam {
  int64_t operand = 0;
  bool operator==(const OperandParam &) const = default;
};

using ParamValue =
    std::variant<bool, int64_t, double, std::string, OperandParam>;

/// Parameters as given, checked against the op's ParamInfo by whoever read
/// them: of the declared type, in range, spelt right. Floats are stored as
/// given and rounded to f32 by getFloat (SEMANTICS, "Conventions").
class Params {
public:
  std::map<std::string, ParamValue, std::less<>> values;

  bool has(std::string_view name) const { return values.contains(name); }
  /// The operand that holds the param, if one does.
  std::optional<size_t> operandOf(std::string_view name) const;
  /// How many operands hold params.
  size_t numOperands() const;
  /// The value, or \p fallback when it was not given. Asserts on another type,
  /// and on an operand.
  int64_t getInt(std::string_view name, int64_t fallback) const;
  float getFloat(std::string_view name, float fallback) const;
  bool getBool(std::string_view name, bool fallback) const;
  std::string getString(std::string_view name, std::string fallback) const;

  bool operator==(const Params &) const = default;
};

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_PARAMS_H
