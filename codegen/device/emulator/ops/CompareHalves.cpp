//===- CompareHalves.cpp - set and setp on halves and pairs of them -------===//
#include "codegen/device/emulator/Rounding.h"
#include "codegen/device/emulator/ops/Families.h"

using namespace tandem::emulator;

static constexpr std::string_view relations[] = {
    ".eq",  ".ne",  ".lt",  ".le",  ".gt",  ".ge",  ".equ",
    ".neu", ".ltu", ".leu", ".gtu", ".geu", ".num", ".nan"};

/// A NaN makes the ordered comparisons false, `ne` included, and the unordered
/// ones true.
static bool relates(unsigned relation, float a, float b) {
  bool isNan = a != a || b != b;
  if (relation >= 12)
    return isNan == (relation == 13);
  if (isNan)
    return relation >= 6;
  switch (relation % 6) {
  case 0:
    return a == b;
  case 1:
    return a != b;
  case 2:
    return a < b;
  case 3:
    return a <= b;
  case 4:
    return a > b;
  default:
    return a >= b;
  }
}

// mode: relation; flags: 1 ftz, 2 bfloat, 4 negated c, 8 pairs; extra: 0 none,
// 1 and, 2 or, 3 xor with c; imm: bits of true in 16 or 32 bits.
static bool relatesAt(const Inst &i, const char *a, const char *b,
                      unsigned element) {
  auto load = [&](const char *from) {
    uint16_t bits;
    __builtin_memcpy(&bits, from + 2 * element, 2);
    if ((i.flags & 1) && !(bits & 0x7c00))
      bits &= 0x8000;
    return i.flags & 2 ? bfloatToFloat(bits) : halfToFloat(bits);
  };
  return relates(i.mode, load(a), load(b));
}
static bool combined(const Inst &i, bool value, bool c) {
  c ^= (i.flags & 4) != 0;
  return i.extra == 0   ? value
         : i.extra == 1 ? value && c
         : i.extra == 2 ? value || c
                        : value != c;
}

static void setpPair(Exec &x, const Inst &i) {
  const char *a = x.lanes<char>(i.a), *b = x.lanes<char>(i.b);
  uint32_t c = i.c == noSlot ? 0 : x.mask(i.c), result[2] = {};
  for (unsigned l = 0; l < warpSize; ++l)
    for (unsigned half = 0; half < 2; ++half)
      result[half] |=
          uint32_t(combined(i, relatesAt(i, a, b, 2 * l + half), c >> l & 1))
          << l;
  setMask(x, i.d, result[0]);
  setMask(x, i.e, result[1]);
}

template <typename T>
static void setOne(Exec &x, const Inst &i) {
  const char *a = x.lanes<char>(i.a), *b = x.lanes<char>(i.b);
  uint32_t c = i.c == noSlot ? 0 : x.mask(i.c);
  auto yes = static_cast<T>(i.imm);
  setLanes<T>(x, i.d, [=, &i](int l) {
    return combined(i, relatesAt(i, a, b, unsigned(l)), c >> l & 1) ? yes
                                                                    : T(0);
  });
}
static void setPair(Exec &x, const Inst &i) {
  const char *a = x.lanes<char>(i.a), *b = x.lanes<char>(i.b);
  uint32_t c = i.c == noSlot ? 0 : x.mask(i.c);
  auto yes = static_cast<uint32_t>(i.imm & 0xffff);
  setLanes<uint32_t>(x, i.d, [=, &i](int l) {
    bool p = c >> l & 1;
    uint32_t low = combined(i, relatesAt(i, a, b, 2 * unsigned(l)), p);
    uint32_t high = combined(i, relatesAt(i, a, b, 2 * unsigned(l) + 1), p);
    return low * yes | (high * yes) << 16;
  });
}

/// Parts 0 to 2: comparison, boolean, ftz. \p first is the operand of a.
static bool common(Builder &b, const Match &m, size_t first, Type from) {
  std::string_view how = m.parts[1];
  if (!b.expect(first + (how.empty() ? 2 : 3)))
    return false;
  for (uint8_t r = 0; r < std::size(relations); ++r)
    if (m.is(0, relations[r]))
      b.inst->mode = r;
  b.inst->extra = how == ".and" ? 1 : how == ".or" ? 2 : how == ".xor" ? 3 : 0;
  b.inst->a = b.read(first, from);
  b.inst->b = b.read(first + 1, from);
  if (!how.empty()) {
    b.inst->c = b.readPredicate(first + 2);
    b.inst->flags |= b.operand(first + 2).negated ? 4 : 0;
  }
  b.inst->flags |=
      (m.has(2) ? 1 : 0) | (from == Type::BF16 || from == Type::BF16x2 ? 2 : 0);
  return true;
}

static void buildSetpPair(Builder &b, const Match &m) {
  if (b.ast->pairAt != 1) {
    b.fail("a packed setp has two results `p|q`");
    return;
  }
  if (!common(b, m, 2, m.type(3)))
    return;
  b.inst->d = b.writePredicate(0);
  b.inst->e = b.writePredicate(1);
  b.inst->run = setpPair;
}

/// True is 1.0 in a float format, all ones in an integer one.
static int64_t trueBits(Type type) {
  return type == Type::F16 || type == Type::F16x2     ? 0x3c00
         : type == Type::BF16 || type == Type::BF16x2 ? 0x3f80
                                                      : -1;
}
static void buildSetHalf(Builder &b, const Match &m) {
  Type to = m.type(3), from = m.type(4);
  if (!common(b, m, 1, from))
    return;
  b.inst->imm = trueBits(to);
  b.inst->d = b.write(0, to);
  b.inst->run = typeSize(to) == 2 ? &setOne<uint16_t> : &setOne<uint32_t>;
}
static void buildSetPair(Builder &b, const Match &m) {
  Type to = m.type(3), from = m.type(4);
  if (!common(b, m, 1, from))
    return;
  b.inst->imm = trueBits(to);
  b.inst->d = b.write(0, to);
  b.inst->run = setPair;
}

std::span<const Row> tandem::emulator::compareHalfRows() {
#define TANDEM_COMPARISONS                                                     \
  ".eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan "           \
  ".and|.or|.xor? .ftz? "
  static const Row rows[] = {
      {"setp", TANDEM_COMPARISONS ".f16x2|.bf16x2", buildSetpPair},
      {"set", TANDEM_COMPARISONS ".f16|.bf16|.u16|.s16|.u32|.s32 .f16|.bf16",
       buildSetHalf},
      {"set", TANDEM_COMPARISONS ".f16x2|.bf16x2|.u32|.s32 .f16x2|.bf16x2",
       buildSetPair},
  };
#undef TANDEM_COMPARISONS
  return rows;
}
