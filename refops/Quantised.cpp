//===- Quantised.cpp - Weights of 4 and 8 bits ----------------------------===//
#include "refops/Quantised.h"

using namespace tandem;
using namespace tandem::refops;

Quantised::Quantised(const Source &q, const Source &scales, const Source *zeros,
                     int64_t columns, const Params &params)
    : q(q), scales(scales), numColumns(columns),
      groupSize(params.getInt("group", std::max<int64_t>(1, columns))) {
  if (zeros)
    this->zeros = *zeros;
}

/// Exact in f16 and in bf16; NaN is.
static bool isHeldBy16Bits(double x) {
  return std::isnan(x) || (std::fabs(x) <= 256 && x == std::trunc(x));
}

template <typename T>
void Quantised::readRow(int64_t row, T *out, const StepNumerics &n,
                        bool asIntegers) const {
  const bool isPacked = q.desc().dtype == DType::U8;
  const int64_t stored = q.shape()[1], groups = scales.shape()[1];
  std::vector<T> numbers(static_cast<size_t>(stored)),
      scale(static_cast<size_t>(groups)), zero(scale.size());
  q.read(row * stored, stored, numbers.data());
  scales.read(row * groups, groups, scale.data());
  if (zeros)
    zeros->read(row * groups, groups, zero.data());
  for (int64_t k = 0; k < numColumns; ++k) {
    T integer = numbers[static_cast<size_t>(isPacked ? k / 2 : k)];
    if (isPacked) {
      const int64_t byte = static_cast<int64_t>(valueOf(integer));
      integer = T(static_cast<double>((k % 2 ? byte >> 4 : byte & 15) - 8));
    }
    // Too few groups repeat the last one.
    const size_t g = static_cast<size_t>(std::min(k / groupSize, groups - 1));
    out[k] = dequantised(integer, zero[g], scale[g], n);
    // A sum that an infinite scale multiplies has no zeros that it makes NaN.
    if (asIntegers && (!isHeldBy16Bits(valueOf(integer) - valueOf(zero[g])) ||
                       std::isinf(valueOf(scale[g]))))
      out[k] = withoutVerdict(out[k]);
  }
}

template void Quantised::readRow(int64_t, double *, const StepNumerics &,
                                 bool) const;
template void Quantised::readRow(int64_t, Bounded *, const StepNumerics &,
                                 bool) const;
