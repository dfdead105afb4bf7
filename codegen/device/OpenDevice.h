//===- OpenDevice.h - A device by its name ----------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_OPENDEVICE_H
#define TANDEM_CODEGEN_DEVICE_OPENDEVICE_H

#include "codegen/device/Device.h"

namespace tandem {

/// Opens `cuda`, `cuda:N`, `emulator`, `tile`, or `auto`: the first GPU if
/// there is one, the emulator otherwise. Fails on another name, and says why
/// there is no GPU.
Result<std::unique_ptr<Device>> openDevice(std::string_view name);

/// The newest target that tandem generates code for and \p device runs.
std::string bestTarget(const Device &device);

} // namespace tandem

#endif // TANDEM_CODEGEN_DEVICE_OPENDEVICE_H
