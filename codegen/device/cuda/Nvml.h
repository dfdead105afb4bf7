//===- Nvml.h - Clocks and driver version, for reports ----------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_CUDA_NVML_H
#define TANDEM_CODEGEN_DEVICE_CUDA_NVML_H

#include <map>
#include <string>

namespace tandem::cuda {

/// Facts about the GPU at PCI address \p busId from libnvidia-ml.so.1, opened
/// at run time: `driver`, `sm clock (MHz)`, ... Empty where the library or a
/// fact is missing.
std::map<std::string, std::string> nvmlFacts(const char *busId);

} // namespace tandem::cuda

#endif // TANDEM_CODEGEN_DEVICE_CUDA_NVML_H
