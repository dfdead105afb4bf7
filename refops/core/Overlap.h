//===- Overlap.h - Whether views share bytes --------------------*- C++ -*-===//
#ifndef TANDEM_REFOPS_CORE_OVERLAP_H
#define TANDEM_REFOPS_CORE_OVERLAP_H

#include "refops/core/Tensor.h"

#include <cstdint>
#include <span>

namespace tandem {

enum class Overlap : uint8_t {
  No,
  Yes,
  /// The search was too long; treat as Yes.
  Unknown,
};

/// Whether two elements of the view lie at one address.
Overlap overlapsItself(const TensorDesc &desc);

/// Whether the operands share a byte. Exact for interleaved views too, as far
/// as a search of bounded length can tell.
Overlap overlaps(const Operand &a, const Operand &b);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_OVERLAP_H
