//===- TensorTile.cpp - The box of a tensor map, row by row ---------------===//
#include "codegen/device/emulator/async/TensorTile.h"

#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

uint64_t emulator::fillOf(const MapCode &map) {
  if (map.fill == MapFill::Zero)
    return 0;
  switch (map.type) {
  case MapType::F16:
  case MapType::BF16:
    return 0x7fff;
  case MapType::F32:
  case MapType::F32Ftz:
  case MapType::TF32:
  case MapType::TF32Ftz:
    return 0x7fffffff;
  case MapType::F64:
    return 0x7ff8000000000000;
  default:
    return 0;
  }
}

void emulator::loadTile(const MapCode &map, const int32_t *origin, char *base,
                        uint64_t offset) {
  const unsigned size = map.elementBytes();
  const uint32_t columns = map.taken(0);
  const uint64_t step = uint64_t(map.elementStrides[0]) * size;
  const uint64_t rowBytes = uint64_t(columns) * size;
  const uint64_t fill = fillOf(map);
  char row[256 * 8];
  forEachTileRow(map, origin, [&](const TileRow &tile) {
    const auto *from = reinterpret_cast<const char *>(tile.global);
    if (tile.begin != 0 || tile.end != columns)
      for (uint32_t c = 0; c < columns; ++c)
        std::memcpy(row + c * size, &fill, size);
    if (step == size) {
      if (tile.end > tile.begin)
        std::memcpy(row + tile.begin * size, from + tile.begin * size,
                    (tile.end - tile.begin) * size);
    } else {
      for (uint32_t c = tile.begin; c < tile.end; ++c)
        std::memcpy(row + c * size, from + c * step, size);
    }
    for (uint64_t at = 0; at < rowBytes; at += 16) {
      uint64_t n = std::min<uint64_t>(16, rowBytes - at);
      std::memcpy(base + swizzled(offset + tile.shared + at, map.swizzle),
                  row + at, n);
    }
  });
}

void emulator::takeTile(const MapCode &map, const char *base, uint64_t offset,
                        char *rows) {
  const uint64_t bytes = map.boxBytes();
  for (uint64_t at = 0; at < bytes; at += 16)
    std::memcpy(rows + at, base + swizzled(offset + at, map.swizzle),
                std::min<uint64_t>(16, bytes - at));
}
