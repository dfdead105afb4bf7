//===- Bits.cpp - Logic, shifts and counts of bits ------------------------===//
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>

using namespace tandem::emulator;

namespace {
struct And {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <typename T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};
struct Cnot {
  template <typename T>
  static T apply(T a) {
    return a == 0;
  }
};
// Amounts above the width clamp to it (PTX ISA, shl and shr).
struct Shl {
  template <typename T>
  static T apply(T a, uint32_t n) {
    return n >= 8 * sizeof(T) ? T(0)
                              : static_cast<T>(static_cast<uint64_t>(a) << n);
  }
};
struct Shr {
  template <typename T>
  static T apply(T a, uint32_t n) {
    constexpr uint32_t bits = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a >> std::min(n, bits - 1));
    else
      return n >= bits ? T(0) : static_cast<T>(a >> n);
  }
};
template <bool Left, bool Wrap>
struct Funnel {
  static uint32_t apply(uint32_t low, uint32_t high, uint32_t n) {
    uint64_t both = uint64_t(high) << 32 | low;
    n = Wrap ? n & 31 : std::min(n, 32u);
    return static_cast<uint32_t>(Left ? both << n >> 32 : both >> n);
  }
};
struct Popc {
  template <typename T>
  static uint32_t apply(T a) {
    return static_cast<uint32_t>(std::popcount(a));
  }
};
struct Clz {
  template <typename T>
  static uint32_t apply(T a) {
    return static_cast<uint32_t>(std::countl_zero(a));
  }
};
struct Brev {
  template <typename T>
  static T apply(T a) {
    T reversed = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
      reversed |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return reversed;
  }
};
/// The place of the highest bit that differs from the sign; all ones if none.
template <bool Shift>
struct Bfind {
  template <typename T>
  static uint32_t apply(T a) {
    using U = std::make_unsigned_t<T>;
    U bits = static_cast<U>(a);
    if (std::is_signed_v<T> && a < 0)
      bits = ~bits;
    if (!bits)
      return ~0u;
    auto leading = static_cast<uint32_t>(std::countl_zero(bits));
    return Shift ? leading : static_cast<uint32_t>(8 * sizeof(T)) - 1 - leading;
  }
};
} // namespace

template <typename Op>
static void buildLogic(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (type == Type::Pred) {
    if (!operandsOf(b, type, {type, type}))
      return;
    // A negated source is folded into the handler's flags.
    b.inst->flags =
        static_cast<uint8_t>(b.operand(1).negated | b.operand(2).negated << 1);
    b.inst->run = [](Exec &x, const Inst &i) {
      uint32_t p = x.mask(i.a) ^ (i.flags & 1 ? ~0u : 0);
      uint32_t q = x.mask(i.b) ^ (i.flags & 2 ? ~0u : 0);
      setMask(x, i.d, Op::apply(p, q));
    };
    return;
  }
  if (operandsOf(b, type, {type, type}))
    b.inst->run = withInteger(
        type, []<typename T>() -> Handler { return &binary<Op, T, T, T>; });
}
static void buildNot(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (!operandsOf(b, type, {type}))
    return;
  b.inst->run = type == Type::Pred
                    ? Handler([](Exec &x, const Inst &i) {
                        setMask(x, i.d, ~x.mask(i.a));
                      })
                    : withInteger(type, []<typename T>() -> Handler {
                        return &unary<Not, T, T>;
                      });
}
static void buildCnot(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (operandsOf(b, type, {type}))
    b.inst->run = withInteger(
        type, []<typename T>() -> Handler { return &unary<Cnot, T, T>; });
}
template <typename Op>
static void buildShift(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (operandsOf(b, type, {type, Type::U32}))
    b.inst->run = withInteger(type, []<typename T>() -> Handler {
      return &binary<Op, T, T, uint32_t>;
    });
}
template <bool Left>
static void buildFunnel(Builder &b, const Match &m) {
  if (operandsOf(b, Type::B32, {Type::B32, Type::B32, Type::U32}))
    b.inst->run = m.is(1, ".wrap") ? &ternary<Funnel<Left, true>, uint32_t,
                                              uint32_t, uint32_t, uint32_t>
                                   : &ternary<Funnel<Left, false>, uint32_t,
                                              uint32_t, uint32_t, uint32_t>;
}
template <typename Op>
static void buildCount(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  if (!operandsOf(b, Type::U32, {type}))
    return;
  b.inst->run = typeSize(type) == 8 ? &unary<Op, uint32_t, uint64_t>
                                    : &unary<Op, uint32_t, uint32_t>;
}
template <bool Shift>
static void buildBfind(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  if (operandsOf(b, Type::U32, {type}))
    b.inst->run = withInteger(type, []<typename T>() -> Handler {
      return &unary<Bfind<Shift>, uint32_t, T>;
    });
}
static void buildBrev(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (operandsOf(b, type, {type}))
    b.inst->run = typeSize(type) == 8 ? &unary<Brev, uint64_t, uint64_t>
                                      : &unary<Brev, uint32_t, uint32_t>;
}
std::span<const Row> tandem::emulator::bitRows() {
  static const Row rows[] = {
      {"and", ".pred|.b16|.b32|.b64", buildLogic<And>},
      {"or", ".pred|.b16|.b32|.b64", buildLogic<Or>},
      {"xor", ".pred|.b16|.b32|.b64", buildLogic<Xor>},
      {"not", ".pred|.b16|.b32|.b64", buildNot},
      {"cnot", ".b16|.b32|.b64", buildCnot},
      {"shl", ".b16|.b32|.b64", buildShift<Shl>},
      {"shr", ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64", buildShift<Shr>},
      {"shf", ".l .wrap|.clamp .b32", buildFunnel<true>},
      {"shf", ".r .wrap|.clamp .b32", buildFunnel<false>},
      {"popc", ".b32|.b64", buildCount<Popc>},
      {"clz", ".b32|.b64", buildCount<Clz>},
      {"brev", ".b32|.b64", buildBrev},
      {"bfind", ".u32|.s32|.u64|.s64", buildBfind<false>},
      {"bfind", ".shiftamt .u32|.s32|.u64|.s64", buildBfind<true>},
  };
  return rows;
}
