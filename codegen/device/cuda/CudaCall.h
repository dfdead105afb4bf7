//===- CudaCall.h - A launch packed for the driver --------------*- C++ -*-===//
//
// Grid, attributes and one parameter buffer, filled from a bound launch record.
// Filling it may fail and allocates the first time; launching it is one call of
// the driver.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_CUDA_CUDACALL_H
#define TANDEM_CODEGEN_DEVICE_CUDA_CUDACALL_H

#include "codegen/device/cuda/Driver.h"
#include "refops/core/LaunchRecord.h"

#include <vector>

namespace tandem::cuda {

/// The driver's 128 bytes of \p map.
Result<void> encodeMap(const Driver &driver, const TensorMap &map,
                       std::byte *to);

class CudaCall {
public:
  CudaCall(const Driver &driver, CUfunction function,
           const LaunchRecord &record);
  CudaCall(const CudaCall &) = delete;
  CudaCall &operator=(const CudaCall &) = delete;

  /// Overwrites grid and arguments with those of \p bound, which is of the same
  /// record. Fails on a tensor map that the driver refuses.
  Result<void> bind(const BoundLaunch &bound, CUdeviceptr errorSlot,
                    CUdeviceptr workspace);

  /// Enqueues what was bound last.
  CUresult launch(CUstream stream) {
    config.stream = stream;
    return driver.launchKernelEx(&config, function,
                                 hasMaps ? pointers.data() : nullptr,
                                 packedBytes && !hasMaps ? extra : nullptr);
  }

  /// The same with cuLaunchKernel and a pointer to every argument; without
  /// cluster and other attributes, which that call cannot have.
  CUresult launchPlainly(CUstream stream) {
    return driver.launchKernel(function, config.grid[0], config.grid[1],
                               config.grid[2], config.block[0], config.block[1],
                               config.block[2], config.sharedBytes, stream,
                               pointers.data(), nullptr);
  }

private:
  const Driver &driver;
  CUfunction function;
  const LaunchRecord &record;
  LaunchConfig config;
  LaunchAttribute attributes[2];
  /// Where each argument lies in `packed`: at its natural alignment.
  std::vector<size_t> offsets;
  std::vector<std::byte> packed;
  std::vector<void *> pointers;
  size_t packedBytes = 0;
  /// Driver 580.159 accepts one buffer for a kernel with tensor maps, reports
  /// success, and runs nothing: such launches pass a pointer to each argument.
  bool hasMaps = false;
  void *extra[5];
};

} // namespace tandem::cuda

#endif // TANDEM_CODEGEN_DEVICE_CUDA_CUDACALL_H
