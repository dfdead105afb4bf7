//===- Agreement.h - Whether a device does what a recording says -*- C++
//-*-===//
#ifndef TANDEM_HARNESS_HARDWARE_AGREEMENT_H
#define TANDEM_HARNESS_HARDWARE_AGREEMENT_H

#include "harness/hardware/Recording.h"

namespace tandem::hardware {

struct AgreementOptions {
  /// One of so many strata, at least `leastStrata`; 1: all.
  uint32_t share = 256;
  uint32_t leastStrata = 8;
  uint64_t seed = 1;
};

/// What is wrong, in sentences; empty: they agree.
using Disagreements = std::vector<std::string>;

/// Exact instructions: equal bits. Approximate ones: equal bits where there is
/// no deviation, and the emulator's envelope begins and ends exactly with the
/// inputs for which the hardware deviates most. An Error: the device does not
/// have the instruction.
Result<Disagreements> checkProbe(const Probe &probe, const ProbeRecord &record,
                                 Sweeper &sweeper, bool isEmulator,
                                 const AgreementOptions &options);

/// The inputs for which two devices differ, some of them, in words. An envelope
/// counts as a difference only where the first leaves the second's.
Result<Disagreements> compareDevices(const Probe &probe, Sweeper &first,
                                     Sweeper &emulator,
                                     const AgreementOptions &options);

} // namespace tandem::hardware

#endif // TANDEM_HARNESS_HARDWARE_AGREEMENT_H
