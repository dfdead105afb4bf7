//===- License.cpp - What a contract may say ------------------------------===//
#include "harness/compare/License.h"

#include "refops/Numerics.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::harness;

namespace {
struct License {
  Opcode op;
  /// Whether the op reduces over an axis, so that `depth` means something.
  bool reduces;
  /// Whether the op has a dot product.
  bool dots;
  std::vector<std::string_view> approx;
};
} // namespace

/// An op that is not here may promise nothing: it is exact.
static const License *findLicense(Opcode op) {
  static const std::vector<License> licenses = {
      {Opcode::GELU,
       false,
       false,
       {"erfc", "exp", "ex2.approx", "sigmoid", "tanh", "rcp.approx"}},
      {Opcode::SILU_MUL,
       false,
       false,
       {"sigmoid", "exp", "ex2.approx", "rcp.approx"}},
      {Opcode::SOFTMAX, true, false, {"exp", "ex2.approx", "rcp.approx"}},
      {Opcode::RMSNORM, true, false, {"rsqrt.approx"}},
      {Opcode::LAYERNORM, true, false, {"rsqrt.approx"}},
      {Opcode::GEMM_TILE, true, true, {}},
      {Opcode::GEMV_TILE, true, true, {}},
  };
  for (const License &license : licenses)
    if (license.op == op)
      return &license;
  return nullptr;
}

bool tandem::harness::isLicensedApprox(Opcode op, std::string_view name) {
  const License *license = findLicense(op);
  return license &&
         std::find(license->approx.begin(), license->approx.end(), name) !=
             license->approx.end() &&
         refops::findApproxError(name);
}

/// The promised depth must not exceed the licensed one at sizes that tell
/// trees apart: below a warp, around it, real rows, and the longest.
static void checkDepth(const std::string &place, const std::string &depth,
                       std::vector<std::string> &complaints) {
  Result<IntExpr> expr = IntExpr::parse(depth);
  if (!expr) {
    complaints.push_back(place + ": " + expr.error().text());
    return;
  }
  for (int64_t n : {1, 2, 31, 32, 33, 100, 1000, 1024, 4096, 4097, 32768,
                    128256, 151936, 200000}) {
    Result<int64_t> value = expr->evaluate(
        [n, &place](const std::string &symbol) -> Result<int64_t> {
          if (symbol == "n")
            return n;
          return Error(place + ": unknown symbol '" + symbol + "', expected n");
        });
    if (!value) {
      complaints.push_back(value.error().text());
      return;
    }
    const int64_t licensed = (n + 31) / 32 + 32;
    if (*value < 0 || *value > licensed) {
      complaints.push_back(place + ": '" + depth + "' is " +
                           std::to_string(*value) +
                           " at n = " + std::to_string(n) +
                           ", licensed are 0 to " + std::to_string(licensed));
      return;
    }
  }
}

static void checkDot(const std::string &place, const StepContract &step,
                     std::vector<std::string> &complaints) {
  static constexpr std::string_view tensorCore[] = {"mma.m16n8k16.f16",
                                                    "mma.m16n8k16.bf16"};
  if (step.dot == "fma") {
    if (step.depth.empty())
      complaints.push_back(place + ".depth: missing, 'fma' adds in some order");
    return;
  }
  if (std::find(std::begin(tensorCore), std::end(tensorCore), step.dot) ==
      std::end(tensorCore)) {
    complaints.push_back(place + ".dot: '" + step.dot +
                         "' is not licensed, expected fma or "
                         "mma.m16n8k16.{f16,bf16}");
    return;
  }
  if (step.dotChunk != 16)
    complaints.push_back(place + ".dotChunk: " + std::to_string(step.dotChunk) +
                         ", expected 16");
}

Result<void> tandem::harness::checkLicense(const Contract &contract,
                                           const Recipe &recipe) {
  std::vector<std::string> complaints;
  if (contract.accumulator != "float32")
    complaints.push_back("contract.accumulator: '" + contract.accumulator +
                         "', expected float32");
  std::vector<int> covered(recipe.steps.size());
  for (size_t i = 0; i < contract.steps.size(); ++i) {
    const StepContract &step = contract.steps[i];
    const std::string place = "contract.steps[" + std::to_string(i) + "]";
    if (step.step < 0 ||
        static_cast<size_t>(step.step) >= recipe.steps.size()) {
      complaints.push_back(place + ".step: " + std::to_string(step.step) +
                           ", the recipe has " +
                           std::to_string(recipe.steps.size()) + " steps");
      continue;
    }
    const auto index = static_cast<size_t>(step.step);
    ++covered[index];
    const OpInfo &op = opInfo(recipe.steps[index].op);
    if (step.op != op.code) {
      complaints.push_back(place +
                           ".op: " + std::string(opInfo(step.op).mnemonic) +
                           ", the step is " + std::string(op.mnemonic));
      continue;
    }
    const License *license = findLicense(op.code);
    if (!step.depth.empty()) {
      if (license && license->reduces)
        checkDepth(place + ".depth", step.depth, complaints);
      else
        complaints.push_back(place + ".depth: '" + step.depth + "', but " +
                             std::string(op.mnemonic) + " adds nothing up");
    }
    if (license && license->dots)
      checkDot(place, step, complaints);
    else if (!step.dot.empty())
      complaints.push_back(place + ".dot: '" + step.dot + "', but " +
                           std::string(op.mnemonic) + " has no dot product");
    for (const std::string &name : step.approx)
      if (!isLicensedApprox(op.code, name))
        complaints.push_back(place + ".approx: '" + name +
                             "' is not licensed for " +
                             std::string(op.mnemonic));
  }
  for (size_t i = 0; i < covered.size(); ++i)
    if (covered[i] > 1 || (covered[i] == 0 && findLicense(recipe.steps[i].op)))
      complaints.push_back("contract.steps: step " + std::to_string(i) +
                           " appears " + std::to_string(covered[i]) +
                           " times, expected once");
  if (!complaints.empty())
    return Error(std::move(complaints));
  return {};
}
