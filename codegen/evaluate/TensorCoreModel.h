//===- TensorCoreModel.h - One dot product of the tensor core ---*- C++ -*-===//
#ifndef TANDEM_CODEGEN_EVALUATE_TENSORCOREMODEL_H
#define TANDEM_CODEGEN_EVALUATE_TENSORCOREMODEL_H

#include "codegen/evaluate/Element.h"

namespace tandem::evaluate {

/// acc + sum of a[i] * b[i] over the k elements of one instruction, as an H200
/// adds them (docs/decisions/0003-hardware-numerics.md): each addend truncated
/// to 25 fraction bits below the largest exponent, an exact sum, truncated to
/// f32. \p kind is F16 or BF16; \p acc and the result are f32 bits.
uint64_t tensorCoreDot(Kind kind, const uint64_t *a, const uint64_t *b, int k,
                       uint64_t acc);

} // namespace tandem::evaluate

#endif // TANDEM_CODEGEN_EVALUATE_TENSORCOREMODEL_H
