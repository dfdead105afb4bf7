//===- BenchHardware.h - tandem bench hardware ------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_TOOLS_BENCHHARDWARE_H
#define TANDEM_HARNESS_TOOLS_BENCHHARDWARE_H

#include "harness/tools/Subcommands.h"

namespace tandem::tools {

/// `tandem bench hardware`: \p parent is `tandem bench`.
Command benchHardwareCommand(CLI::App &parent);

} // namespace tandem::tools

#endif // TANDEM_HARNESS_TOOLS_BENCHHARDWARE_H
