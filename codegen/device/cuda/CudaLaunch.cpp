//===- CudaLaunch.cpp - Loading and launching kernels on a GPU ------------===//
#include "codegen/device/cuda/CudaCall.h"
#include "codegen/device/cuda/CudaDevice.h"

using namespace tandem;
using namespace tandem::cuda;

Result<std::shared_ptr<LoadedKernel>> CudaDevice::load(const Kernel &kernel) {
  const std::string &entry = kernel.launch.kernel;
  if (!supports(kernel.launch.target))
    return Error(entry + ": compiled for " + kernel.launch.target + ", " +
                 name + " loads up to " + info().target);
  if (auto r = makeCurrent(); !r)
    return r.error();
  auto loaded = std::make_shared<CudaKernel>(driver, context);
  loaded->record = kernel.launch;
  auto symbols = resolveSymbols(loaded->record);
  if (!symbols)
    return symbols.error();
  loaded->symbols = symbols.take();

  char log[8192] = {};
  int options[] = {errorLogBuffer, errorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CUresult code = driver.moduleLoadDataEx(&loaded->module, kernel.ptx.c_str(),
                                          2, options, values);
  if (code != success) {
    Error error = driver.describe("cuModuleLoadDataEx(" + entry + ")", code);
    std::string_view text = log;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
      text.remove_suffix(1);
    if (!text.empty())
      error.messages.back() += ": " + std::string(text);
    return error;
  }
  if (auto r = check("cuModuleGetFunction(" + entry + ")",
                     driver.moduleGetFunction(&loaded->function, loaded->module,
                                              entry.c_str()));
      !r)
    return r.error();
  if (auto r = checkParameters(*loaded); !r)
    return r.error();
  if (auto r = setAttributes(*loaded); !r)
    return r.error();
  return std::shared_ptr<LoadedKernel>(loaded);
}

Result<void> CudaDevice::checkParameters(const CudaKernel &kernel) const {
  if (!driver.funcGetParamInfo)
    return {};
  const LaunchRecord &record = kernel.record;
  size_t count = 0, offset = 0, bytes = 0;
  for (; driver.funcGetParamInfo(kernel.function, count, &offset, &bytes) ==
         success;
       ++count)
    if (count < record.args.size() &&
        bytes != paramSize(record.args[count]).bytes)
      return Error(record.kernel + ": parameter " + std::to_string(count) +
                   " has " + std::to_string(bytes) +
                   " bytes, the launch record gives " +
                   std::to_string(paramSize(record.args[count]).bytes));
  if (count != record.args.size())
    return Error(record.kernel + ": the kernel has " + std::to_string(count) +
                 " parameters, the launch record gives " +
                 std::to_string(record.args.size()));
  return {};
}

Result<void> CudaDevice::setAttributes(const CudaKernel &kernel) {
  // Above 48 KB the driver wants to be asked; asking for less is harmless. What
  // exceeds the device is refused by the launch, with a better message.
  if (kernel.record.sharedBytes <= 0 ||
      kernel.record.sharedBytes > limits.sharedBytes)
    return {};
  int fixed = 0;
  if (auto r = check(
          "cuFuncGetAttribute(" + kernel.record.kernel + ")",
          driver.funcGetAttribute(&fixed, staticSharedBytes, kernel.function));
      !r)
    return r;
  if (fixed + kernel.record.sharedBytes > limits.sharedBytes)
    return Error(kernel.record.kernel + ": " + std::to_string(fixed) +
                 " bytes of static and " +
                 std::to_string(kernel.record.sharedBytes) +
                 " of dynamic shared memory, at most " +
                 std::to_string(limits.sharedBytes) + " are allowed");
  return check(
      "cuFuncSetAttribute(" + kernel.record.kernel + ")",
      driver.funcSetAttribute(kernel.function, maxDynamicShared,
                              static_cast<int>(kernel.record.sharedBytes)));
}

Result<void> CudaDevice::growWorkspace(uint64_t bytes) {
  if (bytes <= workspaceBytes)
    return {};
  if (workspace)
    if (auto r = check("cuMemFree(workspace)", driver.memFree(workspace)); !r)
      return r;
  workspace = 0;
  workspaceBytes = 0;
  if (auto r =
          check("cuMemAlloc(workspace, " + std::to_string(bytes) + " bytes)",
                driver.memAlloc(&workspace, bytes));
      !r)
    return r;
  workspaceBytes = bytes;
  return {};
}

Result<std::array<std::byte, tensorMapBytes>>
CudaDevice::encodeTensorMap(const TensorMap &map) {
  if (Result<void> r = checkTensorMap(map, "cuda"); !r)
    return r.error();
  std::array<std::byte, tensorMapBytes> encoded;
  if (Result<void> r = encodeMap(driver, map, encoded.data()); !r)
    return r.error();
  return encoded;
}

Result<void> CudaDevice::launchAndWait(const CudaKernel &kernel,
                                       const BoundLaunch &bound,
                                       CUresult &fault) {
  const LaunchRecord &record = kernel.record;
  CudaCall call(driver, kernel.function, record);
  if (Result<void> r = call.bind(bound, errorSlot, workspace); !r)
    return r;
  if (auto r =
          check("cuLaunchKernelEx(" + record.kernel + ")", call.launch(stream));
      !r)
    return r;
  fault = driver.streamSynchronize(stream);
  if (fault != success && faultKind(fault)) {
    processIsLost = true;
    return {};
  }
  return check("cuStreamSynchronize(" + record.kernel + ")", fault);
}

static bool hasErrorSlot(const LaunchRecord &record) {
  for (const KernelArg &arg : record.args)
    if (arg.kind == KernelArg::Kind::ErrorSlot)
      return true;
  return false;
}

/// What a kernel left in its slot: nothing, or the first step and row.
static std::vector<IndexError> errorsIn(uint64_t slot) {
  if (slot == ~uint64_t{0})
    return {};
  return {{static_cast<int>(slot >> 48),
           static_cast<int64_t>(slot & ((uint64_t{1} << 48) - 1))}};
}

Result<LaunchReport> CudaDevice::launch(LoadedKernel &loaded,
                                        const std::vector<Operand> &operands,
                                        const LaunchOptions &) {
  auto &kernel = static_cast<CudaKernel &>(loaded);
  const LaunchRecord &record = kernel.record;
  BoundLaunch bound;
  if (auto r = bindLaunch(record, kernel.symbols, operands, bound); !r)
    return r.error();
  if (auto r = checkLimits(record, bound, limits); !r)
    return r.error();
  LaunchReport report;
  if (bound.isNoOp())
    return report;
  if (auto r = makeCurrent(); !r)
    return r.error();

  std::lock_guard lock(mutex);
  const bool hasSlot = hasErrorSlot(record);
  if (hasSlot)
    if (auto r = check("cuMemsetD8(error slot)",
                       driver.memsetD8(errorSlot, 0xff, 8, stream));
        !r)
      return r.error();
  if (bound.workspaceBytes > 0) {
    auto bytes = static_cast<uint64_t>(bound.workspaceBytes);
    if (auto r = growWorkspace(bytes); !r)
      return r.error();
    if (auto r = check("cuMemsetD8(workspace)",
                       driver.memsetD8(workspace, 0, bytes, stream));
        !r)
      return r.error();
  }

  CUresult fault = success;
  if (auto r = launchAndWait(kernel, bound, fault); !r)
    return r.error();
  if (fault != success) {
    Finding finding;
    finding.kind = faultKind(fault);
    finding.kernel = record.kernel;
    finding.message =
        driver.describe("cuStreamSynchronize(" + record.kernel + ")", fault)
            .text() +
        "; this process can no longer use the GPU";
    report.findings.push_back(std::move(finding));
    return report;
  }
  if (hasSlot) {
    uint64_t slot = ~uint64_t{0};
    CUresult code = driver.memcpyDtoH(&slot, errorSlot, sizeof(slot), stream);
    if (code == success)
      code = driver.streamSynchronize(stream);
    if (auto r = check("cuMemcpyDtoH(error slot)", code); !r)
      return r.error();
    report.indexErrors = errorsIn(slot);
  }
  return report;
}

namespace {
class CudaPrepared final : public PreparedLaunch {
public:
  CudaPrepared(CudaDevice &device, std::shared_ptr<CudaKernel> kernel,
               const DeviceLimits &limits)
      : device(device), kernel(std::move(kernel)), limits(limits),
        call(this->kernel->driver, this->kernel->function,
             this->kernel->record) {}
  ~CudaPrepared() override {
    for (const uint64_t address : {slot, workspace})
      if (address)
        (void)device.release(address);
  }
  CudaPrepared(const CudaPrepared &) = delete;
  CudaPrepared &operator=(const CudaPrepared &) = delete;

  Result<void> enqueue(uint64_t stream) override {
    return launch([&](CUstream on) { return call.launch(on); }, stream);
  }
  Result<void> enqueuePlainly(uint64_t stream) override {
    return launch([&](CUstream on) { return call.launchPlainly(on); }, stream);
  }

  Result<void> bind(const std::vector<Operand> &operands) override {
    if (auto r = bindLaunch(kernel->record, kernel->symbols, operands, bound);
        !r)
      return r;
    if (auto r = checkLimits(kernel->record, bound, limits); !r)
      return r;
    isNoOp = bound.isNoOp();
    if (bound.workspaceBytes > workspaceBytes)
      if (auto r = growWorkspace(); !r)
        return r;
    return isNoOp ? Result<void>() : call.bind(bound, slot, workspace);
  }

  Result<void> makeErrorSlot() {
    if (!hasErrorSlot(kernel->record))
      return {};
    return make(slot, 8, 0xff, "error slot of ");
  }

  Result<std::vector<IndexError>> indexErrors() override {
    uint64_t value = ~uint64_t{0};
    if (slot)
      if (Result<void> r = device.read(slot, &value, sizeof(value)); !r)
        return r.error();
    return errorsIn(value);
  }

private:
  template <typename Call>
  Result<void> launch(Call call, uint64_t stream) {
    if (isNoOp)
      return {};
    auto *on = reinterpret_cast<CUstream>(stream);
    CUresult code = call(on);
    // A thread that has made no call yet; asking first would cost each launch.
    if (code == invalidContext &&
        kernel->driver.ctxSetCurrent(kernel->context) == success)
      code = call(on);
    if (code == success)
      return {};
    return kernel->driver.describe(
        "cuLaunchKernelEx(" + kernel->record.kernel + ")", code);
  }

  Result<void> make(uint64_t &address, uint64_t bytes, uint8_t byte,
                    const char *what) {
    Result<uint64_t> made =
        device.allocate(bytes, std::string(what) + kernel->record.kernel);
    if (!made)
      return made.error();
    address = *made;
    return device.fill(address, byte, bytes, /*initialised=*/true);
  }

  Result<void> growWorkspace() {
    if (workspace)
      if (Result<void> r = device.release(workspace); !r)
        return r;
    workspace = 0;
    workspaceBytes = bound.workspaceBytes;
    return make(workspace, static_cast<uint64_t>(workspaceBytes), 0,
                "workspace of ");
  }

  CudaDevice &device;
  std::shared_ptr<CudaKernel> kernel;
  const DeviceLimits &limits;
  CudaCall call;
  /// Kept for its storage.
  BoundLaunch bound;
  bool isNoOp = false;
  uint64_t slot = 0, workspace = 0;
  int64_t workspaceBytes = 0;
};
} // namespace

Result<std::unique_ptr<PreparedLaunch>>
CudaDevice::prepare(std::shared_ptr<LoadedKernel> loaded,
                    const std::vector<Operand> &operands) {
  auto prepared = std::make_unique<CudaPrepared>(
      *this, std::static_pointer_cast<CudaKernel>(std::move(loaded)), limits);
  if (Result<void> r = prepared->makeErrorSlot(); !r)
    return r.error();
  if (Result<void> r = prepared->bind(operands); !r)
    return r.error();
  return std::unique_ptr<PreparedLaunch>(std::move(prepared));
}
