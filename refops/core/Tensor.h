//===- Tensor.h - Shapes, strides and views -------------------*- C++ -*-===//
#ifndef TANDEM_REFOPS_CORE_TENSOR_H
#define TANDEM_REFOPS_CORE_TENSOR_H

#include "refops/core/DType.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

using Dims = std::vector<int64_t>;

/// Most dimensions that a tensor may have.
inline constexpr size_t maxRank = 8;

/// Element type, shape and strides of a tensor; strides count elements and are
/// non-negative (0 repeats an element; inputs only).
struct TensorDesc {
  DType dtype = DType::F32;
  Dims shape;
  Dims strides;

  size_t rank() const { return shape.size(); }
  /// The product of the shape; 1 for rank 0, 0 if any dim is 0.
  int64_t numElements() const;
  /// Elements from the first one to one past the last one that the view
  /// touches; 0 when the shape is empty.
  int64_t extent() const;
  /// Whether the elements are dense in row-major order (dims of size 1 may have
  /// any stride).
  bool isContiguous() const;
  /// `bfloat16[4, 64] strides [64, 1]`.
  std::string describe() const;

  bool operator==(const TensorDesc &) const = default;
};

/// Row-major strides of \p shape.
Dims contiguousStrides(const Dims &shape);
TensorDesc contiguous(DType dtype, Dims shape);

/// A window onto memory that someone else owns, on the host.
struct View {
  TensorDesc desc;
  std::byte *data = nullptr;

  /// The byte address of the element at \p index (one coordinate a dim).
  std::byte *at(const Dims &index) const;
  /// The byte address of the \p linear-th element in row-major order.
  std::byte *atLinear(int64_t linear) const;
};

/// A tensor where a device sees it. On the emulator an address is a host
/// address; on CUDA a device pointer.
struct Operand {
  TensorDesc desc;
  uint64_t address = 0;
};

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_TENSOR_H
