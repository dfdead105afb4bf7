//===- Calls.h - Frames of device functions ---------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_CALLS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_CALLS_H

#include "codegen/device/emulator/Exec.h"

namespace tandem::emulator {

/// Where byte \p at of a thread's local memory lies in Cta::local.
uint64_t localOffset(const Exec &x, unsigned lane, uint64_t at);

/// `vprintf` and `__assertfail`, called with arguments in the caller's frame
/// (Program::calls[Inst::target]).
void callPrintf(Exec &x, const Inst &inst);
void callAssertFail(Exec &x, const Inst &inst);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_CALLS_H
