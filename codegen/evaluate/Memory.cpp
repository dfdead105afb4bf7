//===- Memory.cpp - Allocations of the tile device ------------------------===//
#include "codegen/evaluate/Memory.h"

#include <cstdio>

using namespace tandem;
using namespace tandem::evaluate;

static std::string hex(uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(address));
  return text;
}

Result<uint64_t> Memory::allocate(uint64_t bytes, std::string_view name) {
  const uint64_t size = (bytes / 256 + 1) * 256;
  auto *block = size < bytes
                    ? nullptr
                    : static_cast<std::byte *>(std::aligned_alloc(256, size));
  if (!block)
    return Error("allocate(" + std::string(name) + "): no room for " +
                 std::to_string(bytes) + " bytes");
  const uint64_t address = reinterpret_cast<uint64_t>(block);
  Allocation &allocation = allocations[address];
  allocation.bytes = bytes;
  allocation.name = name;
  allocation.block.reset(block);
  return address;
}

Result<void> Memory::release(uint64_t address) {
  last = nullptr;
  if (!allocations.erase(address))
    return Error("release(" + hex(address) + "): no allocation starts there");
  return {};
}

std::byte *Memory::find(uint64_t address, uint64_t bytes) {
  auto holds = [&](const std::pair<const uint64_t, Allocation> &entry) {
    return address >= entry.first && bytes <= entry.second.bytes &&
           address - entry.first <= entry.second.bytes - bytes;
  };
  if (last && holds(*last))
    return reinterpret_cast<std::byte *>(address);
  auto above = allocations.upper_bound(address);
  if (above == allocations.begin())
    return nullptr;
  --above;
  if (!holds(*above))
    return nullptr;
  last = &*above;
  return reinterpret_cast<std::byte *>(address);
}

std::string Memory::nearest(uint64_t address) const {
  auto above = allocations.upper_bound(address);
  auto describe = [&](const auto &entry, const std::string &where) {
    return entry.second.name + ", " + std::to_string(entry.second.bytes) +
           " bytes at " + hex(entry.first) + ", " + where;
  };
  const uint64_t near = 1 << 20;
  std::string text;
  uint64_t distance = near;
  if (above != allocations.begin()) {
    const auto &below = *std::prev(above);
    distance = address - below.first - below.second.bytes;
    if (address - below.first < below.second.bytes)
      return describe(below, "which the access leaves");
    if (distance < near)
      text = describe(below, std::to_string(distance) + " bytes after its end");
  }
  if (above != allocations.end() && above->first - address < distance)
    text = describe(*above, std::to_string(above->first - address) +
                                " bytes before its start");
  return text;
}

Result<std::byte *> Memory::expect(uint64_t address, uint64_t bytes,
                                   std::string_view what) {
  if (std::byte *found = find(address, bytes))
    return found;
  const std::string near = nearest(address);
  return Error(std::string(what) + "(" + hex(address) + ", " +
               std::to_string(bytes) +
               " bytes): the range is not inside one allocation" +
               (near.empty() ? "" : "; the nearest is " + near));
}
