//===- Measure.cpp - Contenders timed side by side ------------------------===//
#include "harness/bench/Measure.h"

#include "harness/case/Random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tandem;
using namespace tandem::bench;

double tandem::bench::median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

double tandem::bench::quantile(std::vector<double> values, double share) {
  if (values.empty())
    return 0;
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(std::lround(share * last))];
}

double tandem::bench::ratioOf(const Timing &slow, const Timing &fast) {
  std::vector<double> ratios;
  for (size_t i = 0; i < slow.us.size() && i < fast.us.size(); ++i)
    if (fast.us[i] > 0)
      ratios.push_back(slow.us[i] / fast.us[i]);
  return median(std::move(ratios));
}

Result<Measured> tandem::bench::measure(GpuQueue &queue,
                                        const std::vector<uint64_t> &graphs,
                                        int launches, int rounds,
                                        uint64_t seed) {
  Measured measured;
  measured.timings.resize(graphs.size());
  std::vector<size_t> order(graphs.size());
  std::iota(order.begin(), order.end(), size_t(0));
  harness::Random random(seed);
  constexpr int warmUps = 2;
  for (int round = -warmUps; round < rounds; ++round) {
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.below(i)]);
    for (const size_t which : order) {
      const Result<double> us = queue.replay(graphs[which]);
      if (!us)
        return us.error();
      if (round >= 0)
        measured.timings[which].us.push_back(*us / launches);
    }
    // Right behind the load, before the clocks recover.
    if (round >= 0 && round % 4 == 0)
      if (std::optional<GpuSensors> reading = queue.sensors())
        measured.sensors.push_back(*reading);
  }
  return measured;
}

Rotation tandem::bench::rotationFor(int64_t bytes, int64_t flops,
                                    uint64_t l2Bytes) {
  Rotation rotation;
  const auto twice = static_cast<int64_t>(2 * l2Bytes);
  // A row of a few bytes would need as many buffers as there is address space.
  constexpr int64_t mostSets = 2048;
  rotation.sets = static_cast<int>(
      std::min(mostSets, twice / std::max<int64_t>(bytes, 1) + 1));
  // The first launch of a graph waits a few microseconds for the host; a
  // millisecond makes that less than a percent. Rates of a fast GPU, so that
  // slower ones only take longer.
  constexpr double bytesAUs = 4e6, flopsAUs = 7e8, leastUs = 1000;
  const double us = std::max({static_cast<double>(bytes) / bytesAUs,
                              static_cast<double>(flops) / flopsAUs, 1.0});
  constexpr int least = 20, most = 400;
  rotation.launches =
      std::clamp(static_cast<int>(std::ceil(leastUs / us)), least, most);
  // Each buffer as often as any other.
  rotation.launches =
      (rotation.launches + rotation.sets - 1) / rotation.sets * rotation.sets;
  return rotation;
}
