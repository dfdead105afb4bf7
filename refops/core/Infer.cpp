//===- Infer.cpp - Operand checks and result types by signature -----------===//
#include "refops/core/Signature.h"
#include "refops/core/Spelling.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <map>

using namespace tandem;

std::string tandem::problemOfShape(const TensorType &type) {
  if (type.shape.size() > maxRank)
    return "rank " + std::to_string(type.shape.size()) +
           " is above the limit of " + std::to_string(maxRank);
  __int128 elements = 1;
  bool isEmpty = false;
  for (const Dim &dim : type.shape) {
    if (dim.isSymbol())
      continue;
    if (dim.size() < 0)
      return "dim " + dim.text() + " is negative";
    if (dim.size() > maxDim)
      return "dim " + dim.text() + " is above the limit of 2^62";
    isEmpty |= dim.size() == 0;
    if (elements <= maxDim)
      elements *= dim.size() ? dim.size() : 1;
  }
  if (!isEmpty && elements > maxDim)
    return "it has more than 2^62 elements";
  return {};
}

bool tandem::isIdentifier(std::string_view text) {
  if (text.empty() || text.size() > 64)
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (!std::isalpha(c) && c != '_' && (i == 0 || !std::isdigit(c)))
      return false;
  }
  return true;
}

static bool isZero(const Dim &dim) {
  return !dim.isSymbol() && dim.size() == 0;
}

namespace {
class Inference {
public:
  Inference(const OpInfo &op, const Signature &signature,
            const std::vector<TensorType> &operands, const Params &params)
      : op(op), signature(signature), operands(operands), params(params) {}

  Result<std::vector<TensorType>>
  run(const std::optional<std::vector<Dim>> &outShape,
      const std::optional<DType> &outDtype) {
    // What an operand is called depends on their number, and everything after
    // it on that.
    if (!checkArity())
      return std::move(error);
    for (size_t i = 0; i < operands.size(); ++i)
      matchOperand(i);
    if (error.messages.empty())
      checkRules();
    if (!error.messages.empty())
      return std::move(error);
    return results(outShape, outDtype);
  }

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
    if (operands.size() >= least && operands.size() <= most)
      return true;
    std::string expected = std::to_string(least);
    if (most == SIZE_MAX)
      expected += " or more";
    else if (most != least)
      expected += " to " + std::to_string(most);
    fail("takes " + expected + (most == 1 ? " operand" : " operands") + names +
         (names.empty() ? "" : ")") + ", got " +
         std::to_string(operands.size()));
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
    if (formal.name == "W" && dims.size() == 2 &&
        params.getString("weight_layout", "nk") == "kn")
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
    const auto [bound, isNew] = bindings.try_emplace(formal, actual, i);
    if (!isNew && bound->second.first != actual)
      fail(nameOf(i) + ": dim " + std::to_string(d) + ": expected " + formal +
           " = " + bound->second.first.text() + " as in " +
           nameOf(bound->second.second) + ", got " + operands[i].describe());
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

  const Dim *boundDim(const std::string &name) const {
    const auto found = bindings.find(name);
    return found == bindings.end() ? nullptr : &found->second.first;
  }

  /// The rules that a signature cannot say.
  void checkRules() {
    checkRepeats("K", "K");
    checkRepeats("hidden", "K");
    switch (op.code) {
    case Opcode::GEMV_TILE:
      refuseZero("M", leading ? *leading : std::vector<Dim>());
      for (const char *name : {"K", "N"})
        if (const Dim *dim = boundDim(name))
          refuseZero(name, {*dim});
      [[fallthrough]];
    case Opcode::GEMM_TILE:
      checkWindow();
      break;
    case Opcode::SAMPLE_ARGMAX:
      if (const Dim *dim = boundDim("V"))
        refuseZero("V", {*dim});
      break;
    case Opcode::SOFTMAX:
      checkAxis();
      break;
    default:
      break;
    }
  }

  /// A param that repeats a dim must agree with it.
  void checkRepeats(std::string_view param, const std::string &dimName) {
    const Dim *dim = boundDim(dimName);
    if (!params.has(param) || !dim || dim->isSymbol())
      return;
    const int64_t value = params.getInt(param, 0);
    if (value != dim->size())
      fail("param '" + std::string(param) + "': expected " + dim->text() +
           ", the size of the axis, got " + std::to_string(value));
  }

  void refuseZero(std::string_view name, const std::vector<Dim> &dims) {
    if (std::any_of(dims.begin(), dims.end(), isZero))
      fail(std::string(name) + " = 0 is refused");
  }

  void checkWindow() {
    // Then n_off + N_tile fits 64 bits.
    for (const char *name : {"n_off", "N_tile"})
      if (params.getInt(name, 0) > maxDim)
        fail("param '" + std::string(name) + "': expected at most 2^62, got " +
             std::to_string(params.getInt(name, 0)));
    const Dim *n = boundDim("N");
    if (!n || n->isSymbol())
      return;
    const int64_t offset = params.getInt("n_off", 0);
    if (offset > n->size())
      fail("param 'n_off': expected at most N = " + n->text() + ", got " +
           std::to_string(offset));
  }

  void checkAxis() {
    const int64_t rank = static_cast<int64_t>(operands[0].shape.size());
    const int64_t dim = params.getInt("dim", -1);
    if (rank == 0)
      fail("operand 'x': expected rank 1 or more, got " +
           operands[0].describe());
    else if (dim < -rank || dim >= rank)
      fail("param 'dim': expected " + std::to_string(-rank) + " to " +
           std::to_string(rank - 1) + ", got " + std::to_string(dim));
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
      else if (const Dim *bound = boundDim(dim))
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
      if (outDtype && isChosen(formal.dtypeClass)) {
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
  Error error;
  std::optional<std::vector<Dim>> leading;
  size_t leadingFrom = 0;
  std::optional<std::vector<Dim>> broadcastShape;
  /// Dim names to the dim and the operand that bound them.
  std::map<std::string, std::pair<Dim, size_t>> bindings;
};
} // namespace

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
  return Inference(op, signatureOf(op), operands, params)
      .run(outShape, outDtype);
}
