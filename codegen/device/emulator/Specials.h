//===- Specials.h - Special registers ---------------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_SPECIALS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_SPECIALS_H

#include "codegen/device/emulator/Exec.h"

#include <string_view>

namespace tandem::emulator {

struct NamedSpecial {
  std::string_view name;
  Special which;
  uint8_t size;
};

/// The special register with that name, `%tid.x`; null if there is none.
const NamedSpecial *findSpecial(std::string_view name);

/// The value that a special register has for a thread of the CTA. Clocks count
/// instructions.
uint64_t specialValue(Special which, const Cta &cta, const Warp &warp,
                      unsigned lane);

/// Whether the value changes while the kernel runs.
inline bool isDynamic(Special which) {
  return which == Special::Clock || which == Special::Clock64 ||
         which == Special::GlobalTimer;
}

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_SPECIALS_H
