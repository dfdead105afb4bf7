//===- CaseSpec.h - One case, spelt out -------------------------*- C++ -*-===//
//
// What a case runs, with nothing left to chance: recipe, sizes, where each
// operand lies in memory, how its values are made, and under which compiler and
// device settings. Generators make specs from choices; the corpus stores them,
// so that a regression does not move when a generator does.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_CASE_CASESPEC_H
#define TANDEM_HARNESS_CASE_CASESPEC_H

#include "refops/core/Recipe.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tandem::harness {

/// The kind of values that stand in the spec themselves; no generator draws it.
inline constexpr std::string_view givenKind = "given";

/// Values as a function of the element's position: `kind` names the function
/// (harness/gen/Values.h lists them), `patch` overwrites a few elements. In
/// JSON
/// `"values"` is the name of a kind, or the numbers themselves.
struct ValueSpec {
  std::string kind = "zero";
  uint64_t seed = 0;
  /// Of kind `given`: the elements in row-major order, from the start again
  /// when there are more.
  std::vector<double> given = {};
  /// Exclusive upper limit of index values; 0 when the values are no indices.
  int64_t limit = 0;
  std::string patch = "none";
  /// Where the patch goes, modulo what there is.
  uint64_t patchAt = 0;
  bool operator==(const ValueSpec &) const = default;
};

/// Where an operand lies: the byte address is 256-byte aligned plus `offset`
/// elements.
struct LayoutSpec {
  /// Elements, one a dim; empty means contiguous.
  Dims strides;
  int64_t offset = 0;
  bool operator==(const LayoutSpec &) const = default;
};

struct OperandSpec {
  LayoutSpec layout;
  /// Inputs only.
  ValueSpec values;
  /// Outputs only: the input whose memory this output is, or -1.
  int aliasOf = -1;
  bool operator==(const OperandSpec &) const = default;
};

/// What surrounds a launch.
struct EnvironmentSpec {
  uint64_t scheduleSeed = 0;
  std::string approximation = "nearest";
  uint8_t fill = 0xAA;
  /// Bands of poison around every buffer; without them the buffer is an
  /// allocation of its own, so that a checking device sees every overrun.
  bool guardBands = false;
  /// Launch a second time, with the other fill and schedule, and demand equal
  /// bits.
  bool repeat = false;
  bool operator==(const EnvironmentSpec &) const = default;
};

struct CaseSpec {
  Recipe recipe;
  DimBindings dims;
  std::vector<OperandSpec> inputs;
  std::vector<OperandSpec> outputs;
  std::string target = "sm_90a";
  bool fuse = true;
  std::map<std::string, std::string> set;
  EnvironmentSpec environment;
  /// `nan` or `zero` when most of the output is meant to be that.
  std::string expect;

  /// Type, shape and strides of an operand.
  TensorDesc inputDesc(size_t index) const;
  TensorDesc outputDesc(size_t index) const;
  bool operator==(const CaseSpec &) const = default;
};

void to_json(nlohmann::json &j, const CaseSpec &spec);
/// Fails with the place of the first member that does not fit.
Result<CaseSpec> specFromJson(const nlohmann::json &j, std::string_view place);

/// The case's operands where a device could put them, far apart and without
/// memory behind them: for checks of a call, and for a compiler, which looks at
/// alignment only.
struct PlacedOperands {
  std::vector<Operand> inputs, outputs;
};
PlacedOperands placeOperands(const CaseSpec &spec);

/// The ops of a recipe in order: `rmsnorm+gelu`.
std::string opsOf(const Recipe &recipe);

/// Input and output elements, and multiply-adds of its matrix products.
int64_t numElements(const CaseSpec &spec);
int64_t numMultiplyAdds(const CaseSpec &spec);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_CASE_CASESPEC_H
