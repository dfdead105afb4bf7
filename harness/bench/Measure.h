//===- Measure.h - Contenders timed side by side ----------------*- C++ -*-===//
//
// The one timer: every contender, ours, a ceiling or a peer, is an executable
// graph of the same number of launches. A round replays each once, in an order
// drawn anew, because a kernel that follows a hot one finds lower clocks; the
// median of the rounds counts, and ratios are medians of ratios in one round.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_BENCH_MEASURE_H
#define TANDEM_HARNESS_BENCH_MEASURE_H

#include "codegen/device/GpuQueue.h"

#include <string>
#include <vector>

namespace tandem::bench {

/// The middle value, or the mean of the two in the middle; 0 of none.
double median(std::vector<double> values);
/// The value below which \p share of \p values lie.
double quantile(std::vector<double> values, double share);

struct Timing {
  /// Microseconds of a launch, one a round.
  std::vector<double> us;
  double medianUs() const { return median(us); }
};

/// How often \p slow takes the time of \p fast: the median over rounds.
double ratioOf(const Timing &slow, const Timing &fast);

inline constexpr int numRounds = 25;

struct Measured {
  /// One a graph, in their order.
  std::vector<Timing> timings;
  /// Readings during the rounds, under load.
  std::vector<GpuSensors> sensors;
};

/// Replays \p graphs, each of \p launches launches, for \p rounds rounds after
/// two that do not count.
Result<Measured> measure(GpuQueue &queue, const std::vector<uint64_t> &graphs,
                         int launches, int rounds, uint64_t seed);

/// Buffers that a row rotates over and launches in its graph: more than twice
/// the L2 cache, at least 20 launches, and long enough that the graph's own
/// start does not count.
struct Rotation {
  int sets = 1;
  int launches = 20;
};
Rotation rotationFor(int64_t bytes, int64_t flops, uint64_t l2Bytes);

} // namespace tandem::bench

#endif // TANDEM_HARNESS_BENCH_MEASURE_H
