//===- KvCache.h - Rows into a cache, in place ------------------*- C++ -*-===//
#ifndef TANDEM_REFOPS_KVCACHE_H
#define TANDEM_REFOPS_KVCACHE_H

#include "refops/RefOp.h"

namespace tandem::refops {

/// Copies \p count elements of \p from, cast as COPY does, into \p cache.
void appendRow(const Source &from, int64_t first, Sink &cache, int64_t at,
               int64_t count, double *);
void appendRow(const Source &from, int64_t first, Sink &cache, int64_t at,
               int64_t count, Bounded *);

} // namespace tandem::refops

#endif // TANDEM_REFOPS_KVCACHE_H
