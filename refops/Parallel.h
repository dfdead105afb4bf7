//===- Parallel.h - Independent work over a few threads ---------*- C++ -*-===//
#ifndef TANDEM_REFOPS_PARALLEL_H
#define TANDEM_REFOPS_PARALLEL_H

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace tandem::refops {

/// Scalar operations below which a thread costs more than it saves.
inline constexpr int64_t workWorthAThread = 1 << 17;

/// Calls \p body(begin, end) for disjoint ranges that cover [0, count). Every
/// item must be independent of the others, so that the result does not depend
/// on \p jobs. \p workPerItem is in scalar operations.
template <typename Body>
void parallelFor(int64_t count, int64_t workPerItem, int jobs, Body body) {
  const double work =
      static_cast<double>(count) * static_cast<double>(workPerItem);
  const int64_t useful = static_cast<int64_t>(
      std::min(work / static_cast<double>(workWorthAThread), 4096.0));
  const int64_t threads =
      std::max<int64_t>(1, std::min({int64_t(jobs), count, useful}));
  if (threads == 1) {
    if (count > 0)
      body(int64_t(0), count);
    return;
  }
  std::vector<std::thread> workers;
  for (int64_t t = 0; t < threads; ++t)
    workers.emplace_back([&body, t, threads, count] {
      const int64_t share = count / threads, extra = count % threads;
      const int64_t begin = t * share + std::min(t, extra);
      body(begin, begin + share + (t < extra ? 1 : 0));
    });
  for (std::thread &worker : workers)
    worker.join();
}

} // namespace tandem::refops

#endif // TANDEM_REFOPS_PARALLEL_H
