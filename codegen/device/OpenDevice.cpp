//===- OpenDevice.cpp - A device by its name ------------------------------===//
#include "codegen/device/OpenDevice.h"

#include "codegen/Compiler.h"

#include <charconv>

using namespace tandem;

Result<std::unique_ptr<Device>> tandem::openDevice(std::string_view name) {
  if (name == "emulator")
    return makeEmulator();
  if (name == "tile")
    return makeTileDevice();
  if (name == "cuda")
    return makeCudaDevice();
  if (name == "auto") {
    auto cuda = makeCudaDevice();
    if (cuda)
      return cuda;
    return makeEmulator();
  }
  if (name.starts_with("cuda:")) {
    std::string_view digits = name.substr(5);
    int ordinal = 0;
    auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (code == std::errc() && end == digits.data() + digits.size())
      return makeCudaDevice(ordinal);
  }
  return Error("device: '" + std::string(name) +
               "' is not one of auto, cuda, cuda:N, emulator, tile");
}

std::string tandem::bestTarget(const Device &device) {
  return device.supports("sm_90a") ? "sm_90a" : "sm_80";
}
