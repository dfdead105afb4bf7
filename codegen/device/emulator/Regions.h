//===- Regions.h - Which allocation an address lies in ----------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_REGIONS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_REGIONS_H

#include "codegen/device/emulator/Exec.h"

namespace tandem::emulator {

/// The allocation of global memory, live or freed, that holds the whole range;
/// null if none does.
const Region *findRegion(const Launch &launch, uint64_t address, unsigned size);
/// The one whose bytes are the fewest away; null when there are none.
const Region *nearestRegion(const Launch &launch, uint64_t address);
/// `byte 12 of 'x' (4096 bytes)`, or how far outside.
std::string describe(const Region &region, uint64_t address);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_REGIONS_H
