//===- AtomicOps.h - What atom and red do to a word -------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_ATOMICOPS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_ATOMICOPS_H

#include "codegen/device/emulator/Rounding.h"

#include <cstdint>
#include <type_traits>

namespace tandem::emulator::atomics {

// apply(old, b, c, whether in global memory) gives the new value.

struct Add {
  template <typename T>
  static T apply(T old, T b, T, bool isGlobal) {
    // On global memory f32 sums flush subnormals (PTX ISA, atom).
    if constexpr (std::is_same_v<T, float>)
      return isGlobal ? canonical(flush(flush(old) + flush(b)))
                      : canonical(old + b);
    else if constexpr (std::is_floating_point_v<T>)
      return canonical(old + b);
    else
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                            static_cast<std::make_unsigned_t<T>>(b));
  }
};
struct Min {
  template <typename T>
  static T apply(T old, T b, T, bool) {
    return b < old ? b : old;
  }
};
struct Max {
  template <typename T>
  static T apply(T old, T b, T, bool) {
    return b > old ? b : old;
  }
};
struct And {
  template <typename T>
  static T apply(T old, T b, T, bool) {
    return old & b;
  }
};
struct Or {
  template <typename T>
  static T apply(T old, T b, T, bool) {
    return old | b;
  }
};
struct Xor {
  template <typename T>
  static T apply(T old, T b, T, bool) {
    return old ^ b;
  }
};
struct Exchange {
  template <typename T>
  static T apply(T, T b, T, bool) {
    return b;
  }
};
struct CompareAndSwap {
  template <typename T>
  static T apply(T old, T b, T c, bool) {
    return old == b ? c : old;
  }
};
struct Increment {
  template <typename T>
  static T apply(T old, T b, T, bool) {
    return old >= b ? 0 : old + 1;
  }
};
struct Decrement {
  template <typename T>
  static T apply(T old, T b, T, bool) {
    return old == 0 || old > b ? b : old - 1;
  }
};
/// One or two halves.
template <bool Bfloat>
struct AddHalves {
  static uint16_t one(uint16_t a, uint16_t b) {
    return Bfloat ? toBfloat(addOdd(bfloatToFloat(a), bfloatToFloat(b)))
                  : toHalf(addOdd(halfToFloat(a), halfToFloat(b)));
  }
  template <typename T>
  static T apply(T old, T b, T, bool) {
    if constexpr (sizeof(T) == 2)
      return one(old, b);
    else
      return one(static_cast<uint16_t>(old), static_cast<uint16_t>(b)) |
             uint32_t(one(static_cast<uint16_t>(old >> 16),
                          static_cast<uint16_t>(b >> 16)))
                 << 16;
  }
};

} // namespace tandem::emulator::atomics

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_ATOMICOPS_H
