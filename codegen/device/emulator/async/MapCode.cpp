//===- MapCode.cpp - The emulator's tensor maps ---------------------------===//
#include "codegen/device/emulator/async/MapCode.h"

#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

static constexpr uint64_t magicNumber = 0x70616d2d6d646e74; // "tndm-map"

uint64_t MapCode::boxBytes() const {
  uint64_t bytes = elementBytes();
  for (size_t i = 0; i < rank; ++i)
    bytes *= taken(i);
  return bytes;
}

uint64_t MapCode::expectedChecksum() const {
  uint64_t words[tensorMapBytes / 8];
  std::memcpy(words, this, sizeof words);
  uint64_t sum = 0x9e3779b97f4a7c15;
  for (size_t i = 0; i + 1 < std::size(words); ++i)
    sum = (sum ^ words[i]) * 0xbf58476d1ce4e5b9 + (sum >> 31);
  return sum;
}

MapCode emulator::encodeMap(const TensorMap &map) {
  MapCode code;
  code.magic = magicNumber;
  code.address = map.address;
  code.rank = static_cast<uint8_t>(map.rank());
  code.type = map.type;
  code.swizzle = map.swizzle;
  code.fill = map.fill;
  for (size_t i = 0; i < map.rank(); ++i) {
    code.lastIndex[i] = static_cast<uint32_t>(map.dims[i] - 1);
    code.box[i] = static_cast<uint16_t>(map.box[i]);
    code.elementStrides[i] = static_cast<uint8_t>(map.elementStrides[i]);
    if (i + 1 < map.rank())
      code.strides[i] = map.strides[i];
  }
  code.checksum = code.expectedChecksum();
  return code;
}

const char *emulator::whyNoMap(const MapCode &code) {
  if (code.magic != magicNumber)
    return "these 128 bytes are no tensor map";
  if (code.checksum != code.expectedChecksum())
    return "the tensor map was overwritten";
  return nullptr;
}
