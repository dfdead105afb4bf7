//===- Nvml.h - Clocks and driver version, for reports ----------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_CUDA_NVML_H
#define TANDEM_CODEGEN_DEVICE_CUDA_NVML_H

#include "codegen/device/GpuQueue.h"

#include <map>
#include <string>

namespace tandem::cuda {

/// Facts about the GPU at PCI address \p busId from libnvidia-ml.so.1, opened
/// at run time: `driver`, `sm clock (MHz)`, ... Empty where the library or a
/// fact is missing.
std::map<std::string, std::string> nvmlFacts(const char *busId);

/// What the GPU reports now. Nothing where the library is missing.
std::optional<GpuSensors> nvmlSensors(const char *busId);

} // namespace tandem::cuda

#endif // TANDEM_CODEGEN_DEVICE_CUDA_NVML_H
