//===- CudaDevice.h - The GPU behind the device interface -------*- C++ -*-===//
//
// One primary context and one stream a device; every call synchronises, so that
// an error belongs to the call that caused it. A kernel that faults takes the
// whole process's use of CUDA with it (seen on driver 580: not even a reset of
// the primary context brings it back): the launch reports a finding, and
// everything after it fails. Whoever runs kernels that may fault does so in a
// process of its own.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_CUDA_CUDADEVICE_H
#define TANDEM_CODEGEN_DEVICE_CUDA_CUDADEVICE_H

#include "codegen/device/Device.h"
#include "codegen/device/Limits.h"
#include "codegen/device/cuda/CudaQueue.h"
#include "codegen/device/cuda/Driver.h"
#include "refops/core/RecordSymbols.h"

#include <atomic>
#include <mutex>

namespace tandem::cuda {

/// What a fault code says about the kernel, in the words of Finding::kind; null
/// if it is not the kernel's fault.
const char *faultKind(CUresult code);

/// Set once a kernel of this process has faulted.
extern std::atomic<bool> processIsLost;

class CudaKernel final : public LoadedKernel {
public:
  CudaKernel(const Driver &driver, CUcontext context)
      : driver(driver), context(context) {}
  ~CudaKernel() override {
    if (module && driver.ctxSetCurrent(context) == success)
      driver.moduleUnload(module);
  }
  CudaKernel(const CudaKernel &) = delete;
  CudaKernel &operator=(const CudaKernel &) = delete;

  const Driver &driver;
  CUcontext context;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  LaunchRecord record;
  LaunchSymbols symbols;
};

class CudaDevice final : public Device {
public:
  CudaDevice(const Driver &driver, CUdevice device)
      : driver(driver), device(device) {}
  ~CudaDevice() override;
  CudaDevice(const CudaDevice &) = delete;
  CudaDevice &operator=(const CudaDevice &) = delete;

  /// Creates what the destructor releases, and reads the fixed facts.
  Result<void> open();

  std::string_view kind() const override { return "cuda"; }
  DeviceInfo info() const override;
  bool supports(std::string_view target) const override;
  Result<uint64_t> allocate(uint64_t bytes, std::string_view name) override;
  Result<void> release(uint64_t address) override;
  Result<void> write(uint64_t address, const void *source,
                     uint64_t bytes) override;
  Result<void> read(uint64_t address, void *target, uint64_t bytes) override;
  Result<void> fill(uint64_t address, uint8_t byte, uint64_t bytes,
                    bool initialised) override;
  Result<std::array<std::byte, tensorMapBytes>>
  encodeTensorMap(const TensorMap &map) override;
  Result<std::shared_ptr<LoadedKernel>> load(const Kernel &kernel) override;
  Result<LaunchReport> launch(LoadedKernel &kernel,
                              const std::vector<Operand> &operands,
                              const LaunchOptions &options) override;
  Result<std::unique_ptr<PreparedLaunch>>
  prepare(std::shared_ptr<LoadedKernel> kernel,
          const std::vector<Operand> &operands) override;
  GpuQueue *queue() override { return cudaQueue.get(); }

private:
  struct Allocation {
    uint64_t bytes;
    std::string name;
  };

  /// Empty when \p code is success; the error of `call` otherwise.
  Result<void> check(std::string_view call, CUresult code) {
    if (code == success)
      return {};
    if (faultKind(code))
      processIsLost = true;
    return driver.describe(call, code);
  }
  Result<void> makeCurrent() {
    return check("cuCtxSetCurrent", driver.ctxSetCurrent(context));
  }
  /// Fails unless one allocation holds the whole range.
  Result<void> checkRange(std::string_view what, uint64_t address,
                          uint64_t bytes) const;
  Result<void> growWorkspace(uint64_t bytes);
  Result<void> setAttributes(const CudaKernel &kernel);
  /// Fails when the record's arguments are not the kernel's parameters: the
  /// driver would read past a buffer that is too short.
  Result<void> checkParameters(const CudaKernel &kernel) const;
  /// Launches and waits. The code of the kernel's own fault is in \p fault.
  Result<void> launchAndWait(const CudaKernel &kernel, const BoundLaunch &bound,
                             CUresult &fault);

  const Driver &driver;
  CUdevice device;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  int major = 0, minor = 0;
  DeviceLimits limits;
  std::map<std::string, std::string> facts;
  std::string name;
  char busId[32] = {};
  std::unique_ptr<CudaQueue> cudaQueue;

  /// Guards everything below; launches are one at a time.
  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> allocations;
  CUdeviceptr errorSlot = 0;
  CUdeviceptr workspace = 0;
  uint64_t workspaceBytes = 0;
};

} // namespace tandem::cuda

#endif // TANDEM_CODEGEN_DEVICE_CUDA_CUDADEVICE_H
