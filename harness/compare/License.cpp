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
  /// Which dot products the op may have.
  enum class Dot : uint8_t { None, Fma, Any } dot;
  std::vector<std::string_view> approx;
};
} // namespace

/// An op that is not here may promise nothing: it is exact.
static const License *findLicense(Opcode op) {
  using enum License::Dot;
  static const std::vector<License> licenses = {
      {Opcode::GELU,
       false,
       None,
       {"erfc", "exp", "ex2.approx", "sigmoid", "tanh", "rcp.approx"}},
      {Opcode::SILU_MUL,
       false,
       None,
       {"sigmoid", "exp", "ex2.approx", "rcp.approx"}},
      {Opcode::MAP,
       false,
       None,
       {"exp", "ex2.approx", "rcp.approx", "sigmoid", "erfc", "tanh",
        "rsqrt.approx"}},
      {Opcode::SOFTMAX, true, None, {"exp", "ex2.approx", "rcp.approx"}},
      {Opcode::RMSNORM, true, None, {"rsqrt.approx"}},
      {Opcode::LAYERNORM, true, None, {"rsqrt.approx"}},
      {Opcode::GEMM_TILE, true, Any, {}},
      {Opcode::GEMV_TILE, true, Any, {}},
      {Opcode::LM_HEAD, true, Any, {}},
      {Opcode::ROPE, false, None, {"sin", "cos"}},
      {Opcode::ATTENTION_TILE, true, Any, {"exp", "ex2.approx", "rcp.approx"}},
      {Opcode::ATTN_STEP, true, Any, {"exp", "ex2.approx", "rcp.approx"}},
      {Opcode::ATTENTION_COMBINE,
       true,
       None,
       {"exp", "ex2.approx", "rcp.approx"}},
      {Opcode::GDN_STEP,
       true,
       Fma,
       {"exp", "ex2.approx", "rcp.approx", "rsqrt.approx"}},
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

/// The promised function of n must not exceed the licensed one at sizes that
/// tell trees apart: below a warp, around it, real rows, and the longest.
static void checkFunction(const std::string &place, const std::string &promised,
                          const char *licensedText,
                          std::vector<std::string> &complaints) {
  Result<IntExpr> expr = IntExpr::parse(promised);
  const Result<IntExpr> licensed = IntExpr::parse(licensedText);
  if (!expr) {
    complaints.push_back(place + ": " + expr.error().text());
    return;
  }
  for (int64_t n : {1, 2, 31, 32, 33, 100, 1000, 1024, 4096, 4097, 32768,
                    128256, 151936, 200000}) {
    const auto valueOf =
        [n, &place](const std::string &symbol) -> Result<int64_t> {
      if (symbol == "n")
        return n;
      return Error(place + ": unknown symbol '" + symbol + "', expected n");
    };
    const Result<int64_t> value = expr->evaluate(valueOf);
    if (!value) {
      complaints.push_back(value.error().text());
      return;
    }
    const int64_t most = *licensed->evaluate(valueOf);
    if (*value < 0 || *value > most) {
      complaints.push_back(place + ": '" + promised + "' is " +
                           std::to_string(*value) +
                           " at n = " + std::to_string(n) +
                           ", licensed are 0 to " + std::to_string(most));
      return;
    }
  }
}

/// Only attention has partial sums to rescale.
static void checkRescales(const std::string &place, const OpInfo &op,
                          const std::string &rescales,
                          std::vector<std::string> &complaints) {
  if (rescales.empty())
    return;
  if (op.code == Opcode::ATTENTION_TILE || op.code == Opcode::ATTN_STEP)
    checkFunction(place, rescales, refops::licensedRescales, complaints);
  else
    complaints.push_back(place + ": '" + rescales + "', but " +
                         std::string(op.mnemonic) + " rescales nothing");
}

static void checkDot(const std::string &place, const StepContract &step,
                     License::Dot allowed,
                     std::vector<std::string> &complaints) {
  static constexpr std::string_view tensorCore[] = {
      "mma.m16n8k16.f16", "mma.m16n8k16.bf16", "wgmma.k16.f16",
      "wgmma.k16.bf16"};
  if (step.dot == "fma") {
    if (step.depth.empty())
      complaints.push_back(place + ".depth: missing, 'fma' adds in some order");
    return;
  }
  if (allowed == License::Dot::Fma) {
    complaints.push_back(
        place + ".dot: '" + step.dot + "' is not licensed for " +
        std::string(opInfo(step.op).mnemonic) + ", expected fma");
    return;
  }
  if (std::find(std::begin(tensorCore), std::end(tensorCore), step.dot) ==
      std::end(tensorCore)) {
    complaints.push_back(place + ".dot: '" + step.dot +
                         "' is not licensed, expected fma or "
                         "{mma.m16n8k16,wgmma.k16}.{f16,bf16}");
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
        checkFunction(place + ".depth", step.depth, refops::licensedDepth,
                      complaints);
      else
        complaints.push_back(place + ".depth: '" + step.depth + "', but " +
                             std::string(op.mnemonic) + " adds nothing up");
    }
    checkRescales(place + ".rescales", op, step.rescales, complaints);
    if (license && license->dot != License::Dot::None)
      checkDot(place, step, license->dot, complaints);
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
