//===- Run.h - All CTAs of a launch -----------------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_RUN_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_RUN_H

#include "codegen/device/emulator/Exec.h"

#include <memory>

namespace tandem::emulator {

/// CTAs kept for the next launch.
using CtaPool = std::vector<std::unique_ptr<Cta>>;

/// Runs the launch and gives its findings, at most \p most of them, in an order
/// that does not depend on the number of threads.
LaunchReport runLaunch(Launch &launch, CtaPool &pool, bool ctasCommunicate,
                       size_t most);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_RUN_H
