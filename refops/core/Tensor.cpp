//===- Tensor.cpp - Shapes, strides and views -----------------------------===//
#include "refops/core/Tensor.h"

#include <cassert>

using namespace tandem;

static std::string listOf(const Dims &dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return "[" + text + "]";
}

int64_t TensorDesc::numElements() const {
  int64_t product = 1;
  for (int64_t dim : shape)
    product *= dim;
  return product;
}

int64_t TensorDesc::extent() const {
  assert(shape.size() == strides.size() && "one stride a dim");
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0)
      return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1;
}

bool TensorDesc::isContiguous() const {
  int64_t dense = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0)
      return true;
    if (shape[i] != 1 && strides[i] != dense)
      return false;
    dense *= shape[i];
  }
  return true;
}

std::string TensorDesc::describe() const {
  return std::string(dtypeName(dtype)) + listOf(shape) + " strides " +
         listOf(strides);
}

Dims tandem::contiguousStrides(const Dims &shape) {
  Dims strides(shape.size());
  int64_t dense = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = dense;
    // A zero dim repeats nothing, so its outer strides may be anything; keep
    // them as if it were 1.
    dense *= shape[i] > 0 ? shape[i] : 1;
  }
  return strides;
}

TensorDesc tandem::contiguous(DType dtype, Dims shape) {
  Dims strides = contiguousStrides(shape);
  return {dtype, std::move(shape), std::move(strides)};
}

std::byte *View::at(const Dims &index) const {
  assert(index.size() == desc.rank() && "one coordinate a dim");
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    offset += index[i] * desc.strides[i];
  return data + offset * static_cast<int64_t>(dtypeSize(desc.dtype));
}

std::byte *View::atLinear(int64_t linear) const {
  int64_t offset = 0;
  for (size_t i = desc.rank(); i-- > 0;) {
    offset += linear % desc.shape[i] * desc.strides[i];
    linear /= desc.shape[i];
  }
  return data + offset * static_cast<int64_t>(dtypeSize(desc.dtype));
}
