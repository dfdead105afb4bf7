//===- Hash.cpp - Content addresses ---------------------------------------===//
#include "harness/case/Hash.h"

#include <cstdint>

std::string tandem::harness::contentHash(std::string_view bytes) {
  // FNV-1a with the 128-bit offset basis and the prime 2^88 + 2^8 + 0x3b, in
  // two 64-bit halves. (draft-eastlake-fnv, section 5)
  uint64_t high = 0x6c62272e07bb0142, low = 0x62b821756295c58d;
  for (char c : bytes) {
    low ^= static_cast<uint8_t>(c);
    // (high:low) * (2^88 + 0x13b), modulo 2^128.
    const uint64_t lowLeft = (low & 0xffffffff) * 0x13b;
    const uint64_t lowRight = (low >> 32) * 0x13b + (lowLeft >> 32);
    high = high * 0x13b + (lowRight >> 32) + (low << 24);
    low = (lowRight << 32) | (lowLeft & 0xffffffff);
  }
  std::string text;
  for (uint64_t half : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[(half >> shift) & 15];
  return text;
}
