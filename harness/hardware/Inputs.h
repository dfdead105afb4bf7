//===- Inputs.h - Random operands of probes ---------------------*- C++ -*-===//
//
// Each stratum is of one kind: any bits; exponents close together, far apart;
// few significant bits (ties, cancellation); near the least and the largest
// normal number; special values; operands that are equal or opposite. A stratum
// depends on its number and the formats alone, so that a few of them can be
// made without the others, and shorter.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_HARDWARE_INPUTS_H
#define TANDEM_HARNESS_HARDWARE_INPUTS_H

#include "harness/hardware/Probe.h"

namespace tandem::hardware {

/// Word w of input i of the p-th of \p strata at
/// w * strata.size() * count + p * count + i.
std::vector<uint32_t> makeInputs(const Probe &probe,
                                 const std::vector<uint32_t> &strata,
                                 uint32_t count);

} // namespace tandem::hardware

#endif // TANDEM_HARNESS_HARDWARE_INPUTS_H
