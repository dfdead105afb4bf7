//===- CudaLaunch.cpp - Loading and launching kernels on a GPU ------------===//
#include "codegen/device/cuda/CudaDevice.h"

#include <cstring>

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

/// The driver's 128 bytes of \p map.
static Result<void> encode(const Driver &driver, const TensorMap &map,
                           std::byte *to) {
  alignas(tensorMapAlign) std::byte encoded[tensorMapBytes];
  CUresult code = driver.tensorMapEncodeTiled(
      encoded, static_cast<int>(map.type), static_cast<unsigned>(map.rank()),
      map.address, map.dims.data(), map.strides.data(), map.box.data(),
      map.elementStrides.data(), 0, static_cast<int>(map.swizzle),
      static_cast<int>(map.promotion), static_cast<int>(map.fill));
  if (code != success)
    return driver.describe("cuTensorMapEncodeTiled", code);
  std::memcpy(to, encoded, tensorMapBytes);
  return {};
}

Result<std::array<std::byte, tensorMapBytes>>
CudaDevice::encodeTensorMap(const TensorMap &map) {
  if (Result<void> r = checkTensorMap(map, "cuda"); !r)
    return r.error();
  std::array<std::byte, tensorMapBytes> encoded;
  if (Result<void> r = encode(driver, map, encoded.data()); !r)
    return r.error();
  return encoded;
}

Result<std::vector<std::byte>>
CudaDevice::packArguments(const LaunchRecord &record,
                          const BoundLaunch &bound) const {
  std::vector<std::byte> packed;
  for (size_t i = 0; i < record.args.size(); ++i) {
    uint64_t value = bound.args[i];
    if (record.args[i].kind == KernelArg::Kind::ErrorSlot)
      value = errorSlot;
    if (record.args[i].kind == KernelArg::Kind::Workspace)
      value = workspace;
    auto [size, align] = paramSize(record.args[i]);
    size_t offset = (packed.size() + align - 1) / align * align;
    packed.resize(offset + size);
    if (record.args[i].kind != KernelArg::Kind::TensorMap)
      std::memcpy(packed.data() + offset, &value, size);
    else if (Result<void> r =
                 encode(driver, bound.maps[value], packed.data() + offset);
             !r)
      return Error(record.kernel + ": args[" + std::to_string(i) +
                   "]: " + r.error().text());
  }
  return packed;
}

Result<void> CudaDevice::launchAndWait(const CudaKernel &kernel,
                                       const BoundLaunch &bound,
                                       CUresult &fault) {
  const LaunchRecord &record = kernel.record;
  LaunchConfig config;
  LaunchAttribute attributes[2];
  for (size_t i = 0; i < 3; ++i) {
    config.grid[i] = static_cast<unsigned>(bound.grid[i]);
    config.block[i] = static_cast<unsigned>(record.block[i]);
    attributes[0].cluster[i] = static_cast<unsigned>(record.cluster[i]);
  }
  config.sharedBytes = static_cast<unsigned>(record.sharedBytes);
  config.stream = stream;
  config.attributes = attributes;
  if (record.cluster != std::array<int, 3>{1, 1, 1})
    config.numAttributes = 1;
  if (record.programmatic) {
    LaunchAttribute &one = attributes[config.numAttributes++];
    one = LaunchAttribute();
    one.id = LaunchAttribute::programmaticSerialization;
  }
  Result<std::vector<std::byte>> arguments = packArguments(record, bound);
  if (!arguments)
    return arguments.error();
  std::vector<std::byte> packed = arguments.take();
  size_t packedBytes = packed.size();
  void *extra[] = {paramBufferPointer, packed.data(), paramBufferSize,
                   &packedBytes, paramEnd};
  if (auto r = check("cuLaunchKernelEx(" + record.kernel + ")",
                     driver.launchKernelEx(&config, kernel.function, nullptr,
                                           packed.empty() ? nullptr : extra));
      !r)
    return r;
  fault = driver.streamSynchronize(stream);
  if (fault != success && faultKind(fault)) {
    processIsLost = true;
    return {};
  }
  return check("cuStreamSynchronize(" + record.kernel + ")", fault);
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
  bool hasSlot = false;
  for (const KernelArg &arg : record.args)
    hasSlot |= arg.kind == KernelArg::Kind::ErrorSlot;
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
    if (slot != ~uint64_t{0})
      report.indexErrors.push_back(
          {static_cast<int>(slot >> 48),
           static_cast<int64_t>(slot & ((uint64_t{1} << 48) - 1))});
  }
  return report;
}
