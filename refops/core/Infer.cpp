//===- Infer.cpp - Operand checks and result types by signature -----------===//
#include "refops/core/OpRules.h"
#include "refops/core/Spelling.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <map>

using namespace tandem;

namespace {
/// A dim whose formal is computed from others.
struct Expression {
  size_t operand, dim;
  std::string text;
};

class Inference {
public:
  Inference(const OpInfo &op, const Signature &signature,
            const std::vector<TensorType> &operands, const Params &params)
      : op(op), signature(signature), operands(operands), params(params),
        numOperands(operands.size() -
                    std::min(operands.size(), params.numOperands())),
        facts{op, params, operands, {}, {}, nullptr} {}

  /// Matches the operands; false after messages.
  bool match() {
    // What an operand is called depends on their number, and everything after
    // it on that.
    if (!checkArity())
      return false;
    for (size_t i = 0; i < numOperands; ++i)
      matchOperand(i);
    checkExpressions();
    return error.messages.empty();
  }

  /// The types of the results, once the operands match.
  Result<std::vector<TensorType>>
  infer(const std::optional<std::vector<Dim>> &outShape,
        const std::optional<DType> &outDtype) {
    facts.outShape = outShape ? &*outShape : nullptr;
    checkOpRules(facts, [&](const std::string &what) { fail(what); });
    if (!error.messages.empty())
      return std::move(error);
    return results(outShape, outDtype);
  }

  const Error &problems() const { return error; }

private:
  void fail(const std::string &what) {
    error.messages.push_back(std::string(op.mnemonic) + ": " + what);
  }

  bool checkArity() {
    using Count = SignatureOperand::Count;
    size_t least = 0;
    size_t most = signature.operands.size();
    std::string names;
    for (const SignatureOperand &operand : signature.operands) {
      least += operand.count != Count::Optional;
      if (operand.count == Count::OneOrMore)
        most = SIZE_MAX;
      names += (names.empty() ? " (" : ", ") + operand.name;
      names += operand.count == Count::Optional    ? "?"
               : operand.count == Count::OneOrMore ? "..."
                                                   : "";
    }
    if (numOperands >= least && numOperands <= most)
      return true;
    std::string expected = std::to_string(least);
    if (most == SIZE_MAX)
      expected += " or more";
    else if (most != least)
      expected += " to " + std::to_string(most);
    fail("takes " + expected + (most == 1 ? " operand" : " operands") + names +
         (names.empty() ? "" : ")") + ", got " + std::to_string(numOperands));
    return false;
  }

  const SignatureOperand &formalOf(size_t i) const {
    return signature.operands[std::min(i, signature.operands.size() - 1)];
  }

  /// The name of an actual operand: `x`, or `x[2]` among one or more.
  std::string nameOf(size_t i) const {
    const SignatureOperand &formal = formalOf(i);
    if (formal.count != SignatureOperand::Count::OneOrMore)
      return "operand '" + formal.name + "'";
    return "operand '" + formal.name + "[" +
           std::to_string(i + 1 - signature.operands.size()) + "]'";
  }

  bool matchesClass(const std::string &dtypeClass, DType dtype) const {
    if (dtypeClass == "f")
      return isFloat(dtype);
    if (dtypeClass == "i")
      return dtype == DType::I32 || dtype == DType::I64;
    if (dtypeClass == "any")
      return true;
    if (dtypeClass == "s")
      return dtype == operands[0].dtype;
    return dtypeNamed(dtypeClass) == dtype;
  }

  std::string classText(const std::string &dtypeClass) const {
    if (dtypeClass == "f")
      return "a float dtype";
    if (dtypeClass == "i")
      return "int32 or int64";
    if (dtypeClass == "s")
      return std::string(dtypeName(operands[0].dtype)) + " as in " + nameOf(0);
    return dtypeClass;
  }

  /// The formal dims of an operand; `weight_layout: kn` swaps those of W.
  std::vector<std::string> dimsOf(const SignatureOperand &formal) const {
    std::vector<std::string> dims = formal.dims;
    const ParamInfo *layout = op.param("weight_layout");
    if (formal.name == "W" && dims.size() == 2 &&
        params.getString("weight_layout",
                         std::string(layout ? layout->defaultValue : "nk")) ==
            "kn")
      std::swap(dims[0], dims[1]);
    return dims;
  }

  void matchOperand(size_t i) {
    const SignatureOperand &formal = formalOf(i);
    const TensorType &actual = operands[i];
    if (const std::string problem = problemOfShape(actual); !problem.empty())
      return fail(nameOf(i) + ": " + problem);
    if (!matchesClass(formal.dtypeClass, actual.dtype))
      fail(nameOf(i) + ": expected " + classText(formal.dtypeClass) + ", got " +
           actual.describe());
    const std::vector<std::string> dims = dimsOf(formal);
    if (dims == std::vector<std::string>{"~"})
      return broadcast(i);
    const bool hasLeading = !dims.empty() && dims[0] == "..";
    const size_t fixed = dims.size() - (hasLeading ? 1 : 0);
    const size_t rank = actual.shape.size();
    if (hasLeading ? rank < fixed : rank != fixed)
      return fail(nameOf(i) + ": expected rank " + std::to_string(fixed) +
                  (hasLeading ? " or more" : "") + ", got " +
                  actual.describe());
    if (hasLeading)
      matchLeading(i, rank - fixed);
    for (size_t d = 0; d < fixed; ++d)
      matchDim(i, dims[dims.size() - fixed + d], rank - fixed + d);
  }

  void matchLeading(size_t i, size_t count) {
    const std::vector<Dim> dims(operands[i].shape.begin(),
                                operands[i].shape.begin() +
                                    static_cast<std::ptrdiff_t>(count));
    if (!leading) {
      leading = dims;
      facts.leading = dims;
      leadingFrom = i;
    } else if (*leading != dims) {
      fail(nameOf(i) + ": expected leading dims " + shapeText(*leading) +
           " as in " + nameOf(leadingFrom) + ", got " + operands[i].describe());
    }
  }

  void matchDim(size_t i, const std::string &formal, size_t d) {
    const Dim &actual = operands[i].shape[d];
    if (std::isdigit(static_cast<unsigned char>(formal[0]))) {
      if (actual.text() != formal)
        fail(nameOf(i) + ": dim " + std::to_string(d) + ": expected " + formal +
             ", got " + operands[i].describe());
      return;
    }
    if (!isIdentifier(formal)) {
      expressions.push_back({i, d, formal});
      return;
    }
    const auto [bound, isNew] = bindings.try_emplace(formal, actual, i);
    if (isNew)
      facts.dims.emplace(formal, actual);
    if (!isNew && bound->second.first != actual)
      fail(nameOf(i) + ": dim " + std::to_string(d) + ": expected " + formal +
           " = " + bound->second.first.text() + " as in " +
           nameOf(bound->second.second) + ", got " + operands[i].describe());
  }

  /// Dims that are computed from others: known once all names are bound.
  void checkExpressions() {
    for (const Expression &e : expressions) {
      const Dim &actual = operands[e.operand].shape[e.dim];
      const DimExpr formal = parseDimExpr(e.text);
      if (formal.kind == DimExpr::Kind::Plus && !facts.dim(formal.name)) {
        bindDifference(e, formal, actual);
        continue;
      }
      const std::optional<int64_t> expected = evaluate(formal, facts);
      if (!expected || actual.isSymbol() || actual.size() == *expected)
        continue;
      fail(nameOf(e.operand) + ": dim " + std::to_string(e.dim) +
           ": expected " + e.text + " = " + std::to_string(*expected) +
           ", got " + operands[e.operand].describe());
    }
  }

  /// `D+2` alone says what D is.
  void bindDifference(const Expression &e, const DimExpr &formal,
                      const Dim &actual) {
    if (actual.isSymbol() || actual.size() < formal.number)
      return fail(nameOf(e.operand) + ": dim " + std::to_string(e.dim) +
                  ": expected a number from " + std::to_string(formal.number) +
                  ", got " + operands[e.operand].describe());
    facts.dims.emplace(formal.name, Dim(actual.size() - formal.number));
  }

  void broadcast(size_t i) {
    const std::vector<Dim> &shape = operands[i].shape;
    if (!broadcastShape) {
      broadcastShape = shape;
      return;
    }
    std::vector<Dim> &all = *broadcastShape;
    const std::string before = shapeText(all);
    if (all.size() < shape.size())
      all.insert(all.begin(), shape.size() - all.size(), Dim(1));
    const size_t offset = all.size() - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      Dim &mine = all[offset + d];
      if (mine == shape[d] || shape[d] == Dim(1))
        continue;
      if (mine != Dim(1)) {
        fail(nameOf(i) + ": " + operands[i].describe() +
             " does not broadcast with " + before);
        return;
      }
      mine = shape[d];
    }
  }

  DType defaultDtype(const std::string &dtypeClass) const {
    if (dtypeClass == "f")
      for (const TensorType &operand : operands)
        if (isFloat(operand.dtype))
          return operand.dtype;
    if (const std::optional<DType> exact = dtypeNamed(dtypeClass))
      return *exact;
    return operands.empty() ? DType::F32 : operands[0].dtype;
  }

  /// Whether the step may choose the result's dtype.
  static bool isChosen(const std::string &dtypeClass) {
    return dtypeClass == "f" || dtypeClass == "any";
  }

  std::vector<Dim> shapeOf(const SignatureOperand &result) const {
    std::vector<Dim> shape;
    for (const std::string &dim : result.dims) {
      if (dim == "..")
        shape.insert(shape.end(), leading->begin(), leading->end());
      else if (dim == "~")
        shape = *broadcastShape;
      else if (const Dim *bound = facts.dim(dim))
        shape.push_back(*bound);
      else
        shape.push_back(Dim(int64_t(std::stoll(dim))));
    }
    return shape;
  }

  Result<std::vector<TensorType>>
  results(const std::optional<std::vector<Dim>> &outShape,
          const std::optional<DType> &outDtype) {
    std::vector<TensorType> types;
    for (const SignatureOperand &formal : signature.results) {
      const std::string name = "result '" + formal.name + "'";
      TensorType type;
      type.dtype = defaultDtype(formal.dtypeClass);
      type.shape = shapeOf(formal);
      const bool isFixed = adjustResult(facts, type);
      if (outDtype && isChosen(formal.dtypeClass) && !isFixed) {
        type.dtype = *outDtype;
        if (!matchesClass(formal.dtypeClass, *outDtype))
          fail(name + ": expected " + classText(formal.dtypeClass) + ", got " +
               std::string(dtypeName(*outDtype)));
      } else if (outDtype && *outDtype != type.dtype) {
        fail(name + ": expected " + std::string(dtypeName(type.dtype)) +
             ", got " + std::string(dtypeName(*outDtype)));
      }
      if (outShape && *outShape != type.shape)
        fail(name + ": expected shape " + shapeText(type.shape) + ", got " +
             shapeText(*outShape));
      if (const std::string problem = problemOfShape(type); !problem.empty())
        fail(name + ": " + problem);
      types.push_back(std::move(type));
    }
    if (!error.messages.empty())
      return std::move(error);
    return types;
  }

  const OpInfo &op;
  const Signature &signature;
  const std::vector<TensorType> &operands;
  const Params &params;
  /// Without those that hold params.
  size_t numOperands;
  StepFacts facts;
  Error error;
  std::optional<std::vector<Dim>> leading;
  size_t leadingFrom = 0;
  std::optional<std::vector<Dim>> broadcastShape;
  /// Dim names to the dim and the operand that bound them.
  std::map<std::string, std::pair<Dim, size_t>> bindings;
  std::vector<Expression> expressions;
};
} // namespace

/// The operands that hold params: the last ones, in order, int32 [] or [n].
static Result<void> checkParamOperands(const OpInfo &op,
                                       const std::vector<TensorType> &operands,
                                       const Params &params) {
  Error error;
  size_t next =
      operands.size() - std::min(operands.size(), params.numOperands());
  for (const auto &[name, value] : params.values) {
    const OperandParam *held = std::get_if<OperandParam>(&value);
    if (!held)
      continue;
    const std::string place =
        std::string(op.mnemonic) + ": param " + quote(name) + ": ";
    if (held->operand != static_cast<int64_t>(next) || next >= operands.size())
      error.messages.push_back(place + "expected operand " +
                               std::to_string(next) + " to hold it, got " +
                               std::to_string(held->operand));
    else if (operands[next].dtype != DType::I32 ||
             operands[next].shape.size() > 1)
      error.messages.push_back(place +
                               "expected int32[], int32[1] or int32[B]"
                               ", got " +
                               operands[next].describe());
    ++next;
  }
  if (!error.messages.empty())
    return error;
  return {};
}

/// The alternative that the operands fit, or the one with the fewest messages.
static Inference bestInference(const OpInfo &op,
                               const std::vector<TensorType> &operands,
                               const Params &params, size_t *which) {
  std::optional<Inference> best;
  const std::vector<Signature> &alternatives = signaturesOf(op);
  for (size_t i = 0; i < alternatives.size(); ++i) {
    Inference one(op, alternatives[i], operands, params);
    const bool fits = one.match();
    if (best && !fits &&
        one.problems().messages.size() >= best->problems().messages.size())
      continue;
    best.emplace(std::move(one));
    *which = i;
    if (fits)
      break;
  }
  return std::move(*best);
}

const Signature &tandem::signatureFor(const OpInfo &op,
                                      const std::vector<TensorType> &operands,
                                      const Params &params) {
  size_t which = 0;
  bestInference(op, operands, params, &which);
  return signaturesOf(op)[which];
}

Result<std::vector<TensorType>>
tandem::inferResults(const OpInfo &op, const std::vector<TensorType> &operands,
                     const Params &params,
                     const std::optional<std::vector<Dim>> &outShape,
                     const std::optional<DType> &outDtype) {
  if (!op.defined)
    return Error(std::string(op.mnemonic) +
                 ": the op is not available yet in this version");
  if (Result<void> checked = checkParams(op, params); !checked)
    return checked.error();
  if (Result<void> checked = checkParamOperands(op, operands, params); !checked)
    return checked.error();
  size_t which = 0;
  Inference inference = bestInference(op, operands, params, &which);
  if (!inference.problems().messages.empty())
    return inference.problems();
  return inference.infer(outShape, outDtype);
}
