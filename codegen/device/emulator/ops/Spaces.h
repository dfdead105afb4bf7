//===- Spaces.h - Names of state spaces -------------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_SPACES_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_SPACES_H

#include "codegen/device/emulator/Program.h"

#include <string_view>

namespace tandem::emulator {

/// Whether \p modifier names a state space, and which.
inline bool spaceNamed(std::string_view modifier, Space &space) {
  if (modifier == ".global")
    space = Space::Global;
  else if (modifier == ".shared" || modifier == ".shared::cta")
    space = Space::Shared;
  else if (modifier == ".shared::cluster")
    space = Space::SharedCluster;
  else if (modifier == ".local")
    space = Space::Local;
  else if (modifier == ".const")
    space = Space::Const;
  else if (modifier == ".param" || modifier == ".param::entry")
    space = Space::Param;
  else
    return false;
  return true;
}

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_SPACES_H
