//===- GpuQueue.h - A GPU's stream, graphs and sensors ----------*- C++ -*-===//
//
// What measuring on a GPU needs beyond Device: launches captured into a graph
// and replayed between two events, and what the GPU says about itself
// meanwhile. Handles are the driver's, as integers, so that a graph may come
// from another library of the process.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_GPUQUEUE_H
#define TANDEM_CODEGEN_DEVICE_GPUQUEUE_H

#include "refops/core/Result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace tandem {

/// A reading of NVML.
struct GpuSensors {
  int smMegahertz = 0, memoryMegahertz = 0;
  double watts = 0;
  int celsius = 0;
  /// nvmlClocksEventReasons bits: why the clock is not higher.
  uint64_t reasons = 0;
};

/// The words for bits of GpuSensors::reasons.
inline std::vector<std::string_view> reasonWords(uint64_t reasons) {
  static constexpr std::pair<uint64_t, std::string_view> words[] = {
      {0x1, "idle"},
      {0x2, "application clocks"},
      {0x4, "software power cap"},
      {0x8, "hardware slowdown"},
      {0x10, "sync boost"},
      {0x20, "software thermal slowdown"},
      {0x40, "hardware thermal slowdown"},
      {0x80, "hardware power brake"},
      {0x100, "display clocks"}};
  std::vector<std::string_view> all;
  for (const auto &[bit, word] : words)
    if (reasons & bit)
      all.push_back(word);
  return all;
}

/// Those that make a measurement worthless: the hardware or its temperature
/// slowed the GPU. The software power cap is normal under load.
inline constexpr uint64_t slowdownReasons = 0x8 | 0x20 | 0x40 | 0x80;

class GpuQueue {
public:
  virtual ~GpuQueue() = default;

  /// The CUstream that everything below runs on.
  virtual uint64_t stream() const = 0;
  virtual uint64_t l2Bytes() const = 0;

  /// Enqueues a copy inside the device.
  virtual Result<void> copy(uint64_t target, uint64_t source,
                            uint64_t bytes) = 0;
  virtual Result<void> synchronize() = 0;

  /// Makes an executable graph of what \p enqueue puts on the stream. Nothing
  /// runs.
  virtual Result<uint64_t>
  capture(const std::function<Result<void>()> &enqueue) = 0;
  /// An executable graph from a CUgraph, which stays its owner's.
  virtual Result<uint64_t> instantiate(uint64_t graph) = 0;
  virtual void release(uint64_t executable) = 0;
  /// Runs an executable graph between two events; microseconds between them.
  virtual Result<double> replay(uint64_t executable) = 0;

  /// Nothing where NVML is not there.
  virtual std::optional<GpuSensors> sensors() = 0;
};

} // namespace tandem

#endif // TANDEM_CODEGEN_DEVICE_GPUQUEUE_H
