//===- Contract.h - What a kernel promises about its numbers ----*- C++ -*-===//
//
// The numerics contract comes with each kernel. It says in which order and with
// which instructions the kernel computes, in enough detail that two kernels
// with equal contracts give equal bits. The harness derives the error bound
// from it, and owns what it may say (harness/compare/License.h): a contract
// outside that list is a failure, never a wider bound.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_CONTRACT_H
#define TANDEM_REFOPS_CORE_CONTRACT_H

#include "refops/core/IntExpr.h"
#include "refops/core/OpInfo.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tandem {

/// How one step of a recipe is computed.
struct StepContract {
  /// Index of the step in the recipe.
  int step = 0;
  Opcode op = Opcode::NOP;

  /// Reductions over an axis of n elements (norms, softmax, gemv): the longest
  /// chain of rounded additions that an element passes through, as a function
  /// of the symbol `n`; empty if the step has none.
  std::string depth;
  /// Names the tree so that equal text means equal order of additions, e.g.
  /// `chunk 4096, 8 registers, 32 lanes, 4 warps`.
  std::string order;

  /// Dot products: `fma` (CUDA cores; depth and order say how), or the tensor
  /// core shape and type `mma.m16n8k16.bf16`; empty if the step has none.
  /// Attention has two, q . k over the head and p . v over the keys; both are
  /// computed this way, and with `fma` the depth holds for either.
  std::string dot;
  /// k elements that one tensor-core instruction accumulates (16 for f16/bf16).
  int dotChunk = 0;

  /// Attention with a running maximum: how often a partial sum is multiplied by
  /// exp(m_old - m_new) until it is part of the result, as a function of the
  /// number of keys `n`; merging the sums of warps or splits counts, too. Empty
  /// where the maximum is known before the first weight.
  std::string rescales;

  /// Approximate instructions and expansions used, sorted, from the list in
  /// refops/Numerics.h: `ex2.approx`, `rcp.approx`, `rsqrt.approx`, `exp`,
  /// `erfc`, `tanh`, `sigmoid`, ...
  std::vector<std::string> approx;

  bool operator==(const StepContract &) const = default;
};

struct Contract {
  std::string accumulator = "float32";
  std::vector<StepContract> steps;

  bool operator==(const Contract &) const = default;
};

void to_json(nlohmann::json &j, const Contract &contract);
/// Fails with the place of the first member that does not fit.
Result<Contract> contractFromJson(const nlohmann::json &j,
                                  std::string_view place);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_CONTRACT_H
