//===- CheckCandidate.h - Whether a schedule may win ------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_TUNE_CHECKCANDIDATE_H
#define TANDEM_HARNESS_TUNE_CHECKCANDIDATE_H

#include "harness/bench/Suite.h"
#include "harness/run/Runner.h"

namespace tandem::tune {

/// Compares the kernels of \p row under \p set with the references, within the
/// bound, on sizes as small as give the very same PTX, once for each of several
/// kinds of values, and once in each of \p schedules orders of warps and CTAs
/// (the emulator's).
/// Gives the number of cases that passed; fails with the first that did not.
Result<int> checkCandidate(const bench::Row &row,
                           const std::map<std::string, std::string> &set,
                           const std::string &target,
                           const harness::Engine &engine, Device &device,
                           int schedules = 1);

/// The row's sizes, each made as small as leaves the PTX of its kernels as it
/// is.
DimBindings smallDims(const bench::Row &row,
                      const std::map<std::string, std::string> &set,
                      const std::string &target, const harness::Engine &engine);

} // namespace tandem::tune

#endif // TANDEM_HARNESS_TUNE_CHECKCANDIDATE_H
