//===- Sweep.h - Runs probes on a device ------------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_HARDWARE_SWEEP_H
#define TANDEM_HARNESS_HARDWARE_SWEEP_H

#include "codegen/device/Device.h"
#include "harness/hardware/Probe.h"

#include <map>

namespace tandem::hardware {

/// What a stratum gave.
struct StratumSums {
  /// Of the outputs that are compared by their bits.
  uint32_t hash = 0;
  /// Of all outputs.
  uint32_t all = 0;
  /// Of those that have one; least > most if none has.
  int32_t least = INT32_MAX, most = INT32_MIN;
};

struct SweepRequest {
  std::vector<uint32_t> strata;
  /// The first inputs of each stratum; 0: all.
  uint32_t count = 0;
  uint32_t step = 1;
  bool wantsOutput = false;
  std::string approximation = "nearest";
};

struct SweepResult {
  std::vector<StratumSums> sums; // by stratum of the request
  /// See ProbeKernel.h; empty unless asked for.
  std::vector<uint32_t> output;
  std::vector<uint32_t> input;
};

/// Runs probes one after the other, keeping buffers that the next one can use.
class Sweeper {
public:
  explicit Sweeper(Device &device, int jobs) : device(device), jobs(jobs) {}
  ~Sweeper();
  Sweeper(const Sweeper &) = delete;
  Sweeper &operator=(const Sweeper &) = delete;

  /// Fails when the device does not have the instruction.
  Result<void> load(const Probe &probe);
  /// Of the probe loaded last.
  Result<SweepResult> run(const SweepRequest &request);

private:
  struct Buffer {
    uint64_t address = 0, bytes = 0;
  };
  Result<Operand> buffer(const std::string &name, uint64_t words);

  Device &device;
  int jobs;
  const Probe *probe = nullptr;
  std::shared_ptr<LoadedKernel> kernel;
  std::map<std::string, Buffer> buffers;
  /// What the input buffer holds.
  std::vector<std::string> inputFormats;
  std::vector<uint32_t> inputStrata;
  uint32_t inputCount = 0;
};

} // namespace tandem::hardware

#endif // TANDEM_HARNESS_HARDWARE_SWEEP_H
