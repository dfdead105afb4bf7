//===- Mutate.h - tandem mutate ---------------------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_TOOLS_MUTATE_H
#define TANDEM_HARNESS_TOOLS_MUTATE_H

#include "harness/tools/Subcommands.h"

namespace tandem::tools {

Command mutateCommand(CLI::App &parent);

} // namespace tandem::tools

#endif // TANDEM_HARNESS_TOOLS_MUTATE_H
