//===- MapCode.h - The emulator's tensor maps -------------------*- C++ -*-===//
//
// 128 bytes, as opaque to kernels as the hardware's: a magic number, the fields
// and a checksum over both, so that a map that was overwritten, or is none, is
// told apart from one that says something wrong.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_MAPCODE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_MAPCODE_H

#include "refops/core/TensorMap.h"

#include <array>

namespace tandem::emulator {

struct MapCode {
  uint64_t magic = 0;
  uint64_t address = 0;
  uint64_t strides[maxMapRank - 1] = {}; // bytes
  uint32_t lastIndex[maxMapRank] = {};   // dims less one: 2^32 fits
  uint16_t box[maxMapRank] = {};
  uint8_t elementStrides[maxMapRank] = {};
  uint8_t rank = 0;
  MapType type = MapType::U8;
  MapSwizzle swizzle = MapSwizzle::None;
  MapFill fill = MapFill::Zero;
  uint8_t rest[31] = {};
  uint64_t checksum = 0;

  uint64_t dim(size_t i) const { return uint64_t(lastIndex[i]) + 1; }
  unsigned elementBytes() const { return mapTypeBytes(type); }
  /// Elements that the box takes in a dim.
  uint32_t taken(size_t i) const {
    return (uint32_t(box[i]) + elementStrides[i] - 1) / elementStrides[i];
  }
  uint64_t boxBytes() const;
  uint64_t expectedChecksum() const;
};
static_assert(sizeof(MapCode) == tensorMapBytes);

/// \p map has passed checkTensorMap.
MapCode encodeMap(const TensorMap &map);

/// What keeps \p code from being a map, or null.
const char *whyNoMap(const MapCode &code);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_MAPCODE_H
