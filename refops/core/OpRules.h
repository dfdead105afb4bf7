//===- OpRules.h - The rules that a signature cannot say --------*- C++ -*-===//
#ifndef TANDEM_REFOPS_CORE_OPRULES_H
#define TANDEM_REFOPS_CORE_OPRULES_H

#include "refops/core/Signature.h"

#include <functional>
#include <map>

namespace tandem {

/// A dim of a signature that is computed from others: `kvh*D`, `D+2`,
/// `ceil(K/2)`.
struct DimExpr {
  enum class Kind : uint8_t { Times, Plus, HalfUp };
  Kind kind = Kind::Times;
  std::string name, other;
  int64_t number = 0;
};

/// Asserts that \p text is one.
DimExpr parseDimExpr(std::string_view text);

/// What the operands of a step say.
struct StepFacts {
  const OpInfo &op;
  const Params &params;
  const std::vector<TensorType> &operands;
  /// The signature's dim names.
  std::map<std::string, Dim, std::less<>> dims;
  std::optional<std::vector<Dim>> leading;
  /// The step's own word for its result, or null.
  const std::vector<Dim> *outShape = nullptr;

  const Dim *dim(std::string_view name) const {
    const auto found = dims.find(name);
    return found == dims.end() ? nullptr : &found->second;
  }
  /// The size of a dim that is a number.
  std::optional<int64_t> size(std::string_view name) const {
    const Dim *found = dim(name);
    if (!found || found->isSymbol())
      return std::nullopt;
    return found->size();
  }
};

/// The value, unless a dim in it is a symbol or unknown.
std::optional<int64_t> evaluate(const DimExpr &expr, const StepFacts &facts);

/// Applies the op's own rules (SEMANTICS, "Opcodes"): refused zeros, windows,
/// sizes that params repeat, head counts. May bind a dim that only the result
/// has. Calls \p fail with each message, without the op's name.
void checkOpRules(StepFacts &facts,
                  const std::function<void(const std::string &)> &fail);

/// Changes the inferred result where params do (PARTIAL_WRITE). True if its
/// dtype cannot be chosen any more.
bool adjustResult(const StepFacts &facts, TensorType &result);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_OPRULES_H
