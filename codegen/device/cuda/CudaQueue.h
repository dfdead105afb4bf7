//===- CudaQueue.h - Graphs, events and sensors of a GPU --------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_CUDA_CUDAQUEUE_H
#define TANDEM_CODEGEN_DEVICE_CUDA_CUDAQUEUE_H

#include "codegen/device/GpuQueue.h"
#include "codegen/device/cuda/Driver.h"

namespace tandem::cuda {

class CudaQueue final : public GpuQueue {
public:
  /// \p busId must outlive the queue.
  CudaQueue(const Driver &driver, CUcontext context, CUstream stream,
            uint64_t l2, const char *busId)
      : driver(driver), context(context), cuStream(stream), l2(l2),
        busId(busId) {}
  ~CudaQueue() override;
  CudaQueue(const CudaQueue &) = delete;
  CudaQueue &operator=(const CudaQueue &) = delete;

  uint64_t stream() const override {
    return reinterpret_cast<uint64_t>(cuStream);
  }
  uint64_t l2Bytes() const override { return l2; }
  Result<void> copy(uint64_t target, uint64_t source, uint64_t bytes) override;
  Result<void> synchronize() override;
  Result<uint64_t>
  capture(const std::function<Result<void>()> &enqueue) override;
  Result<uint64_t> instantiate(uint64_t graph) override;
  void release(uint64_t executable) override;
  Result<double> replay(uint64_t executable) override;
  std::optional<GpuSensors> sensors() override;

private:
  Result<void> check(const char *call, CUresult code) const {
    if (code == success)
      return {};
    return driver.describe(call, code);
  }
  Result<void> makeCurrent() const {
    return check("cuCtxSetCurrent", driver.ctxSetCurrent(context));
  }

  const Driver &driver;
  CUcontext context;
  CUstream cuStream;
  uint64_t l2;
  const char *busId;
  CUevent begin = nullptr, end = nullptr;
};

} // namespace tandem::cuda

#endif // TANDEM_CODEGEN_DEVICE_CUDA_CUDAQUEUE_H
