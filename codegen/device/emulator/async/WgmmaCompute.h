//===- WgmmaCompute.h - The arithmetic of wgmma -----------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_WGMMACOMPUTE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_WGMMACOMPUTE_H

#include "codegen/device/emulator/async/Wgmma.h"

namespace tandem::emulator {

/// Reads the operands, computes, and writes the registers of the four warps
/// from
/// \p firstWarp on.
void computeWgmma(Cta &cta, int firstWarp, const WgmmaOp &op);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_WGMMACOMPUTE_H
