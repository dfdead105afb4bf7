//===- LayoutProperties.cpp - Coalescing and bank conflicts ---------------===//
//
// Addresses are linear in the index bits as long as the pitch is a power of two
// times an odd number and only one row is touched; where rows enter with an odd
// pitch, the access is enumerated lane by lane instead.
//
//===----------------------------------------------------------------------===//
#include "dialect/tile/LinearLayout.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

using namespace tandem::tile;

int tandem::tile::contiguousColumns(const LinearLayout &layout) {
  int columns = 1;
  for (const Basis &basis : layout.registers) {
    if (basis != Basis{0, columns})
      break;
    columns *= 2;
  }
  // Any other basis that touches the low bits would break alignment.
  auto touches = [&](const Bases &bases, size_t from) {
    for (size_t i = from; i < bases.size(); ++i)
      if (bases[i][colDim] & (columns - 1))
        return true;
    return false;
  };
  while (columns > 1 &&
         (touches(layout.lanes, 0) || touches(layout.warps, 0) ||
          touches(layout.registers, std::countr_zero(unsigned(columns)))))
    columns /= 2;
  return columns;
}

double tandem::tile::sectorEfficiency(const LinearLayout &layout,
                                      int elementBytes, int vector) {
  std::set<std::pair<int64_t, int64_t>> sectors;
  std::set<std::pair<int64_t, int64_t>> bytes;
  for (int lane = 0; lane < lanesPerWarp; ++lane) {
    auto [row, col] = layout.coordinate(0, lane, 0);
    for (int64_t byte = int64_t(col) * elementBytes,
                 end = byte + int64_t(vector) * elementBytes;
         byte < end; ++byte) {
      bytes.insert({row, byte});
      sectors.insert({row, byte / 32});
    }
  }
  return double(bytes.size()) / (32.0 * double(sectors.size()));
}

int tandem::tile::bankConflicts(const LinearLayout &layout, int elementBytes,
                                int vector, int64_t pitch) {
  // The hardware serves 128 bytes at a time: accesses of 8 bytes go by half
  // warps, of 16 bytes by quarter warps.
  const int bytesPerLane = elementBytes * vector;
  const int lanesAtOnce = lanesPerWarp / std::max(1, bytesPerLane / 4);
  int worst = 1;
  for (int first = 0; first < lanesPerWarp; first += lanesAtOnce) {
    std::map<int64_t, std::set<int64_t>> words; // bank to words
    for (int lane = first; lane < first + lanesAtOnce; ++lane) {
      auto [row, col] = layout.coordinate(0, lane, 0);
      const int64_t byte = (row * pitch + col) * elementBytes;
      for (int64_t word = byte / 4; word * 4 < byte + bytesPerLane; ++word)
        words[word % 32].insert(word);
    }
    for (const auto &[bank, inBank] : words)
      worst = std::max(worst, int(inBank.size()));
  }
  return worst;
}
