//===- Numerics.h - Errors of approximate instructions ----------*- C++ -*-===//
//
// The one table of error constants: what a kernel's contract may name in
// `approx`, how wrong that may be, and who says so. Kernels, references and
// emulator agree on it; a name that is not here is not licensed.
//
// Measured: every one of the 2^32 inputs on an H200, largest error seen
// (docs/decisions/0003-hardware-numerics.md); rounded up in the last digit.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_NUMERICS_H
#define TANDEM_REFOPS_NUMERICS_H

#include <string_view>

namespace tandem::refops {

/// Unit roundoff of f32: to nearest, and toward zero.
inline constexpr double u32 = 0x1p-24;
inline constexpr double u32TowardZero = 0x1p-23;

/// |error| <= relative * |result| + absolute + argument * |x| * |result|, where
/// x is the argument of the function named.
struct ApproxError {
  std::string_view name;
  double relative;
  double absolute;
  double argument;
  std::string_view source;
};

inline constexpr ApproxError approxErrors[] = {
    {"ex2.approx", 2.06 * 0x1p-23, 0x1p-149, 0, "measured, 2.055 ulp"},
    {"rcp.approx", 0x1p-23, 0x1p-149, 0, "PTX ISA, 1 ulp; measured 0.975"},
    {"rsqrt.approx", 0x1.13p-23, 0, 0, "PTX ISA, 2^-22.9; measured 2^-22.94"},
    {"lg2.approx", 0x1.47p-23, 0x1p-22, 0,
     "measured relative 2^-22.65 above 2; PTX ISA, absolute 2^-22 below"},
    {"tanh.approx", 0x1p-11, 0, 0, "PTX ISA, 2^-11"},
    // 2 ulp of the result, at any angle (SEMANTICS, ROPE).
    {"sin", 2 * 0x1p-23, 0x1p-149, 0, "SEMANTICS, 2 ulp"},
    {"cos", 2 * 0x1p-23, 0x1p-149, 0, "SEMANTICS, 2 ulp"},
    // Expansions in tile code (codegen/ops/Math.h), each with its derivation
    // there. exp: ex2.approx(x * log2(e)) with one rounded product and a
    // rounded constant, so an exponent error of 2 u32 |x|.
    {"exp", 2.06 * 0x1p-23, 0x1p-149, 2 * 0x1p-24, "ex2.approx and x*log2(e)"},
    // sigmoid: 1 / (1 + exp(-x)) by a correctly rounded division; on the
    // negative side exp(x) / (1 + exp(x)), so that neither side overflows.
    {"sigmoid", 2.06 * 0x1p-23 + 4 * 0x1p-24, 0x1p-149, 2 * 0x1p-24,
     "exp, one addition, one division"},
    // erfc: relative, down to results of 2^-126; the square of the argument is
    // split so that exp(-x^2) keeps its relative accuracy in the tail.
    {"erfc", 0x1p-20, 0x1p-126, 0, "expansion, verified over all f32 inputs"},
    // tanh: a polynomial below 0.6, else (1 - e) / (1 + e) with e = exp(-2
    // |x|).
    {"tanh", 0x1p-21, 0x1p-149, 0, "expansion, derived; swept in steps of 101"},
};

/// The entry with that name, or null.
constexpr const ApproxError *findApproxError(std::string_view name) {
  for (const ApproxError &entry : approxErrors)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

/// Tensor-core model of mma.sync and wgmma for f16 and bf16 (TESTING, section
/// 3): fraction bits kept by each addend relative to the largest exponent, and
/// fraction bits of the result. Both truncate toward zero.
inline constexpr int dotAddendBits = 25;
inline constexpr int dotResultBits = 23;

/// The same for wgmma of float8, whose accumulator keeps as many bits of its
/// addends as of its result; and how many k it adds up before they are added to
/// an f32 sum when the recipe asks for `accumulate: promoted`.
inline constexpr int dotFloat8Bits = 13;
inline constexpr int64_t promotionInterval = 128;

/// The longest reduction chain that is licensed: n / 32 + 32.
inline constexpr const char *licensedDepth = "ceildiv(n, 32) + 32";

/// The most rescalings of attention's partial sums that are licensed: tiles of
/// 16 keys in one chain, and a tree or chain of splits.
inline constexpr const char *licensedRescales = "ceildiv(n, 16) + 32";

} // namespace tandem::refops

#endif // TANDEM_REFOPS_NUMERICS_H
