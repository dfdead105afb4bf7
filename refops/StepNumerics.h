//===- StepNumerics.h - A step's contract, ready to compute with -*- C++
//-*-===//
#ifndef TANDEM_REFOPS_STEPNUMERICS_H
#define TANDEM_REFOPS_STEPNUMERICS_H

#include "refops/Numerics.h"
#include "refops/core/Contract.h"
#include "refops/core/Result.h"

#include <cmath>
#include <limits>
#include <optional>

namespace tandem::refops {

/// What the primitives need to know of a StepContract. An approximation that
/// the contract does not list is one correctly rounded f32 operation.
struct StepNumerics {
  enum class Dot : uint8_t { None, Fma, TensorCore };

  /// Relative error of one rounded operation. The factor leaves room for
  /// double's own roundings (2^-53 each) beside it.
  double unit = u32 * (1 + 0x1p-20);
  /// Least error of one rounding: half the spacing of f32 subnormals.
  double floor = 0x1p-150;
  bool isExact = false;

  Dot dot = Dot::None;
  int dotChunk = 0;
  /// 2^-F and 2^-R of the tensor core (TESTING, section 3).
  double addendUnit = 1.0 / (1 << dotAddendBits);
  double resultUnit = 1.0 / (1 << dotResultBits);
  /// Whether it multiplies float8, whose sums are promoted to f32.
  bool isFloat8 = false;

  /// Null where the contract lists none.
  const ApproxError *exp = nullptr;
  const ApproxError *sin = nullptr;
  const ApproxError *cos = nullptr;
  const ApproxError *sigmoid = nullptr;
  const ApproxError *erfc = nullptr;
  const ApproxError *tanh = nullptr;
  const ApproxError *rsqrt = nullptr;
  const ApproxError *rcp = nullptr;

  /// No f32 rounding at all; only double's own errors.
  static StepNumerics exact();

  /// Fails, at \p place, on an approximation that refops/Numerics.h does not
  /// have, on a depth or a count of rescalings that is no function of `n`, on a
  /// `dot` that is neither `fma` nor `mma...` or `wgmma...`, and on a
  /// tensor-core dot without a chunk.
  static Result<StepNumerics> from(const StepContract &contract,
                                   std::string_view place);

  /// Whether the contract states a reduction depth.
  bool hasDepth() const { return isExact || depthExpr; }
  /// Longest chain of rounded additions over \p n numbers: at most n - 1.
  double depth(int64_t n) const { return clampedDepth(n, 0, n - 1); }
  /// The same for \p n fused multiply-adds, where the first one rounds too.
  double dotDepth(int64_t n) const { return clampedDepth(n, 1, n); }
  /// How often attention over \p n keys rescales a partial sum.
  double rescales(int64_t n) const;

private:
  double clampedDepth(int64_t n, int64_t least, int64_t most) const;

  /// A function of `n`, if the contract states it.
  std::optional<IntExpr> depthExpr;
  std::optional<IntExpr> rescalesExpr;
};

/// The widest contract that is licensed: every approximation of
/// refops/Numerics.h, the longest chain, CUDA-core dot products. For tests and
/// for known answers; kernels bring their own.
StepNumerics licensedNumerics();

} // namespace tandem::refops

#endif // TANDEM_REFOPS_STEPNUMERICS_H
