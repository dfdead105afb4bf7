//===- Math.h - Functions of f32 tiles that PTX has no instruction for ----===//
//
// Expansions with a stated error, which refops/Numerics.h lists by the name
// that each notes in the step's contract. They are shared with no reference.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_OPS_MATH_H
#define TANDEM_CODEGEN_OPS_MATH_H

#include "codegen/ops/RowBuilder.h"

#include <utility>

namespace tandem::codegen {

/// e^x. Notes `exp`.
Tile exp(Tile x);

/// 1 / (1 + e^-x) without overflow on either side. Notes `sigmoid`.
Tile sigmoid(Tile x);

/// Phi(x) = erfc(-x / sqrt(2)) / 2, with relative accuracy in the negative
/// tail. Notes `erfc`. \p isNarrow: x has at most 12 significant bits, so that
/// its square is exact.
Tile gaussianCdf(Tile x, bool isNarrow);

/// erfc(x), with relative accuracy in the positive tail. Notes `erfc`.
Tile erfc(Tile x);

/// tanh(x), with relative accuracy near 0. Notes `tanh`.
Tile tanh(Tile x);

/// 1 / sqrt(x). Notes `rsqrt.approx`.
Tile rsqrt(Tile x);

/// Sine and cosine of an f32 angle of any size, each within 0.6 ulp. Notes
/// `sin` and `cos`.
std::pair<Tile, Tile> sinCos(Tile angle);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_MATH_H
