//===- Layouts.cpp - Where operands lie -----------------------------------===//
#include "harness/gen/Layouts.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::harness;

LayoutSpec tandem::harness::drawLayout(Choices &choices, const Dims &shape,
                                       bool isOutput) {
  enum { Contiguous, Padded, Transposed, Spread, Repeated, Huge };
  LayoutSpec layout;
  const size_t rank = shape.size();
  // Few rows only: each touches pages of its own, 2^31 elements apart.
  const bool mayBeHuge = rank >= 2 && shape[0] >= 2 && shape[0] <= 3;
  std::vector<int> weights = {
      640, 120, 80, 40, isOutput ? 0 : 40, mayBeHuge ? 25 : 0};
  size_t kind = choices.pick(weights);
  if (rank == 0 || weights[kind] == 0)
    kind = Contiguous;
  Dims strides = contiguousStrides(shape);
  switch (kind) {
  case Padded: {
    if (rank < 2)
      break;
    const auto pad = static_cast<int64_t>(1 + choices.draw(16));
    int64_t stride = std::max<int64_t>(shape[rank - 1], 1) + pad;
    for (size_t i = rank - 1; i-- > 0;) {
      strides[i] = stride;
      stride *= std::max<int64_t>(shape[i], 1);
    }
    break;
  }
  case Transposed: {
    // Column-major: the first dim is dense.
    int64_t stride = 1;
    for (size_t i = 0; i < rank; ++i) {
      strides[i] = stride;
      stride *= std::max<int64_t>(shape[i], 1);
    }
    break;
  }
  case Spread: {
    const auto step = static_cast<int64_t>(2 + choices.draw(3));
    for (int64_t &stride : strides)
      stride *= step;
    break;
  }
  case Repeated:
    strides[choices.draw(rank)] = 0;
    break;
  case Huge:
    strides[0] = (int64_t(1) << 31) + static_cast<int64_t>(choices.draw(16));
    break;
  default:
    break;
  }
  if (strides != contiguousStrides(shape))
    layout.strides = strides;
  if (choices.rarely(6))
    layout.offset = static_cast<int64_t>(1 + choices.draw(16));
  return layout;
}

LayoutSpec tandem::harness::drawWideLayout(Choices &choices, const Dims &shape,
                                           int64_t unit) {
  LayoutSpec layout;
  if (shape.size() == 2 && choices.rarely(4))
    layout.strides = {(shape[1] + unit - 1) / unit * unit +
                          unit * static_cast<int64_t>(choices.draw(16)),
                      1};
  if (layout.strides == contiguousStrides(shape))
    layout.strides.clear();
  if (choices.rarely(8))
    layout.offset = unit * static_cast<int64_t>(1 + choices.draw(16));
  return layout;
}
