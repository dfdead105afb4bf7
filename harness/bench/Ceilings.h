//===- Ceilings.h - The best plain copy or read of so many bytes -*- C++
//-*-===//
//
// What memory gives to a kernel that does nothing else: several plain copies
// and reads, written as PTX so that they share nothing with what is measured.
// The fastest in a run is that run's ceiling.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_BENCH_CEILINGS_H
#define TANDEM_HARNESS_BENCH_CEILINGS_H

#include "codegen/device/Device.h"
#include "harness/bench/Suite.h"

namespace tandem::bench {

struct PlainKernel {
  std::string name;
  /// Operands: x and y, uint8 of one dim, a multiple of 16 bytes each.
  Kernel kernel;
};

/// Kernels that copy x to y, or read x and store nothing unless its bits say
/// so. \p processors: how many a persistent grid fills.
std::vector<PlainKernel> plainKernels(Ceiling ceiling, int processors);

} // namespace tandem::bench

#endif // TANDEM_HARNESS_BENCH_CEILINGS_H
