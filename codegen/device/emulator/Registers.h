//===- Registers.h - Values that were never given ---------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_REGISTERS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_REGISTERS_H

#include "codegen/device/emulator/Exec.h"

namespace tandem::emulator {

/// Sets program.tracksRegisters when some path reads a register that it has not
/// written (a forward data-flow over the control-flow graph).
void findUndefinedReads(Program &program);

/// Follows undefined values through registers, and reports one that decides an
/// address, a branch or a stored value. Only called for programs that track.
void trackUndefined(Exec &x, const Inst &inst, uint32_t group, uint32_t active);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_REGISTERS_H
