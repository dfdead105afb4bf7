//===- FindingKinds.h - The kinds of findings and notes ---------*- C++ -*-===//
//
// docs/emulator-checks.md says what each kind means. FindingKindsTest has, for
// each, a kernel that is reported and one beside it that is not.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_FINDINGKINDS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_FINDINGKINDS_H

#include <string_view>

namespace tandem::emulator {

inline constexpr std::string_view findingKinds[] = {
    "out-of-bounds", "use-after-free", "misaligned", "uninitialised",
    "race",          "async",          "divergent",  "barrier",
    "deadlock",      "trap",           "assert",     "call",
    "stack",         "budget",         "registers",  "wrap",
    "scope"};

constexpr bool isFindingKind(std::string_view name) {
  for (std::string_view kind : findingKinds)
    if (kind == name)
      return true;
  return false;
}

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_FINDINGKINDS_H
