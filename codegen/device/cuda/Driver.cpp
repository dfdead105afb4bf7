//===- Driver.cpp - The CUDA driver, opened at run time -------------------===//
#include "codegen/device/cuda/Driver.h"

#include <dlfcn.h>

using namespace tandem;
using namespace tandem::cuda;

namespace {

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

Result<Driver> openDriver() {
  // Never closed: threads of the driver outlive any scope of ours.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error("cuda: the NVIDIA driver is not installed (libcuda.so.1: " +
                 std::string(dlerror()) + ")");

  Driver table;
  std::string missing;
  // The version comes first: a driver that is too old lacks functions too, and
  // its version is the better message.
  auto find = [&](const char *name) {
    void *address = dlsym(library, name);
    if (!address)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
    return address;
  };
#define TANDEM_CUDA(member, symbol, parameters)                                \
  table.member = reinterpret_cast<decltype(table.member)>(find(symbol));
#define TANDEM_CUDA_OPTIONAL(member, symbol, parameters)                       \
  table.member =                                                               \
      reinterpret_cast<decltype(table.member)>(dlsym(library, symbol));
#include "codegen/device/cuda/Symbols.inc"
#undef TANDEM_CUDA

  if (!table.driverGetVersion || table.driverGetVersion(&table.version) != 0)
    return Error("cuda: libcuda.so.1 does not tell its version");
  if (table.version < oldestDriver)
    return Error("cuda: the driver supports CUDA " +
                 versionText(table.version) + ", tandem needs " +
                 versionText(oldestDriver) + " or newer");
  if (!missing.empty())
    return Error("cuda: libcuda.so.1 lacks " + missing);
  if (CUresult code = table.init(0)) {
    if (code == noDevice)
      return Error("cuda: the driver is installed, but there is no GPU");
    return table.describe("cuInit", code);
  }
  return table;
}

} // namespace

Error Driver::describe(std::string_view call, CUresult code) const {
  const char *name = nullptr;
  const char *text = nullptr;
  if (getErrorName(code, &name) != success || !name)
    name = "unknown error";
  if (getErrorString(code, &text) != success || !text)
    text = "code";
  return Error(std::string(call) + ": " + name + " (" + std::to_string(code) +
               "): " + text);
}

const Result<Driver> &tandem::cuda::driver() {
  static const Result<Driver> opened = openDriver();
  return opened;
}
