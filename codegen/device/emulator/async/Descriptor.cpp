//===- Descriptor.cpp - Operands of wgmma in shared memory ----------------===//
//
// With T elements in 16 bytes, W units in a row of the swizzle (1, 2, 4, 8),
// LBO and SBO the descriptor's leading and stride offsets:
//
//   K-major, none      row r, unit u: (r % 8) 16 + (r / 8) SBO + u LBO
//   K-major, swizzled  (r % 8) 16 W + (r / 8) SBO + 16 u
//   transposed, none   unit u of the major dim, row k: u SBO + (k % 8) 16
//                      + (k / 8) LBO
//   transposed, swizzled  (u % W) 16 + (u / W) LBO + (k % 8) 16 W + (k / 8) SBO
//
// Swizzling exchanges units by the bits of the address, as tensor maps do.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/async/TensorTile.h"
#include "codegen/device/emulator/async/Wgmma.h"

using namespace tandem;
using namespace tandem::emulator;

MatrixDescriptor::MatrixDescriptor(uint64_t bits, unsigned elementBytes,
                                   bool isTransposed)
    : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4),
      stride((bits >> 32 & 0x3fff) << 4),
      baseOffset(static_cast<unsigned>(bits >> 49 & 7)),
      perUnit(static_cast<int>(16 / elementBytes)), isTransposed(isTransposed) {
  // 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes.
  int mode = static_cast<int>(bits >> 62);
  swizzle = mode ? 4 - mode : 0;
}

uint64_t MatrixDescriptor::unitOf(int major, int k) const {
  auto w = uint64_t(1) << swizzle;
  uint64_t address = start;
  if (!isTransposed) {
    auto row = static_cast<uint64_t>(major);
    auto unit = static_cast<uint64_t>(k / perUnit);
    address += row % 8 * 16 * w + row / 8 * stride +
               (swizzle ? unit * 16 : unit * leading);
  } else {
    auto unit = static_cast<uint64_t>(major / perUnit);
    auto row = static_cast<uint64_t>(k);
    address += swizzle ? unit % w * 16 + unit / w * leading + row % 8 * 16 * w +
                             row / 8 * stride
                       : unit * stride + row % 8 * 16 + row / 8 * leading;
  }
  return swizzled(address, static_cast<MapSwizzle>(swizzle));
}
