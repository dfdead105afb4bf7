//===- Types.h - PTX operand types ------------------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_TYPES_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_TYPES_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::emulator {

inline constexpr int warpSize = 32;

/// Where in a warp's arena an operand is (Program.h).
using Slot = uint32_t;
inline constexpr Slot noSlot = ~0u;

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F64,
  E4M3x2,
  E5M2x2,
  TF32,
  F32x2,
};

/// How far an access is strong. There is one GPU, so .sys is .gpu.
enum class Scope : uint8_t { Weak, Cta, Cluster, Gpu };
/// Bits of Inst::order.
inline constexpr uint8_t acquireOrder = 1, releaseOrder = 2;

/// The type named `.u32` (with the dot), or None.
Type typeNamed(std::string_view name);
/// Bytes of a value; a predicate is stored as a lane mask and has 0.
unsigned typeSize(Type type);

namespace detail {
inline void append(std::string &to, std::string_view part) { to += part; }
inline void append(std::string &to, const std::string &part) { to += part; }
inline void append(std::string &to, const char *part) { to += part; }
inline void append(std::string &to, char *part) { to += part; }
inline void append(std::string &to, char part) { to += part; }
template <typename T>
void append(std::string &to, const T &part) {
  to += std::to_string(part);
}
} // namespace detail

/// Joins text and numbers; for messages.
template <typename... Parts>
std::string cat(const Parts &...parts) {
  std::string joined;
  (detail::append(joined, parts), ...);
  return joined;
}

/// `0x7f00`.
std::string hex(uint64_t value);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_TYPES_H
