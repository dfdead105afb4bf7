//===- Spaces.h - Names of state spaces -------------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_SPACES_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_SPACES_H

#include "codegen/device/emulator/Program.h"

#include <string_view>
#include <vector>

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
  else if (modifier == ".param" || modifier == ".param::entry" ||
           modifier == ".param::func")
    space = Space::Param;
  else
    return false;
  return true;
}

/// The scope that modifiers name; \p otherwise if none does.
inline Scope scopeNamed(const std::vector<std::string_view> &parts,
                        Scope otherwise) {
  for (std::string_view part : parts) {
    if (part == ".cta")
      return Scope::Cta;
    if (part == ".cluster")
      return Scope::Cluster;
    if (part == ".gpu" || part == ".gl" || part == ".sys")
      return Scope::Gpu;
  }
  return otherwise;
}
/// What `.acquire` and its kind order.
inline uint8_t orderNamed(const std::vector<std::string_view> &parts) {
  uint8_t order = 0;
  for (std::string_view part : parts)
    order |= part == ".acquire"                    ? acquireOrder
             : part == ".release"                  ? releaseOrder
             : part == ".acq_rel" || part == ".sc" ? acquireOrder | releaseOrder
                                                   : 0;
  return order;
}

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_SPACES_H
