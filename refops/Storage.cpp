//===- Storage.cpp - Where references read and write ----------------------===//
#include "refops/Storage.h"

#include <bit>
#include <cassert>
#include <cstring>

using namespace tandem;
using namespace tandem::refops;

Buffer::Buffer(DType dtype, const Dims &shape, bool isRounded, bool hasErrors)
    : desc(contiguous(dtype, shape)), isRounded(isRounded) {
  const size_t count = static_cast<size_t>(desc.numElements());
  value.resize(count);
  if (hasErrors)
    error.resize(count);
  if (dtype == DType::I64)
    integers.resize(count);
}

static TensorDesc withAxisMovedLast(TensorDesc desc, size_t axis) {
  for (Dims *dims : {&desc.shape, &desc.strides})
    std::rotate(dims->begin() + static_cast<ptrdiff_t>(axis),
                dims->begin() + static_cast<ptrdiff_t>(axis) + 1, dims->end());
  return desc;
}

//===----------------------------------------------------------------------===//
// Source
//===----------------------------------------------------------------------===//

Source::Source(const View &view)
    : layout(view.desc), dense(view.desc.isContiguous()), bytes(view.data) {}

Source::Source(const Buffer &buffer)
    : layout(buffer.desc), dense(true), values(buffer.value.data()),
      errors(buffer.error.empty() ? nullptr : buffer.error.data()),
      integers(buffer.integers.empty() ? nullptr : buffer.integers.data()) {}

Source Source::broadcastTo(const Dims &shape) const {
  Source result = *this;
  result.layout.shape = shape;
  result.layout.strides.assign(shape.size(), 0);
  const size_t missing = shape.size() - layout.rank();
  for (size_t d = 0; d < layout.rank(); ++d)
    if (layout.shape[d] == shape[missing + d])
      result.layout.strides[missing + d] = layout.strides[d];
  result.dense = dense && layout.shape == shape;
  return result;
}

Source Source::withAxisLast(size_t axis) const {
  Source result = *this;
  result.layout = withAxisMovedLast(layout, axis);
  result.dense = result.layout.isContiguous();
  return result;
}

template <typename T, typename Load>
static void loadRun(const std::byte *from, int64_t step, int64_t count, T *out,
                    Load load) {
  for (int64_t i = 0; i < count; ++i, from += step)
    out[i] = load(from);
}

/// Widens typed elements; the types that rows mostly have without a call each.
template <typename T>
static void loadElements(DType type, const std::byte *from, int64_t stride,
                         int64_t count, T *out) {
  const int64_t step = stride * static_cast<int64_t>(dtypeSize(type));
  if (type == DType::F32)
    return loadRun(from, step, count, out, [](const std::byte *p) {
      float x;
      std::memcpy(&x, p, sizeof x);
      return static_cast<double>(x);
    });
  if (type == DType::BF16)
    return loadRun(from, step, count, out, [](const std::byte *p) {
      uint16_t bits;
      std::memcpy(&bits, p, sizeof bits);
      return static_cast<double>(std::bit_cast<float>(uint32_t(bits) << 16));
    });
  loadRun(from, step, count, out,
          [type](const std::byte *p) { return loadDouble(type, p); });
}

void Source::readRun(int64_t offset, int64_t stride, int64_t count,
                     double *out) const {
  if (bytes)
    return loadElements(
        layout.dtype,
        bytes + offset * static_cast<int64_t>(dtypeSize(layout.dtype)), stride,
        count, out);
  for (int64_t i = 0; i < count; ++i)
    out[i] = values[offset + i * stride];
}

void Source::readRun(int64_t offset, int64_t stride, int64_t count,
                     Bounded *out) const {
  if (bytes)
    return loadElements(
        layout.dtype,
        bytes + offset * static_cast<int64_t>(dtypeSize(layout.dtype)), stride,
        count, out);
  for (int64_t i = 0; i < count; ++i)
    out[i] = {values[offset + i * stride],
              errors ? errors[offset + i * stride] : 0};
}

std::optional<View> Source::view() const {
  if (!bytes)
    return std::nullopt;
  return View{layout, const_cast<std::byte *>(bytes)};
}

int64_t Source::readInteger(int64_t linear) const {
  int64_t result = 0;
  forRuns(layout, dense, linear, 1, [&](int64_t offset, int64_t, int64_t) {
    result = bytes ? loadInteger(layout.dtype,
                                 bytes + offset * static_cast<int64_t>(
                                                      dtypeSize(layout.dtype)))
             : integers ? integers[offset]
                        : static_cast<int64_t>(values[offset]);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Sink
//===----------------------------------------------------------------------===//

Sink::Sink(const View &view)
    : layout(view.desc), dense(view.desc.isContiguous()), data(view.data) {}

Sink::Sink(Buffer &buffer)
    : layout(buffer.desc), dense(true), target(&buffer) {}

Sink Sink::withAxisLast(size_t axis) const {
  Sink result = *this;
  result.layout = withAxisMovedLast(layout, axis);
  result.dense = result.layout.isContiguous();
  return result;
}

void Sink::expectPartialWrites() {
  if (target)
    target->unwritten.assign(target->value.size(), 2);
}

void Sink::markFaulty(int64_t first, int64_t count) {
  if (!target || target->error.empty())
    return;
  for (int64_t i = first; i < first + count; ++i)
    target->error[static_cast<size_t>(i)] = infinity;
}

/// As a conversion to int64 does it: toward zero, saturating.
static int64_t toInteger(double value) {
  std::byte bytes[8];
  storeDouble(DType::I64, value, bytes);
  return loadInteger(DType::I64, bytes);
}

void Sink::makeExact(int64_t first, int64_t count, const int64_t *in) {
  assert(layout.dtype == DType::I64 && "other types fit in a double");
  forRuns(layout, dense, first, count,
          [&](int64_t offset, int64_t stride, int64_t n) {
            for (int64_t i = 0; i < n; ++i, offset += stride, ++in)
              if (data)
                storeInteger(DType::I64, *in, data + offset * 8);
              else
                target->integers[static_cast<size_t>(offset)] = *in;
          });
}

template <typename T>
void Sink::writeRange(int64_t first, int64_t count, const T *in,
                      bool isRounded) {
  const DType type = layout.dtype;
  forRuns(layout, dense, first, count,
          [&](int64_t offset, int64_t stride, int64_t n) {
            for (int64_t i = 0; i < n; ++i, offset += stride) {
              if (data) {
                storeDouble(type, valueOf(*in++),
                            data +
                                offset * static_cast<int64_t>(dtypeSize(type)));
                continue;
              }
              const T x = isRounded ? T(roundedTo(type, *in)) : *in;
              ++in;
              const size_t at = static_cast<size_t>(offset);
              target->value[at] = valueOf(x);
              if (!target->integers.empty())
                target->integers[at] = toInteger(valueOf(x));
              if (!target->error.empty())
                target->error[at] = errorOf(x);
              if (!target->unwritten.empty())
                target->unwritten[at] = 0;
            }
          });
}

void Sink::write(int64_t first, int64_t count, const double *in) {
  writeRange(first, count, in, target && target->isRounded);
}

void Sink::write(int64_t first, int64_t count, const Bounded *in) {
  writeRange(first, count, in, target && target->isRounded);
}

void Sink::move(int64_t first, int64_t count, const Bounded *in) {
  assert(target && "views are moved by their bytes");
  writeRange(first, count, in, false);
}
