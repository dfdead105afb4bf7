//===- BenchRun.h - tandem bench run ----------------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_TOOLS_BENCHRUN_H
#define TANDEM_HARNESS_TOOLS_BENCHRUN_H

#include "harness/tools/Subcommands.h"

namespace tandem::tools {

/// `tandem bench run SUITE`: \p parent is `tandem bench`.
Command benchRunCommand(CLI::App &parent, const harness::PeerHost &peers);

} // namespace tandem::tools

#endif // TANDEM_HARNESS_TOOLS_BENCHRUN_H
