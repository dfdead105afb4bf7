//===- TensorTile.h - The box of a tensor map, row by row -------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_TENSORTILE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_TENSORTILE_H

#include "codegen/device/emulator/async/MapCode.h"

#include <algorithm>

namespace tandem::emulator {

/// The innermost dim of a box at some place of the outer ones.
struct TileRow {
  uint64_t shared = 0; // offset in the tile, before swizzling
  uint64_t global = 0; // address of the element at the box's first column
  uint32_t begin = 0;  // columns that lie inside the tensor
  uint32_t end = 0;
};

/// Calls f(row) for all rows of the box at \p origin, in the order in which
/// they lie in shared memory.
template <typename F>
void forEachTileRow(const MapCode &map, const int32_t *origin, F f) {
  uint32_t count[maxMapRank] = {1, 1, 1, 1, 1};
  for (size_t i = 0; i < map.rank; ++i)
    count[i] = map.taken(i);
  const unsigned size = map.elementBytes();
  const int64_t step = map.elementStrides[0];
  TileRow row;
  // Columns origin + j * step with 0 <= column < dim.
  int64_t first = origin[0], dim = static_cast<int64_t>(map.dim(0));
  int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
  int64_t end = first >= dim ? 0 : (dim - first + step - 1) / step;
  begin = std::min<int64_t>(begin, count[0]);
  end = std::min<int64_t>(end, count[0]);
  uint32_t at[maxMapRank] = {};
  for (;;) {
    bool inside = true;
    int64_t offset = first * size;
    for (size_t i = 1; i < map.rank; ++i) {
      int64_t place = origin[i] + int64_t(at[i]) * map.elementStrides[i];
      inside &= place >= 0 && place < static_cast<int64_t>(map.dim(i));
      offset += place * static_cast<int64_t>(map.strides[i - 1]);
    }
    row.global = map.address + static_cast<uint64_t>(offset);
    row.begin = inside ? static_cast<uint32_t>(begin) : 0;
    row.end = inside && end > begin ? static_cast<uint32_t>(end) : row.begin;
    f(static_cast<const TileRow &>(row));
    row.shared += uint64_t(count[0]) * size;
    size_t i = 1;
    while (i < map.rank && ++at[i] == count[i])
      at[i++] = 0;
    if (i >= map.rank)
      return;
  }
}

/// Where byte \p address of shared memory lies in the swizzled pattern: 16-byte
/// chunks change places with the address's 128-byte row.
inline uint64_t swizzled(uint64_t address, MapSwizzle swizzle) {
  uint64_t mask = (uint64_t(1) << static_cast<int>(swizzle)) - 1;
  return address ^ ((address >> 7 & mask) << 4);
}

/// What an element outside the tensor reads; low bytes count.
uint64_t fillOf(const MapCode &map);

/// Copies the box at \p origin into shared memory at \p base + \p offset.
void loadTile(const MapCode &map, const int32_t *origin, char *base,
              uint64_t offset);
/// Takes the box out of shared memory, rows one after the other.
void takeTile(const MapCode &map, const char *base, uint64_t offset,
              char *rows);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_TENSORTILE_H
