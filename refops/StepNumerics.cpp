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
    else if (name == "rsqrt.approx")
      numerics.rsqrt = entry;
    else if (name == "rcp.approx")
      numerics.rcp = entry;
  }
  if (!contract.depth.empty()) {
    Result<IntExpr> depth = IntExpr::parse(contract.depth);
    if (!depth)
      return badContract(place, "depth: " + depth.error().text());
    for (const std::string &symbol : depth->symbols())
      if (symbol != "n")
        return badContract(place, "depth: '" + contract.depth + "' reads '" +
                                      symbol + "', expected only 'n'");
    numerics.depthText = contract.depth;
    numerics.depthExpr = depth.take();
  }
  if (contract.dot == "fma") {
    numerics.dot = Dot::Fma;
  } else if (contract.dot.starts_with("mma.") ||
             contract.dot.starts_with("wgmma.")) {
    numerics.dot = Dot::TensorCore;
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

double StepNumerics::clampedDepth(int64_t n, int64_t least,
                                  int64_t most) const {
  if (n <= 0)
    return 0;
  if (depthText.empty())
    return static_cast<double>(most);
  Result<int64_t> depth =
      depthExpr.evaluate(std::vector<int64_t>(depthExpr.symbols().size(), n));
  return static_cast<double>(depth ? std::clamp(*depth, least, most) : most);
}

StepNumerics tandem::refops::licensedNumerics() {
  StepContract contract;
  contract.depth = licensedDepth;
  contract.dot = "fma";
  for (const ApproxError &entry : approxErrors)
    contract.approx.emplace_back(entry.name);
  Result<StepNumerics> numerics =
      StepNumerics::from(contract, "licensed contract");
  assert(numerics && "the table and the licensed depth are well formed");
  return numerics.take();
}
