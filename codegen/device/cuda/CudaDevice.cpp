//===- CudaDevice.cpp - Opening a GPU, and its memory ---------------------===//
#include "codegen/device/cuda/CudaDevice.h"

#include "codegen/device/cuda/Nvml.h"

using namespace tandem;
using namespace tandem::cuda;

const char *tandem::cuda::faultKind(CUresult code) {
  switch (code) {
  case illegalAddress:
  case hardwareStack:
  case invalidAddressSpace:
  case invalidPc:
    return "out-of-bounds";
  case misalignedAddress:
    return "misaligned";
  case launchTimeout:
    return "budget";
  case assertFailed:
  case illegalInstruction:
  case launchFailed:
    return "trap";
  default:
    return nullptr;
  }
}

std::atomic<bool> tandem::cuda::processIsLost = false;

CudaDevice::~CudaDevice() {
  if (!context)
    return;
  driver.ctxSetCurrent(context);
  cudaQueue.reset();
  if (!processIsLost) {
    for (const auto &[address, allocation] : allocations)
      driver.memFree(address);
    if (errorSlot)
      driver.memFree(errorSlot);
    if (workspace)
      driver.memFree(workspace);
    if (stream)
      driver.streamDestroy(stream);
  }
  driver.primaryCtxRelease(device);
}

Result<void> CudaDevice::open() {
  char text[256] = {};
  size_t memory = 0;
  int shared = 0, processors = 0, kilohertz = 0, l2 = 0;
  struct Query {
    int *value;
    int attribute;
  };
  if (auto r = check("cuDeviceGetName",
                     driver.deviceGetName(text, sizeof(text), device));
      !r)
    return r;
  name = text;
  for (Query query :
       {Query{&major, capabilityMajor}, Query{&minor, capabilityMinor},
        Query{&shared, maxSharedOptin}, Query{&processors, multiprocessorCount},
        Query{&kilohertz, clockRate}, Query{&l2, l2CacheBytes}})
    if (auto r = check(
            "cuDeviceGetAttribute",
            driver.deviceGetAttribute(query.value, query.attribute, device));
        !r)
      return r;
  if (major < 8)
    return Error("cuda: " + name + " has compute capability " +
                 std::to_string(major) + "." + std::to_string(minor) +
                 ", tandem needs 8.0 or newer");
  if (auto r = check("cuDevicePrimaryCtxRetain",
                     driver.primaryCtxRetain(&context, device));
      !r)
    return r;
  if (auto r = makeCurrent(); !r)
    return r;
  constexpr unsigned nonBlocking = 1;
  if (auto r =
          check("cuStreamCreate", driver.streamCreate(&stream, nonBlocking));
      !r)
    return r;
  if (auto r = check("cuMemAlloc(error slot)", driver.memAlloc(&errorSlot, 8));
      !r)
    return r;
  if (driver.deviceTotalMem(&memory, device) == success)
    facts["memory (MiB)"] = std::to_string(memory >> 20);
  facts["multiprocessors"] = std::to_string(processors);
  facts["clock rate (MHz)"] = std::to_string(kilohertz / 1000);
  limits.sharedBytes = shared;
  limits.clusterCtas = major >= 9 ? 8 : 1;
  if (driver.deviceGetPciBusId(busId, sizeof(busId), device) != success)
    busId[0] = 0;
  cudaQueue = std::make_unique<CudaQueue>(driver, context, stream,
                                          static_cast<uint64_t>(l2), busId);
  return {};
}

DeviceInfo CudaDevice::info() const {
  DeviceInfo info;
  info.name = name;
  info.target = "sm_" + std::to_string(major) + std::to_string(minor) +
                (major >= 9 ? "a" : "");
  info.facts = facts;
  info.facts.merge(nvmlFacts(busId));
  info.driver = "CUDA " + std::to_string(driver.version / 1000) + "." +
                std::to_string(driver.version % 1000 / 10);
  if (auto it = info.facts.find("driver"); it != info.facts.end()) {
    info.driver = it->second + ", " + info.driver;
    info.facts.erase(it);
  }
  return info;
}

bool CudaDevice::supports(std::string_view target) const {
  if (!target.starts_with("sm_"))
    return false;
  target.remove_prefix(3);
  // An `a` target uses instructions of one architecture only.
  bool exact = target.ends_with('a');
  if (exact)
    target.remove_suffix(1);
  int wanted = 0;
  for (char c : target) {
    if (c < '0' || c > '9' || wanted > 1000)
      return false;
    wanted = wanted * 10 + (c - '0');
  }
  int own = major * 10 + minor;
  return exact ? own == wanted : wanted != 0 && own >= wanted;
}

Result<uint64_t> CudaDevice::allocate(uint64_t bytes, std::string_view name) {
  if (auto r = makeCurrent(); !r)
    return r.error();
  CUdeviceptr address = 0;
  // The driver aligns to 256 bytes and refuses 0.
  if (auto r = check("cuMemAlloc(" + std::string(name) + ", " +
                         std::to_string(bytes) + " bytes)",
                     driver.memAlloc(&address, bytes ? bytes : 1));
      !r)
    return r.error();
  std::lock_guard lock(mutex);
  allocations[address] = {bytes, std::string(name)};
  return uint64_t{address};
}

Result<void> CudaDevice::release(uint64_t address) {
  {
    std::lock_guard lock(mutex);
    if (!allocations.erase(address))
      return Error("release: no allocation starts at address " +
                   std::to_string(address));
  }
  if (auto r = makeCurrent(); !r)
    return r;
  return check("cuMemFree", driver.memFree(address));
}

Result<void> CudaDevice::checkRange(std::string_view what, uint64_t address,
                                    uint64_t bytes) const {
  std::lock_guard lock(mutex);
  auto after = allocations.upper_bound(address);
  if (after != allocations.begin()) {
    const auto &[start, allocation] = *std::prev(after);
    uint64_t offset = address - start;
    if (offset <= allocation.bytes && bytes <= allocation.bytes - offset)
      return {};
    if (offset <= allocation.bytes)
      return Error(std::string(what) + ": " + std::to_string(bytes) +
                   " bytes at offset " + std::to_string(offset) + " of '" +
                   allocation.name + "', which has " +
                   std::to_string(allocation.bytes));
  }
  return Error(std::string(what) + ": address " + std::to_string(address) +
               " is in no allocation");
}

Result<void> CudaDevice::write(uint64_t address, const void *source,
                               uint64_t bytes) {
  if (auto r = checkRange("write", address, bytes); !r || !bytes)
    return r;
  if (auto r = makeCurrent(); !r)
    return r;
  if (auto r = check("cuMemcpyHtoD",
                     driver.memcpyHtoD(address, source, bytes, stream));
      !r)
    return r;
  return check("cuStreamSynchronize", driver.streamSynchronize(stream));
}

Result<void> CudaDevice::read(uint64_t address, void *target, uint64_t bytes) {
  if (auto r = checkRange("read", address, bytes); !r || !bytes)
    return r;
  if (auto r = makeCurrent(); !r)
    return r;
  if (auto r = check("cuMemcpyDtoH",
                     driver.memcpyDtoH(target, address, bytes, stream));
      !r)
    return r;
  return check("cuStreamSynchronize", driver.streamSynchronize(stream));
}

Result<void> CudaDevice::fill(uint64_t address, uint8_t byte, uint64_t bytes,
                              bool initialised) {
  if (auto r = checkRange("fill", address, bytes); !r || !bytes)
    return r;
  if (auto r = makeCurrent(); !r)
    return r;
  if (auto r =
          check("cuMemsetD8", driver.memsetD8(address, byte, bytes, stream));
      !r)
    return r;
  return check("cuStreamSynchronize", driver.streamSynchronize(stream));
}

Result<std::unique_ptr<Device>> tandem::makeCudaDevice(int ordinal) {
  const Result<Driver> &opened = driver();
  if (!opened)
    return opened.error();
  const Driver &table = *opened;
  if (processIsLost)
    return Error("cuda: a kernel of this process faulted, and the driver gives "
                 "it no other context: start a new process");
  int count = 0;
  if (CUresult code = table.deviceGetCount(&count))
    return table.describe("cuDeviceGetCount", code);
  if (ordinal < 0 || ordinal >= count)
    return Error("cuda: device " + std::to_string(ordinal) +
                 " was asked for, there are " + std::to_string(count));
  CUdevice device = 0;
  if (CUresult code = table.deviceGet(&device, ordinal))
    return table.describe("cuDeviceGet(" + std::to_string(ordinal) + ")", code);
  auto made = std::make_unique<CudaDevice>(table, device);
  if (auto r = made->open(); !r)
    return r.error();
  return std::unique_ptr<Device>(std::move(made));
}
