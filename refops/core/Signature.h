//===- Signature.h - Operand and result shapes of an op ---------*- C++ -*-===//
//
// One text per op states which operands it takes and what it gives:
//
//   x: f[..,K], w: f[K] -> y: f[..,K]
//
//   signature := alternative ('|' alternative)*
//   operand := NAME ('?' | '*' | '&')? ':' CLASS '[' dim (',' dim)* ']'
//   CLASS   := 'f' any float | 'i' int32 or int64 | 'any' | 's' the dtype of
//              the first operand | a recipe dtype name
//   dim     := '..' leading dims, equal in all operands that have it
//            | '~'  all dims, broadcast as NumPy does
//            | NAME | INTEGER | NAME '*' NAME | NAME '+' INTEGER
//            | 'ceil(' NAME '/2)'
//   '?' optional, '*' one or more (last operand only), '&' updated in place: a
//   state of the recipe
//
// The first alternative that the operands fit holds. All alternatives have the
// same operand and result names, in the same order, as far as each has them.
//
// A result's CLASS 'f' takes the step's out_dtype and defaults to the first
// float operand's dtype. The same text drives recipe checks, insn verifiers,
// shape inference, generators, Python stubs and the manual.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_SIGNATURE_H
#define TANDEM_REFOPS_CORE_SIGNATURE_H

#include "refops/core/OpInfo.h"
#include "refops/core/Params.h"
#include "refops/core/Result.h"
#include "refops/core/Tensor.h"

#include <optional>
#include <string>
#include <variant>

namespace tandem {

/// A dimension of a recipe: a number, or a symbol that is bound at run time.
struct Dim {
  std::variant<int64_t, std::string> value;

  Dim(int64_t size) : value(size) {}
  Dim(std::string symbol) : value(std::move(symbol)) {}
  bool isSymbol() const { return value.index() == 1; }
  int64_t size() const { return std::get<int64_t>(value); }
  const std::string &symbol() const { return std::get<std::string>(value); }
  std::string text() const {
    return isSymbol() ? symbol() : std::to_string(size());
  }
  bool operator==(const Dim &) const = default;
};

/// `[M, 64]`.
std::string shapeText(const std::vector<Dim> &shape);

/// Type of a recipe's value: dtype and possibly symbolic shape.
struct TensorType {
  DType dtype = DType::F32;
  std::vector<Dim> shape;
  /// `bfloat16[M, 64]`.
  std::string describe() const;
  bool operator==(const TensorType &) const = default;
};

struct SignatureOperand {
  enum class Count : uint8_t { One, Optional, OneOrMore };
  std::string name;
  Count count = Count::One;
  /// Updated in place.
  bool isState = false;
  std::string dtypeClass;
  std::vector<std::string> dims;
};

struct Signature {
  std::vector<SignatureOperand> operands;
  std::vector<SignatureOperand> results;
};

/// The parsed alternatives of a defined op's signature (parsed once, cached).
/// Asserts that the table's text is well formed: a unit test parses all of
/// them.
const std::vector<Signature> &signaturesOf(const OpInfo &op);

/// The first alternative: for what all alternatives share.
const Signature &signatureOf(const OpInfo &op);

/// The alternative that \p operands fit; of those that they do not fit, the one
/// with the fewest complaints.
const Signature &signatureFor(const OpInfo &op,
                              const std::vector<TensorType> &operands,
                              const Params &params);

/// Checks \p operands against the op's signature and params, and gives the
/// types of the results. \p outShape and \p outDtype are the step's own words,
/// when it has any; they must agree with the rule. Beyond the signature it
/// applies the rules of SEMANTICS that a signature cannot say (rank limits,
/// N_tile windows, refused zero dims, `dim` in range); a symbol equals only
/// itself. Every message names op, operand, expected and got.
Result<std::vector<TensorType>>
inferResults(const OpInfo &op, const std::vector<TensorType> &operands,
             const Params &params,
             const std::optional<std::vector<Dim>> &outShape = std::nullopt,
             const std::optional<DType> &outDtype = std::nullopt);

/// Checks the spelling, type and range of \p params, and that none is missing;
/// suggests the nearest name for an unknown one.
Result<void> checkParams(const OpInfo &op, const Params &params);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_SIGNATURE_H
