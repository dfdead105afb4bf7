//===- Storage.h - Where references read and write --------------*- C++ -*-===//
//
// A Source is typed memory of the caller or a Buffer of an earlier step; a Sink
// is the other end. Both are read and written in row-major ranges, so that an
// op holds one row at a time however large the tensor is.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_STORAGE_H
#define TANDEM_REFOPS_STORAGE_H

#include "refops/Scalar.h"
#include "refops/core/Tensor.h"

#include <optional>
#include <vector>

namespace tandem::refops {

/// A dense row-major tensor of widened numbers.
struct Buffer {
  TensorDesc desc;
  std::vector<double> value;
  /// As long as `value` when the scalar is Bounded, else empty.
  std::vector<double> error;
  /// 2 for elements that no step wrote; empty when all are written. They read
  /// as zero.
  std::vector<uint8_t> unwritten;
  /// Other indices that a near-tie allows; empty when there is none at all.
  std::vector<std::vector<int64_t>> alternatives;
  /// For int64 the elements exactly: a double holds integers up to 2^53.
  std::vector<int64_t> integers;
  /// Whether written numbers are rounded to `desc.dtype`: scratch is, the
  /// recipe's outputs are left to the comparison.
  bool isRounded = false;

  Buffer() = default;
  Buffer(DType dtype, const Dims &shape, bool isRounded, bool hasErrors);
};

/// Calls \p run(offset, stride, count) for maximal pieces of the row-major
/// range [first, first + count) of a strided tensor.
template <typename Run>
void forRuns(const TensorDesc &desc, bool isContiguous, int64_t first,
             int64_t count, Run run);

class Source {
public:
  explicit Source(const View &view);
  explicit Source(const Buffer &buffer);

  const TensorDesc &desc() const { return layout; }
  const Dims &shape() const { return layout.shape; }
  /// Whether elements may carry an error.
  bool mayErr() const { return errors != nullptr; }

  /// Reads elements [first, first + count) in row-major order.
  template <typename T>
  void read(int64_t first, int64_t count, T *out) const {
    forRuns(layout, dense, first, count,
            [&](int64_t offset, int64_t stride, int64_t n) {
              readRun(offset, stride, n, out);
              out += n;
            });
  }
  /// Reads \p count elements from element \p offset of the memory on.
  void readRun(int64_t offset, int64_t stride, int64_t count,
               double *out) const;
  void readRun(int64_t offset, int64_t stride, int64_t count,
               Bounded *out) const;
  template <typename T>
  std::vector<T> readAll() const {
    std::vector<T> all(static_cast<size_t>(layout.numElements()));
    read(0, layout.numElements(), all.data());
    return all;
  }
  /// The caller's memory, if the elements are there.
  std::optional<View> view() const;
  /// Reads an integer element exactly.
  int64_t readInteger(int64_t linear) const;

  /// The same elements seen differently.
  Source broadcastTo(const Dims &shape) const;
  Source withAxisLast(size_t axis) const;

private:
  Source() = default;
  TensorDesc layout;
  bool dense = false;
  const std::byte *bytes = nullptr;
  const double *values = nullptr;
  const double *errors = nullptr;
  const int64_t *integers = nullptr;
};

class Sink {
public:
  /// Writes each element rounded once to the view's type.
  explicit Sink(const View &view);
  explicit Sink(Buffer &buffer);

  const TensorDesc &desc() const { return layout; }
  const Dims &shape() const { return layout.shape; }

  void write(int64_t first, int64_t count, const double *in);
  void write(int64_t first, int64_t count, const Bounded *in);
  /// Replaces elements of an int64 sink that were written by these.
  void makeExact(int64_t first, int64_t count, const int64_t *in);
  /// Writes numbers of the sink's own type to a buffer as they are: an infinity
  /// of float8 stays one.
  void move(int64_t first, int64_t count, const Bounded *in);

  /// Says that elements which are not written from now on are left untouched.
  void expectPartialWrites();
  /// The range belongs to a row with a bad index: untouched here, and without
  /// verdict for whoever reads it.
  void markFaulty(int64_t first, int64_t count);
  /// Null when the sink is a view.
  Buffer *buffer() { return target; }
  /// Null when the sink is a buffer.
  std::byte *bytes() { return data; }

  Sink withAxisLast(size_t axis) const;

private:
  template <typename T>
  void writeRange(int64_t first, int64_t count, const T *in, bool isRounded);
  TensorDesc layout;
  bool dense = false;
  std::byte *data = nullptr;
  Buffer *target = nullptr;
};

//===----------------------------------------------------------------------===//

template <typename Run>
void forRuns(const TensorDesc &desc, bool isContiguous, int64_t first,
             int64_t count, Run run) {
  if (count <= 0)
    return;
  if (isContiguous || desc.rank() == 0)
    return run(first, int64_t(1), count);
  const size_t last = desc.rank() - 1;
  Dims index(desc.rank());
  int64_t rest = first, offset = 0;
  for (size_t d = desc.rank(); d-- > 0;) {
    index[d] = rest % desc.shape[d];
    rest /= desc.shape[d];
    offset += index[d] * desc.strides[d];
  }
  while (true) {
    const int64_t n = std::min(count, desc.shape[last] - index[last]);
    run(offset, desc.strides[last], n);
    count -= n;
    if (count == 0)
      return;
    // On to the first element of the next row.
    offset -= index[last] * desc.strides[last];
    index[last] = 0;
    for (size_t d = last; d-- > 0;) {
      offset += desc.strides[d];
      if (++index[d] < desc.shape[d])
        break;
      offset -= index[d] * desc.strides[d];
      index[d] = 0;
    }
  }
}

} // namespace tandem::refops

#endif // TANDEM_REFOPS_STORAGE_H
