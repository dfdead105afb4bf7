//===- Integer.cpp - Integer arithmetic -----------------------------------===//
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>
#include <cstdint>

using namespace tandem::emulator;

namespace {
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

struct Add {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) +
                          static_cast<Unsigned<T>>(b));
  }
};
struct Sub {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) -
                          static_cast<Unsigned<T>>(b));
  }
};
struct AddSat {
  static int32_t apply(int32_t a, int32_t b) {
    int64_t sum = int64_t(a) + b;
    return static_cast<int32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};
struct SubSat {
  static int32_t apply(int32_t a, int32_t b) {
    int64_t difference = int64_t(a) - b;
    return static_cast<int32_t>(
        std::clamp<int64_t>(difference, INT32_MIN, INT32_MAX));
  }
};
struct MulLo {
  template <typename T>
  static T apply(T a, T b) {
    // uint64_t, because uint16_t operands would promote to int and overflow.
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
struct MulHi {
  template <typename T>
  static T apply(T a, T b) {
    using Wide =
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    if constexpr (sizeof(T) == 8)
      return static_cast<T>((Wide(a) * Wide(b)) >> 64);
    else
      return static_cast<T>((int64_t(a) * int64_t(b)) >> (8 * sizeof(T)));
  }
};
template <>
uint32_t MulHi::apply(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((uint64_t(a) * b) >> 32);
}
template <typename D>
struct MulWide {
  template <typename T>
  static D apply(T a, T b) {
    return static_cast<D>(a) * static_cast<D>(b);
  }
};
template <>
template <typename T>
uint32_t MulWide<uint32_t>::apply(T a, T b) {
  return uint32_t(a) * uint32_t(b);
}

template <typename Multiply>
struct Mad {
  template <typename T, typename D>
  static D apply(T a, T b, D c) {
    return Add::apply<D>(Multiply::apply(a, b), c);
  }
};
struct MadHiSat {
  static int32_t apply(int32_t a, int32_t b, int32_t c) {
    return AddSat::apply(MulHi::apply(a, b), c);
  }
};
struct Sad {
  template <typename T>
  static T apply(T a, T b, T c) {
    T difference = a < b ? Sub::apply(b, a) : Sub::apply(a, b);
    return Add::apply(c, difference);
  }
};
// Division by zero has no defined result; all ones is what the hardware gives.
struct Div {
  template <typename T>
  static T apply(T a, T b) {
    if (b == 0)
      return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return Sub::apply(T(0), a);
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <typename T>
  static T apply(T a, T b) {
    if (b == 0)
      return static_cast<T>(~T(0));
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return 0;
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};
template <typename Op>
struct Relu {
  static int32_t apply(int32_t a, int32_t b) {
    return Max::apply(Op::apply(a, b), 0);
  }
};
struct Abs {
  template <typename T>
  static T apply(T a) {
    return a < 0 ? Sub::apply(T(0), a) : a;
  }
};
struct Neg {
  template <typename T>
  static T apply(T a) {
    return Sub::apply(T(0), a);
  }
};

// Packed halves: `add.u16x2` and kind.
template <typename Op, typename T>
struct Pair {
  static uint32_t apply(uint32_t a, uint32_t b) {
    auto low = static_cast<uint16_t>(
        Op::apply(static_cast<T>(a & 0xffff), static_cast<T>(b & 0xffff)));
    auto high = static_cast<uint16_t>(
        Op::apply(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return low | uint32_t(high) << 16;
  }
};
} // namespace

template <typename Op>
static void buildBinary(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  if (!operandsOf(b, type, {type, type}))
    return;
  b.inst->run = withInteger(
      type, []<typename T>() -> Handler { return &binary<Op, T, T, T>; });
}
template <typename Op>
static void buildUnary(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  if (!operandsOf(b, type, {type}))
    return;
  b.inst->run = withInteger(
      type, []<typename T>() -> Handler { return &unary<Op, T, T>; });
}
template <typename Op>
static void buildTernary(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  if (!operandsOf(b, type, {type, type, type}))
    return;
  b.inst->run = withInteger(
      type, []<typename T>() -> Handler { return &ternary<Op, T, T, T, T>; });
}
template <typename Op>
static void buildS32Binary(Builder &b, const Match &) {
  if (operandsOf(b, Type::S32, {Type::S32, Type::S32}))
    b.inst->run = &binary<Op, int32_t, int32_t, int32_t>;
}
static void buildMadHiSat(Builder &b, const Match &) {
  if (operandsOf(b, Type::S32, {Type::S32, Type::S32, Type::S32}))
    b.inst->run = &ternary<MadHiSat, int32_t, int32_t, int32_t, int32_t>;
}
template <typename Op>
static void buildPair(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::B32, {Type::B32, Type::B32}))
    return;
  b.inst->run = m.is(m.parts.size() - 1, ".s16x2")
                    ? &binary<Pair<Op, int16_t>, uint32_t, uint32_t, uint32_t>
                    : &binary<Pair<Op, uint16_t>, uint32_t, uint32_t, uint32_t>;
}

/// mul.wide and mad.wide: the result has twice the width.
template <typename F>
static Handler withWide(Type type, F f) {
  switch (type) {
  case Type::S16:
    return f.template operator()<int16_t, int32_t>();
  case Type::U16:
    return f.template operator()<uint16_t, uint32_t>();
  case Type::S32:
    return f.template operator()<int32_t, int64_t>();
  default:
    return f.template operator()<uint32_t, uint64_t>();
  }
}
static void buildMulWide(Builder &b, const Match &m) {
  Type type = m.type(1);
  if (operandsOf(b, doubled(type), {type, type}))
    b.inst->run = withWide(type, []<typename T, typename D>() -> Handler {
      return &binary<MulWide<D>, D, T, T>;
    });
}
static void buildMadWide(Builder &b, const Match &m) {
  Type type = m.type(1);
  if (operandsOf(b, doubled(type), {type, type, doubled(type)}))
    b.inst->run = withWide(type, []<typename T, typename D>() -> Handler {
      return &ternary<Mad<MulWide<D>>, D, T, T, D>;
    });
}

/// 24-bit products: the low 24 bits of the operands, extended by the type.
namespace {
template <bool High>
struct Mul24 {
  template <typename T>
  static T apply(T a, T b) {
    int64_t wide;
    if constexpr (std::is_signed_v<T>)
      wide = (int64_t(a) << 40 >> 40) * (int64_t(b) << 40 >> 40);
    else
      wide = int64_t(a & 0xffffff) * int64_t(b & 0xffffff);
    return static_cast<T>(High ? wide >> 16 : wide);
  }
};
} // namespace
template <bool High>
static void buildMul24(Builder &b, const Match &m) {
  Type type = m.type(1);
  if (operandsOf(b, type, {type, type}))
    b.inst->run = type == Type::S32
                      ? &binary<Mul24<High>, int32_t, int32_t, int32_t>
                      : &binary<Mul24<High>, uint32_t, uint32_t, uint32_t>;
}
template <bool High>
static void buildMad24(Builder &b, const Match &m) {
  Type type = m.type(1);
  if (operandsOf(b, type, {type, type, type}))
    b.inst->run =
        type == Type::S32
            ? &ternary<Mad<Mul24<High>>, int32_t, int32_t, int32_t, int32_t>
            : &ternary<Mad<Mul24<High>>, uint32_t, uint32_t, uint32_t,
                       uint32_t>;
}

// Carries -------------------------------------------------------------------
//
// CC.CF is a predicate of its own. mode: 1 writes it, 2 reads it, 3 both.

namespace {
enum class CarryOp : uint8_t { Add, Sub, MadLo, MadHi };
}

template <typename T, CarryOp Op>
static void carry(Exec &x, const Inst &i) {
  constexpr unsigned bits = 8 * sizeof(T);
  const T *a = x.lanes<T>(i.a);
  const T *b = x.lanes<T>(i.b);
  const T *c = i.c == noSlot ? nullptr : x.lanes<T>(i.c);
  uint32_t in = i.mode & 2 ? x.mask(i.e) : 0;
  uint32_t out = 0;
  T result[warpSize] = {};
  forEachLane(x.active, [&](unsigned l) {
    unsigned __int128 flag = in >> l & 1, wide;
    if constexpr (Op == CarryOp::Add) {
      wide = static_cast<unsigned __int128>(a[l]) + b[l] + flag;
    } else if constexpr (Op == CarryOp::Sub) {
      wide = static_cast<unsigned __int128>(a[l]) - b[l] - flag;
    } else {
      // `flags`: signed, which matters for the high half only.
      unsigned __int128 product = static_cast<unsigned __int128>(a[l]) * b[l];
      T half = static_cast<T>(Op == CarryOp::MadLo ? product : product >> bits);
      if (Op == CarryOp::MadHi && i.flags) {
        using S = std::make_signed_t<T>;
        half = static_cast<T>(
            (static_cast<__int128>(S(a[l])) * static_cast<__int128>(S(b[l]))) >>
            bits);
      }
      wide = static_cast<unsigned __int128>(half) + c[l] + flag;
    }
    result[l] = static_cast<T>(wide);
    out |= uint32_t((wide >> bits) & 1) << l;
  });
  setLanes<T>(x, i.d, [&](int l) { return result[l]; });
  if (i.mode & 1)
    setMask(x, i.e, out);
}

/// The carry flag is the predicate constant 0's private twin: a slot that no
/// name reaches. Constants are keyed by value, so a value no one writes serves.
static Slot carryFlag(Builder &b) { return b.constant(0x5cc5cc, 0); }

template <CarryOp Op, int Mode>
static void buildCarry(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  constexpr bool isMad = Op == CarryOp::MadLo || Op == CarryOp::MadHi;
  bool ok = isMad ? operandsOf(b, type, {type, type, type})
                  : operandsOf(b, type, {type, type});
  if (!ok)
    return;
  // An optional `.cc` comes before the type in every row.
  bool writes = Mode & 1;
  for (std::string_view part : m.parts)
    writes |= part == ".cc";
  b.inst->mode = static_cast<uint8_t>((Mode & 2) | (writes ? 1 : 0));
  b.inst->e = carryFlag(b);
  b.inst->flags = type == Type::S32 || type == Type::S64;
  b.inst->run =
      typeSize(type) == 8 ? &carry<uint64_t, Op> : &carry<uint32_t, Op>;
}

std::span<const Row> tandem::emulator::integerRows() {
  static constexpr const char *all = ".u16|.s16|.u32|.s32|.u64|.s64";
  static const Row rows[] = {
      {"add", all, buildBinary<Add>},
      {"add", ".sat .s32", buildS32Binary<AddSat>},
      {"add", ".u16x2|.s16x2", buildPair<Add>},
      {"add", ".cc .u32|.s32|.u64|.s64", buildCarry<CarryOp::Add, 1>},
      {"addc", ".cc? .u32|.s32|.u64|.s64", buildCarry<CarryOp::Add, 2>},
      {"sub", all, buildBinary<Sub>},
      {"sub", ".sat .s32", buildS32Binary<SubSat>},
      {"sub", ".cc .u32|.s32|.u64|.s64", buildCarry<CarryOp::Sub, 1>},
      {"subc", ".cc? .u32|.s32|.u64|.s64", buildCarry<CarryOp::Sub, 2>},
      {"mul", ".lo .u16|.s16|.u32|.s32|.u64|.s64", buildBinary<MulLo>},
      {"mul", ".hi .u16|.s16|.u32|.s32|.u64|.s64", buildBinary<MulHi>},
      {"mul", ".wide .u16|.s16|.u32|.s32", buildMulWide},
      {"mul24", ".lo .u32|.s32", buildMul24<false>},
      {"mul24", ".hi .u32|.s32", buildMul24<true>},
      {"mad", ".lo .u16|.s16|.u32|.s32|.u64|.s64", buildTernary<Mad<MulLo>>},
      {"mad", ".hi .u16|.s16|.u32|.s32|.u64|.s64", buildTernary<Mad<MulHi>>},
      {"mad", ".hi .sat .s32", buildMadHiSat},
      {"mad", ".wide .u16|.s16|.u32|.s32", buildMadWide},
      {"mad", ".lo .cc .u32|.s32|.u64|.s64", buildCarry<CarryOp::MadLo, 1>},
      {"mad", ".hi .cc .u32|.s32|.u64|.s64", buildCarry<CarryOp::MadHi, 1>},
      {"madc", ".lo .cc? .u32|.s32|.u64|.s64", buildCarry<CarryOp::MadLo, 2>},
      {"madc", ".hi .cc? .u32|.s32|.u64|.s64", buildCarry<CarryOp::MadHi, 2>},
      {"mad24", ".lo .u32|.s32", buildMad24<false>},
      {"mad24", ".hi .u32|.s32", buildMad24<true>},
      {"sad", all, buildTernary<Sad>},
      {"div", all, buildBinary<Div>, "division by zero gives all ones"},
      {"rem", all, buildBinary<Rem>, "division by zero gives all ones"},
      {"min", all, buildBinary<Min>},
      {"max", all, buildBinary<Max>},
      {"min", ".u16x2|.s16x2", buildPair<Min>},
      {"max", ".u16x2|.s16x2", buildPair<Max>},
      {"min", ".relu .s32", buildS32Binary<Relu<Min>>},
      {"max", ".relu .s32", buildS32Binary<Relu<Max>>},
      {"abs", ".s16|.s32|.s64", buildUnary<Abs>},
      {"neg", ".s16|.s32|.s64", buildUnary<Neg>},
  };
  return rows;
}
