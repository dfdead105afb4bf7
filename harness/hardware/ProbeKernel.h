//===- ProbeKernel.h - The kernel that runs a probe -------------*- C++ -*-===//
//
// One CTA a stratum. Buffers, all of 32-bit words:
//
//   control  inputs a stratum, step, flags, inputs in all; then the strata
//   input    word w of input i of the p-th stratum at w * all + p * count + i
//   sums     4 warps a stratum, 4 words each: hash of all outputs, hash of
//            those that have no deviation, least and largest deviation
//   output   if asked for: input i of the p-th stratum has `outputWords` words
//            from (p * count + i) * outputWords on; with a measure, one more
//            for the deviation (INT32_MIN: the bits are compared; INT32_MIN +
//            1: neither)
//
// Input i of an exhaustive probe is the operand (stratum << stratumBits) +
// i * step.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_HARDWARE_PROBEKERNEL_H
#define TANDEM_HARNESS_HARDWARE_PROBEKERNEL_H

#include "codegen/device/Device.h"
#include "harness/hardware/Probe.h"

namespace tandem::hardware {

inline constexpr int probeThreads = 128;
inline constexpr int controlHeader = 4; // words
inline constexpr int sumWords = 4 * (probeThreads / 32);
inline constexpr uint32_t wantsOutput = 1;

inline int outputStride(const Probe &probe) {
  return probe.outputWords + (probe.measure.exists() ? 1 : 0);
}

Kernel probeKernel(const Probe &probe);

} // namespace tandem::hardware

#endif // TANDEM_HARNESS_HARDWARE_PROBEKERNEL_H
