//===- HostRows.h - What a launch and a compilation cost the host -*- C++
//-*-===//
//
// `launch` rows: nanoseconds of the calling thread for one launch, of a loop of
// the driver's plain call, of a prepared launch, and of a call that checks
// dtype, shape, strides and alignment of every operand. `compile` rows:
// milliseconds from a recipe to a loaded module, cold and cached.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_BENCH_HOSTROWS_H
#define TANDEM_HARNESS_BENCH_HOSTROWS_H

#include "harness/bench/Buffers.h"
#include "harness/bench/RunSuite.h"

namespace tandem::bench {

/// Both add `contenders` to \p result, each with `ns` or `ms`.
Result<void> measureLaunch(const Row &row, const Bench &bench,
                           const RunOptions &options, nlohmann::json &result);
Result<void> measureCompile(const Row &row, const Bench &bench,
                            const RunOptions &options, nlohmann::json &result);

} // namespace tandem::bench

#endif // TANDEM_HARNESS_BENCH_HOSTROWS_H
