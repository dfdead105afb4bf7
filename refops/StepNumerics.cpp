//===- StepNumerics.cpp - A step's contract, ready to compute with --------===//
#include "refops/StepNumerics.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::refops;

StepNumerics StepNumerics::exact() {
  StepNumerics numerics;
  numerics.unit = 0x1p-51;
  numerics.floor = 0;
  numerics.isExact = true;
  return numerics;
}

static Error badContract(std::string_view place, const std::string &what) {
  return Error(std::string(place) + ": " + what);
}

static Result<std::optional<IntExpr>> functionOfN(const std::string &text,
                                                  const std::string &what,
                                                  std::string_view place) {
  if (text.empty())
    return std::optional<IntExpr>();
  Result<IntExpr> expr = IntExpr::parse(text);
  if (!expr)
    return badContract(place, what + ": " + expr.error().text());
  for (const std::string &symbol : expr->symbols())
    if (symbol != "n")
      return badContract(place, what + ": '" + text + "' reads '" + symbol +
                                    "', expected only 'n'");
  return std::optional<IntExpr>(expr.take());
}

Result<StepNumerics> StepNumerics::from(const StepContract &contract,
                                        std::string_view place) {
  StepNumerics numerics;
  for (const std::string &name : contract.approx) {
    const ApproxError *entry = findApproxError(name);
    if (!entry)
      return badContract(place, "approx: '" + name +
                                    "' is not in the table of errors");
    if (name == "exp" || (name == "ex2.approx" && !numerics.exp))
      // exp by ex2.approx alone has the expansion's error: the argument is
      // multiplied by a rounded log2(e).
      numerics.exp = findApproxError("exp");
    else if (name == "sigmoid")
      numerics.sigmoid = entry;
    else if (name == "erfc")
      numerics.erfc = entry;
    else if (name == "tanh" || name == "tanh.approx")
      numerics.tanh = entry;
    else if (name == "sin")
      numerics.sin = entry;
    else if (name == "cos")
      numerics.cos = entry;
    else if (name == "rsqrt.approx")
      numerics.rsqrt = entry;
    else if (name == "rcp.approx")
      numerics.rcp = entry;
  }
  Result<std::optional<IntExpr>> depth =
      functionOfN(contract.depth, "depth", place);
  if (!depth)
    return depth.error();
  numerics.depthExpr = depth.take();
  Result<std::optional<IntExpr>> rescales =
      functionOfN(contract.rescales, "rescales", place);
  if (!rescales)
    return rescales.error();
  numerics.rescalesExpr = rescales.take();
  if (contract.dot == "fma") {
    numerics.dot = Dot::Fma;
  } else if (contract.dot.starts_with("mma.") ||
             contract.dot.starts_with("wgmma.")) {
    numerics.dot = Dot::TensorCore;
    if (contract.dot.ends_with(".e4m3") || contract.dot.ends_with(".e5m2")) {
      numerics.isFloat8 = true;
      numerics.addendUnit = numerics.resultUnit = 1.0 / (1 << dotFloat8Bits);
    }
    numerics.dotChunk = contract.dotChunk;
    if (contract.dotChunk <= 0)
      return badContract(
          place, "dotChunk: " + std::to_string(contract.dotChunk) +
                     ", expected at least 1 for '" + contract.dot + "'");
  } else if (!contract.dot.empty()) {
    return badContract(place, "dot: '" + contract.dot +
                                  "', expected 'fma', 'mma...' or 'wgmma...'");
  }
  return numerics;
}

/// The value of \p expr at \p n, or nothing where it has none.
static std::optional<int64_t> valueAt(const IntExpr &expr, int64_t n) {
  Result<int64_t> value =
      expr.evaluate(std::vector<int64_t>(expr.symbols().size(), n));
  return value ? std::optional<int64_t>(*value) : std::nullopt;
}

double StepNumerics::clampedDepth(int64_t n, int64_t least,
                                  int64_t most) const {
  if (n <= 0)
    return 0;
  const std::optional<int64_t> depth =
      depthExpr ? valueAt(*depthExpr, n) : std::nullopt;
  return static_cast<double>(depth ? std::clamp(*depth, least, most) : most);
}

double StepNumerics::rescales(int64_t n) const {
  if (n <= 0 || !rescalesExpr)
    return 0;
  // One rescaling a key is the most that makes sense, and one more a merge.
  const std::optional<int64_t> count = valueAt(*rescalesExpr, n);
  return static_cast<double>(std::max<int64_t>(0, count.value_or(n)));
}

StepNumerics tandem::refops::licensedNumerics() {
  StepContract contract;
  contract.depth = licensedDepth;
  contract.dot = "fma";
  contract.rescales = licensedRescales;
  for (const ApproxError &entry : approxErrors)
    contract.approx.emplace_back(entry.name);
  Result<StepNumerics> numerics =
      StepNumerics::from(contract, "licensed contract");
  assert(numerics && "the table and the licensed depth are well formed");
  return numerics.take();
}
