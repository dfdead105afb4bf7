//===- BitFields.cpp - Bit fields, bytes and three-input logic ------------===//
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>

using namespace tandem::emulator;

namespace {
struct Bfe {
  template <typename T>
  static T apply(T a, uint32_t position, uint32_t length) {
    using U = std::make_unsigned_t<T>;
    constexpr uint32_t msb = 8 * sizeof(T) - 1;
    // 64 bits look at the whole operands, 32 bits at one byte (as measured).
    if (sizeof(T) == 4) {
      position &= 255;
      length &= 255;
    }
    const auto last = static_cast<uint32_t>(
        std::min(uint64_t(position) + length - 1, uint64_t(msb)));
    bool sign =
        std::is_signed_v<T> && length != 0 && (static_cast<U>(a) >> last & 1);
    U value = position > msb ? U(0) : static_cast<U>(a) >> position;
    uint32_t kept = position > msb ? 0 : std::min(length, msb - position + 1);
    if (kept <= msb) {
      U mask = (U(1) << kept) - 1;
      value = sign ? value | ~mask : value & mask;
    }
    return static_cast<T>(value);
  }
};
struct Prmt {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t choice = selector >> (4 * i) & 15;
      auto byte = static_cast<uint8_t>(bytes >> (8 * (choice & 7)));
      if (choice & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= uint32_t(byte) << (8 * i);
    }
    return result;
  }
};
template <bool Wrap>
struct Bmsk {
  static uint32_t apply(uint32_t position, uint32_t length) {
    position = Wrap ? position & 31 : std::min(position, 32u);
    length = Wrap ? length & 31 : std::min(length, 32u);
    uint64_t mask = (uint64_t(1) << length) - 1;
    return static_cast<uint32_t>(mask << position);
  }
};
} // namespace

static void buildBfe(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (operandsOf(b, type, {type, Type::U32, Type::U32}))
    b.inst->run = withInteger(type, []<typename T>() -> Handler {
      return &ternary<Bfe, T, T, uint32_t, uint32_t>;
    });
}

template <typename T>
static void bfi(Exec &x, const Inst &i) {
  const T *from = x.lanes<T>(i.a);
  const T *into = x.lanes<T>(i.b);
  const uint32_t *position = x.lanes<uint32_t>(i.c);
  const uint32_t *length = x.lanes<uint32_t>(i.e);
  constexpr uint32_t bits = 8 * sizeof(T);
  setLanes<T>(x, i.d, [=](int l) {
    const uint32_t kept = sizeof(T) == 4 ? 255 : ~0u; // as bfe
    uint32_t at = position[l] & kept, n = length[l] & kept;
    if (at >= bits || n == 0)
      return into[l];
    T mask = (n >= bits ? ~T(0) : (T(1) << n) - 1) << at;
    return T((into[l] & ~mask) | ((from[l] << at) & mask));
  });
}
static void buildBfi(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (operandsOf(b, type, {type, type, Type::U32, Type::U32}))
    b.inst->run = typeSize(type) == 8 ? &bfi<uint64_t> : &bfi<uint32_t>;
}

static void buildPrmt(Builder &b, const Match &) {
  if (operandsOf(b, Type::B32, {Type::B32, Type::B32, Type::B32}))
    b.inst->run = &ternary<Prmt, uint32_t, uint32_t, uint32_t, uint32_t>;
}
static void buildPrmtMode(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::B32, {Type::B32, Type::B32, Type::B32}))
    return;
  static constexpr std::string_view modes[] = {".f4e", ".b4e", ".rc8",
                                               ".ecl", ".ecr", ".rc16"};
  for (uint8_t i = 0; i < 6; ++i)
    if (m.is(1, modes[i]))
      b.inst->mode = i;
  b.inst->run = [](Exec &x, const Inst &i) {
    // The selectors by the two low bits of c (PTX ISA, prmt modes).
    static constexpr uint32_t table[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
        {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
        {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
    const uint32_t *a = x.lanes<uint32_t>(i.a);
    const uint32_t *b = x.lanes<uint32_t>(i.b);
    const uint32_t *c = x.lanes<uint32_t>(i.c);
    setLanes<uint32_t>(x, i.d, [=](int l) {
      return Prmt::apply(a[l], b[l], table[i.mode][c[l] & 3]);
    });
  };
}

static void lop3(Exec &x, const Inst &i) {
  const uint32_t *a = x.lanes<uint32_t>(i.a);
  const uint32_t *b = x.lanes<uint32_t>(i.b);
  const uint32_t *c = x.lanes<uint32_t>(i.c);
  uint32_t term[8];
  for (unsigned k = 0; k < 8; ++k)
    term[k] = i.mode >> k & 1 ? ~0u : 0;
  setLanes<uint32_t>(x, i.d, [=](int l) {
    uint32_t p = a[l], q = b[l], r = c[l];
    return (~p & ~q & ~r & term[0]) | (~p & ~q & r & term[1]) |
           (~p & q & ~r & term[2]) | (~p & q & r & term[3]) |
           (p & ~q & ~r & term[4]) | (p & ~q & r & term[5]) |
           (p & q & ~r & term[6]) | (p & q & r & term[7]);
  });
}
static void buildLop3(Builder &b, const Match &) {
  if (!b.expect(5))
    return;
  b.inst->a = b.read(1, Type::B32);
  b.inst->b = b.read(2, Type::B32);
  b.inst->c = b.read(3, Type::B32);
  if (b.operand(4).kind != tandem::emulator::Operand::Kind::Integer ||
      b.operand(4).bits > 255)
    b.fail("the table of lop3 is a constant from 0 to 255");
  b.inst->mode = static_cast<uint8_t>(b.operand(4).bits);
  b.inst->d = b.write(0, Type::B32);
  b.inst->run = lop3;
}

template <bool Signed>
static int64_t extendByte(uint32_t word, int byte) {
  auto bits = static_cast<uint8_t>(word >> (8 * byte));
  return Signed ? int64_t(static_cast<int8_t>(bits)) : int64_t(bits);
}
template <bool SignedA, bool SignedB>
static void dp4a(Exec &x, const Inst &i) {
  const uint32_t *a = x.lanes<uint32_t>(i.a);
  const uint32_t *b = x.lanes<uint32_t>(i.b);
  const uint32_t *c = x.lanes<uint32_t>(i.c);
  setLanes<uint32_t>(x, i.d, [=](int l) {
    int64_t sum = c[l];
    for (int k = 0; k < 4; ++k)
      sum += extendByte<SignedA>(a[l], k) * extendByte<SignedB>(b[l], k);
    return static_cast<uint32_t>(sum);
  });
}
/// Halves of a times the low (mode 0) or high bytes of b.
static void dp2a(Exec &x, const Inst &i) {
  const uint32_t *a = x.lanes<uint32_t>(i.a);
  const uint32_t *b = x.lanes<uint32_t>(i.b);
  const uint32_t *c = x.lanes<uint32_t>(i.c);
  setLanes<uint32_t>(x, i.d, [=](int l) {
    int64_t sum = c[l];
    for (int k = 0; k < 2; ++k) {
      auto half = static_cast<uint16_t>(a[l] >> (16 * k));
      int64_t left = i.flags & 1 ? int64_t(static_cast<int16_t>(half)) : half;
      int byte = i.mode * 2 + k;
      sum += left * (i.flags & 2 ? extendByte<true>(b[l], byte)
                                 : extendByte<false>(b[l], byte));
    }
    return static_cast<uint32_t>(sum);
  });
}
static void buildDp4a(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::B32, {Type::B32, Type::B32, Type::B32}))
    return;
  bool sa = m.is(0, ".s32"), sb = m.is(1, ".s32");
  b.inst->run = sa ? (sb ? &dp4a<true, true> : &dp4a<true, false>)
                   : (sb ? &dp4a<false, true> : &dp4a<false, false>);
}
static void buildDp2a(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::B32, {Type::B32, Type::B32, Type::B32}))
    return;
  b.inst->mode = m.is(0, ".hi");
  b.inst->flags = static_cast<uint8_t>(m.is(1, ".s32") | m.is(2, ".s32") << 1);
  b.inst->run = dp2a;
}

/// Sign- or zero-extends the low n bits.
template <bool Signed, bool Wrap>
static void szext(Exec &x, const Inst &i) {
  const uint32_t *a = x.lanes<uint32_t>(i.a);
  const uint32_t *n = x.lanes<uint32_t>(i.b);
  setLanes<uint32_t>(x, i.d, [=](int l) {
    uint32_t bits = Wrap ? n[l] & 31 : std::min(n[l], 32u);
    if (bits == 0)
      return 0u;
    if (Signed)
      return static_cast<uint32_t>(static_cast<int32_t>(a[l] << (32 - bits)) >>
                                   (32 - bits));
    return a[l] << (32 - bits) >> (32 - bits);
  });
}
static void buildSzext(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::B32, {Type::B32, Type::U32}))
    return;
  bool wrap = m.is(0, ".wrap"), isSigned = m.is(1, ".s32");
  b.inst->run = isSigned ? (wrap ? &szext<true, true> : &szext<true, false>)
                         : (wrap ? &szext<false, true> : &szext<false, false>);
}
static void buildBmsk(Builder &b, const Match &m) {
  if (operandsOf(b, Type::B32, {Type::U32, Type::U32}))
    b.inst->run = m.is(0, ".wrap")
                      ? &binary<Bmsk<true>, uint32_t, uint32_t, uint32_t>
                      : &binary<Bmsk<false>, uint32_t, uint32_t, uint32_t>;
}
/// The place of the n-th set bit from a base on, up or down (PTX ISA, fns).
static void buildFns(Builder &b, const Match &) {
  if (!operandsOf(b, Type::B32, {Type::B32, Type::B32, Type::B32}))
    return;
  b.inst->run = [](Exec &x, const Inst &i) {
    const uint32_t *mask = x.lanes<uint32_t>(i.a);
    const uint32_t *base = x.lanes<uint32_t>(i.b);
    const int32_t *offset = x.lanes<int32_t>(i.c);
    setLanes<uint32_t>(x, i.d, [=](int l) -> uint32_t {
      auto at = static_cast<int64_t>(base[l]);
      if (offset[l] == 0)
        return at < 32 && mask[l] >> at & 1 ? base[l] : ~0u;
      int64_t step = offset[l] > 0 ? 1 : -1;
      int64_t count = offset[l] > 0 ? offset[l] : -int64_t(offset[l]);
      for (; at >= 0 && at < 32; at += step)
        if (mask[l] >> at & 1 && --count == 0)
          return static_cast<uint32_t>(at);
      return ~0u;
    });
  };
}

std::span<const Row> tandem::emulator::bitFieldRows() {
  static const Row rows[] = {
      {"bfe", ".u32|.s32|.u64|.s64", buildBfe},
      {"bfi", ".b32|.b64", buildBfi},
      {"prmt", ".b32", buildPrmt},
      {"prmt", ".b32 .f4e|.b4e|.rc8|.ecl|.ecr|.rc16", buildPrmtMode},
      {"lop3", ".b32", buildLop3},
      {"dp4a", ".u32|.s32 .u32|.s32", buildDp4a},
      {"dp2a", ".lo|.hi .u32|.s32 .u32|.s32", buildDp2a},
      {"szext", ".wrap|.clamp .u32|.s32", buildSzext},
      {"bmsk", ".wrap|.clamp .b32", buildBmsk},
      {"fns", ".b32", buildFns},
  };
  return rows;
}
