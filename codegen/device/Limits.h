//===- Limits.h - What no device launches -----------------------*- C++ -*-===//
//
// The hardware's limits on a launch, checked in one place so that the emulator
// refuses exactly what a GPU would.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_LIMITS_H
#define TANDEM_CODEGEN_DEVICE_LIMITS_H

#include "refops/core/LaunchRecord.h"
#include "refops/core/Result.h"

namespace tandem {

struct DeviceLimits {
  /// Shared memory that one CTA may ask for: 227 KB from sm_90 on.
  int64_t sharedBytes = 227 << 10;
  /// CTAs a cluster that every device with clusters can run.
  int64_t clusterCtas = 8;
};

/// Checks block, cluster and shared memory of \p record, and that \p bound's
/// grid is whole clusters. bindLaunch has checked the grid itself.
inline Result<void> checkLimits(const LaunchRecord &record,
                                const BoundLaunch &bound,
                                const DeviceLimits &limits) {
  auto refuse = [&](const std::string &what) {
    return Result<void>(Error(record.kernel + ": " + what));
  };
  auto dims = [](const auto &d) {
    return std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" +
           std::to_string(d[2]);
  };
  auto product = [](const std::array<int, 3> &d) {
    return static_cast<int64_t>(d[0]) * d[1] * d[2];
  };
  auto positive = [](const std::array<int, 3> &d) {
    return d[0] > 0 && d[1] > 0 && d[2] > 0;
  };
  if (!positive(record.block) || record.block[0] > 1024 ||
      record.block[1] > 1024 || record.block[2] > 64 ||
      product(record.block) > 1024)
    return refuse("a block of " + dims(record.block) +
                  " threads, allowed are 1024x1024x64 and at most 1024");
  if (!positive(record.cluster) || product(record.cluster) > limits.clusterCtas)
    return refuse("a cluster of " + dims(record.cluster) + " CTAs, at most " +
                  std::to_string(limits.clusterCtas) + " are allowed");
  for (size_t i = 0; i < 3; ++i)
    if (bound.grid[i] % record.cluster[i])
      return refuse("a grid of " + dims(bound.grid) +
                    " CTAs is not whole clusters of " + dims(record.cluster));
  if (record.sharedBytes < 0 || record.sharedBytes > limits.sharedBytes)
    return refuse("dynamic shared memory of " +
                  std::to_string(record.sharedBytes) + " bytes, at most " +
                  std::to_string(limits.sharedBytes) + " are allowed");
  return {};
}

} // namespace tandem

#endif // TANDEM_CODEGEN_DEVICE_LIMITS_H
