//===- Recording.h - What a GPU gave for each probe -------------*- C++ -*-===//
//
// Two files in a folder: index.json says which GPU and driver it was, and for
// each probe where its numbers lie in sweeps.bin (little-endian, in this
// order):
//
//   hash of each stratum: 1 byte where there are 2^16 strata, else 4 bytes
//   with a measure: least and largest deviation of each group of strata, as two
//   arrays of 16 bits, cut off at +-32767; no deviation is 32767 and -32767
//   output words of the sample (sampleOf)
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_HARDWARE_RECORDING_H
#define TANDEM_HARNESS_HARDWARE_RECORDING_H

#include "harness/hardware/Sweep.h"

#include <functional>
#include <optional>

namespace tandem::hardware {

/// The input that deviates most in one direction.
struct Extreme {
  uint32_t stratum = 0, input = 0; // the input's number in the stratum
  uint32_t output = 0;
  int32_t deviation = 0;
};

struct ProbeRecord {
  std::string name;
  std::vector<uint32_t> hashes;
  std::vector<int16_t> least, most;
  std::vector<uint32_t> sample;
  /// Of all outputs of all strata.
  uint32_t all = 0;
  std::optional<Extreme> lowest, highest;
};

struct Recording {
  std::string device, driver;
  std::vector<ProbeRecord> probes;
  /// Probes that could not be recorded, and why.
  std::map<std::string, std::string> missing;

  const ProbeRecord *find(const std::string &name) const;
};

/// What of a stratum's hash is kept.
uint32_t keptHash(const Probe &probe, uint32_t hash);
/// Neighbouring strata whose deviations are kept as one.
uint32_t strataPerGroup(const Probe &probe);
/// Some inputs of many strata, the same for every device.
SweepRequest sampleOf(const Probe &probe);
/// One input of a stratum, the last one of the request's.
SweepRequest single(const Probe &probe, uint32_t stratum, uint32_t input);

/// Runs all strata of a probe.
Result<ProbeRecord> recordProbe(const Probe &probe, Sweeper &sweeper);

Result<void> writeRecording(const Recording &recording,
                            const std::string &folder);
Result<Recording> readRecording(const std::string &folder);

} // namespace tandem::hardware

#endif // TANDEM_HARNESS_HARDWARE_RECORDING_H
