//===- Convert.h - What the parts of cvt share ------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_CONVERT_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_CONVERT_H

#include "codegen/device/emulator/Rounding.h"
#include "codegen/device/emulator/Types.h"

namespace tandem::emulator::convert {

inline constexpr uint8_t ftzFlag = 1, satFlag = 2, integralFlag = 4,
                         reluFlag = 8, finiteFlag = 16;

/// The bits of \p value in a float format.
uint64_t encode(double value, Type to, Round mode, uint8_t flags);

} // namespace tandem::emulator::convert

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_CONVERT_H
