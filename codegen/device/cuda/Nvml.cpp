//===- Nvml.cpp - Clocks, power and driver version, for reports -----------===//
#include "codegen/device/cuda/Nvml.h"

#include <dlfcn.h>

using namespace tandem;

namespace {

using NvmlDevice = struct OpaqueNvmlDevice *;

/// nvmlClockType_t.
enum Clock : int { smClock = 1, memoryClock = 2 };
/// nvmlTemperatureSensors_t.
constexpr int gpuSensor = 0;

/// The functions that are there; null where one is missing.
struct Nvml {
  int (*byBus)(const char *, NvmlDevice *) = nullptr;
  int (*driverVersion)(char *, unsigned) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned *) = nullptr;
  int (*maxClock)(NvmlDevice, int, unsigned *) = nullptr;
  int (*powerLimit)(NvmlDevice, unsigned *) = nullptr;
  int (*power)(NvmlDevice, unsigned *) = nullptr;
  int (*temperature)(NvmlDevice, int, unsigned *) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long *) = nullptr;

  NvmlDevice device(const char *busId) const {
    NvmlDevice found = nullptr;
    return byBus && byBus(busId, &found) == 0 ? found : nullptr;
  }
};

Nvml openNvml() {
  Nvml nvml;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return nvml;
  const auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, name));
  };
  int (*init)() = nullptr;
  find(init, "nvmlInit_v2");
  if (!init || init() != 0)
    return nvml;
  find(nvml.byBus, "nvmlDeviceGetHandleByPciBusId_v2");
  find(nvml.driverVersion, "nvmlSystemGetDriverVersion");
  find(nvml.clock, "nvmlDeviceGetClockInfo");
  find(nvml.maxClock, "nvmlDeviceGetMaxClockInfo");
  find(nvml.powerLimit, "nvmlDeviceGetEnforcedPowerLimit");
  find(nvml.power, "nvmlDeviceGetPowerUsage");
  find(nvml.temperature, "nvmlDeviceGetTemperature");
  find(nvml.reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  if (!nvml.reasons) // its name before driver 535
    find(nvml.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  return nvml;
}

/// Opened once and never closed: readings are taken during measurements.
const Nvml &nvml() {
  static const Nvml opened = openNvml();
  return opened;
}

} // namespace

std::map<std::string, std::string> tandem::cuda::nvmlFacts(const char *busId) {
  const Nvml &api = nvml();
  std::map<std::string, std::string> facts;
  char text[96] = {};
  if (api.driverVersion && api.driverVersion(text, sizeof(text)) == 0)
    facts["driver"] = text;
  const NvmlDevice device = api.device(busId);
  if (!device)
    return facts;
  const auto add = [&](auto *get, Clock which, const char *fact) {
    unsigned megahertz = 0;
    if (get && get(device, which, &megahertz) == 0)
      facts[fact] = std::to_string(megahertz);
  };
  add(api.clock, smClock, "sm clock (MHz)");
  add(api.maxClock, smClock, "largest sm clock (MHz)");
  add(api.clock, memoryClock, "memory clock (MHz)");
  unsigned milliwatts = 0;
  if (api.powerLimit && api.powerLimit(device, &milliwatts) == 0)
    facts["power limit (W)"] = std::to_string(milliwatts / 1000);
  return facts;
}

std::optional<GpuSensors> tandem::cuda::nvmlSensors(const char *busId) {
  const Nvml &api = nvml();
  const NvmlDevice device = api.device(busId);
  if (!device)
    return std::nullopt;
  GpuSensors sensors;
  unsigned value = 0;
  if (api.clock && api.clock(device, smClock, &value) == 0)
    sensors.smMegahertz = static_cast<int>(value);
  if (api.clock && api.clock(device, memoryClock, &value) == 0)
    sensors.memoryMegahertz = static_cast<int>(value);
  if (api.power && api.power(device, &value) == 0)
    sensors.watts = value / 1e3;
  if (api.temperature && api.temperature(device, gpuSensor, &value) == 0)
    sensors.celsius = static_cast<int>(value);
  unsigned long long reasons = 0;
  if (api.reasons && api.reasons(device, &reasons) == 0)
    sensors.reasons = reasons;
  return sensors;
}
