//===- KvCache.cpp - Rows into a cache, in place --------------------------===//
#include "refops/KvCache.h"

using namespace tandem;
using namespace tandem::refops;

void tandem::refops::appendRow(const Source &from, int64_t first, Sink &cache,
                               int64_t at, int64_t count, double *) {
  const DType type = cache.desc().dtype;
  const std::optional<View> source = from.view();
  if (source && cache.bytes() && source->desc.dtype == type) {
    // Rows are moved: float8 infinities and NaN payloads stay.
    const View to{cache.desc(), cache.bytes()};
    for (int64_t i = 0; i < count; ++i)
      convertElement(type, source->atLinear(first + i), type,
                     to.atLinear(at + i));
    return;
  }
  std::vector<double> row(static_cast<size_t>(count));
  from.read(first, count, row.data());
  cache.write(at, count, row.data());
}

void tandem::refops::appendRow(const Source &from, int64_t first, Sink &cache,
                               int64_t at, int64_t count, Bounded *) {
  std::vector<Bounded> row(static_cast<size_t>(count));
  from.read(first, count, row.data());
  if (from.desc().dtype == cache.desc().dtype)
    cache.move(at, count, row.data());
  else
    cache.write(at, count, row.data());
}
