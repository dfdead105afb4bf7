//===- Regions.cpp - Which allocation an address lies in ------------------===//
#include "codegen/device/emulator/Regions.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

std::string emulator::describe(const Region &region, uint64_t address) {
  std::string name =
      region.name.empty() ? "an unnamed allocation" : "'" + region.name + "'";
  std::string size = cat(" (", region.bytes, " bytes)");
  if (address < region.base)
    return cat(region.base - address, " bytes before ", name, size);
  if (address >= region.base + region.bytes)
    return cat(address - region.base - region.bytes, " bytes after ", name,
               size);
  return cat("byte ", address - region.base, " of ", name, size);
}

const Region *emulator::nearestRegion(const Launch &launch, uint64_t address) {
  const Region *best = nullptr;
  uint64_t bestDistance = ~uint64_t(0);
  for (const Region *region : launch.regions) {
    uint64_t end = region->base + region->bytes;
    uint64_t distance = address < region->base ? region->base - address
                        : address >= end       ? address - end + 1
                                               : 0;
    if (distance < bestDistance || (distance == bestDistance && best->freed)) {
      best = region;
      bestDistance = distance;
    }
  }
  return best;
}

const Region *emulator::findRegion(const Launch &launch, uint64_t address,
                                   unsigned size) {
  auto after = std::upper_bound(
      launch.regions.begin(), launch.regions.end(), address,
      [](uint64_t a, const Region *region) { return a < region->base; });
  // Freed regions never overlap live ones: addresses are not reused.
  if (after == launch.regions.begin())
    return nullptr;
  const Region *region = *std::prev(after);
  return region->holds(address, size) ? region : nullptr;
}
