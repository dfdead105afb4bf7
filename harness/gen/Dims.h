//===- Dims.h - Sizes that find bugs ----------------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_GEN_DIMS_H
#define TANDEM_HARNESS_GEN_DIMS_H

#include "harness/case/Choices.h"

namespace tandem::harness {

/// A size of at most \p max: 70 % next to a tile boundary (0, 1, 2, T - 1, T,
/// T + 1, 2T - 1, 2T + 1, a prime below 4T, a multiple of 8, an odd number; T a
/// power of two from 8 to 4096, and real vocabulary sizes), 30 % log-uniform
/// (TESTING, section 4). The minimum is 1; 0, where allowed, comes next.
int64_t drawDim(Choices &choices, int64_t max, bool allowZero);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_GEN_DIMS_H
