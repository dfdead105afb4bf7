//===- Layouts.h - Where operands lie ---------------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_GEN_LAYOUTS_H
#define TANDEM_HARNESS_GEN_LAYOUTS_H

#include "harness/case/CaseSpec.h"
#include "harness/case/Choices.h"

namespace tandem::harness {

/// Contiguous (the minimum), padded rows, spread columns, transposed, repeated
/// along a dim (inputs only), a stride beyond 2^31 elements; each at an aligned
/// address (the minimum) or 1 to 16 elements further on.
LayoutSpec drawLayout(Choices &choices, const Dims &shape, bool isOutput);

/// Contiguous or padded rows that start at multiples of \p unit elements.
LayoutSpec drawWideLayout(Choices &choices, const Dims &shape, int64_t unit);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_GEN_LAYOUTS_H
