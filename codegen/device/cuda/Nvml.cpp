//===- Nvml.cpp - Clocks and driver version, for reports ------------------===//
#include "codegen/device/cuda/Nvml.h"

#include <dlfcn.h>

namespace {

using NvmlDevice = struct OpaqueNvmlDevice *;

/// The function with that name, or null.
template <typename Function>
Function *find(void *library, const char *name) {
  return reinterpret_cast<Function *>(dlsym(library, name));
}

/// nvmlClockType_t.
enum Clock : int { smClock = 1, memoryClock = 2 };

} // namespace

std::map<std::string, std::string> tandem::cuda::nvmlFacts(const char *busId) {
  static void *const library =
      dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  std::map<std::string, std::string> facts;
  if (!library)
    return facts;
  auto *init = find<int()>(library, "nvmlInit_v2");
  auto *shutdown = find<int()>(library, "nvmlShutdown");
  auto *byBus = find<int(const char *, NvmlDevice *)>(
      library, "nvmlDeviceGetHandleByPciBusId_v2");
  if (!init || !shutdown || !byBus || init() != 0)
    return facts;

  char text[96] = {};
  auto *driverVersion =
      find<int(char *, unsigned)>(library, "nvmlSystemGetDriverVersion");
  if (driverVersion && driverVersion(text, sizeof(text)) == 0)
    facts["driver"] = text;

  NvmlDevice device = nullptr;
  if (byBus(busId, &device) == 0) {
    using GetClock = int(NvmlDevice, int, unsigned *);
    auto add = [&](const char *symbol, Clock clock, const char *fact) {
      unsigned megahertz = 0;
      auto *get = find<GetClock>(library, symbol);
      if (get && get(device, clock, &megahertz) == 0)
        facts[fact] = std::to_string(megahertz);
    };
    add("nvmlDeviceGetClockInfo", smClock, "sm clock (MHz)");
    add("nvmlDeviceGetMaxClockInfo", smClock, "largest sm clock (MHz)");
    add("nvmlDeviceGetClockInfo", memoryClock, "memory clock (MHz)");
    unsigned milliwatts = 0;
    auto *power = find<int(NvmlDevice, unsigned *)>(
        library, "nvmlDeviceGetEnforcedPowerLimit");
    if (power && power(device, &milliwatts) == 0)
      facts["power limit (W)"] = std::to_string(milliwatts / 1000);
  }
  shutdown();
  return facts;
}
