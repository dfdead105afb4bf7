//===- AtomicVector.cpp - atom and red on vectors -------------------------===//
//
// Each element is updated by itself; nothing says that the whole vector is.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/ops/AtomicOps.h"
#include "codegen/device/emulator/ops/Families.h"
#include "codegen/device/emulator/ops/Spaces.h"

#include <cstring>

using namespace tandem::emulator;
using namespace tandem::emulator::atomics;

namespace {
/// min and max of halves: a NaN loses against a number.
template <bool Bfloat, bool Most>
struct ExtremeHalves {
  static uint16_t one(uint16_t a, uint16_t b) {
    float x = Bfloat ? bfloatToFloat(a) : halfToFloat(a);
    float y = Bfloat ? bfloatToFloat(b) : halfToFloat(b);
    if (x != x)
      return y != y ? uint16_t(nanBits16) : b;
    if (y != y)
      return a;
    // Of two zeros the negative one is less.
    bool less = x < y || (x == y && (a & 0x8000) > (b & 0x8000));
    return less == Most ? b : a;
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
} // namespace

// list: sources, then targets where there are any (flags & 1); count of each.
template <typename Op, typename T>
static void vectorAtomic(Exec &x, const Inst &i) {
  uint64_t address[warpSize];
  Accessible access;
  addressesOf(x, i, address);
  checkAccess(x, i, i.space, address, sizeof(T) * i.count, AccessKind::Atomic,
              i.scope, access);
  const Slot *slots = &x.cta->program->slots[i.list];
  T before[8][warpSize] = {};
  forEachLane(access.lanes, [&](unsigned l) {
    char *where = access.contiguous
                      ? access.contiguous + sizeof(T) * i.count * l
                      : access.host[l];
    for (unsigned k = 0; k < i.count; ++k) {
      T &old = before[k][l];
      std::memcpy(&old, where + sizeof(T) * k, sizeof(T));
      T b = x.lanes<T>(slots[k])[l];
      T after = Op::template apply<T>(old, b, b, true);
      std::memcpy(where + sizeof(T) * k, &after, sizeof(T));
    }
  });
  if (i.flags & 1)
    for (unsigned k = 0; k < i.count; ++k)
      setLanes<T>(x, slots[i.count + k], [&](int l) { return before[k][l]; });
}

template <bool Bfloat>
static Handler halfHandler(std::string_view op, bool isPacked) {
  if (op == ".add")
    return isPacked ? &vectorAtomic<AddHalves<Bfloat>, uint32_t>
                    : &vectorAtomic<AddHalves<Bfloat>, uint16_t>;
  if (op == ".min")
    return isPacked ? &vectorAtomic<ExtremeHalves<Bfloat, false>, uint32_t>
                    : &vectorAtomic<ExtremeHalves<Bfloat, false>, uint16_t>;
  return isPacked ? &vectorAtomic<ExtremeHalves<Bfloat, true>, uint32_t>
                  : &vectorAtomic<ExtremeHalves<Bfloat, true>, uint16_t>;
}

/// Parts: semantics, scope, space, operation, [noftz,] hint, vector, type.
template <bool HasResult>
static void buildVectorAtomic(Builder &b, const Match &m) {
  size_t n = m.parts.size();
  Type type = m.type(n - 1);
  size_t count = m.is(n - 2, ".v2") ? 2 : m.is(n - 2, ".v4") ? 4 : 8;
  bool hasPolicy = m.has(n - 3);
  size_t first = HasResult ? 1 : 0;
  if (!b.expect(first + 2 + (hasPolicy ? 1 : 0)))
    return;
  if (typeSize(type) * count > 16) {
    b.fail(cat("'", b.ast->text(), "' is of ", typeSize(type) * count,
               " bytes, at most 16 are allowed"));
    return;
  }
  b.inst->space = Space::Generic;
  spaceNamed(m.parts[2], b.inst->space);
  b.program->hasGlobalSync = true;
  b.inst->scope = scopeNamed(m.parts, Scope::Gpu);
  b.inst->order = orderNamed(m.parts);
  b.address(first);
  b.inst->count = static_cast<uint8_t>(count);
  b.inst->list = b.vector(b.operand(first + 1), count, type, false);
  if (HasResult)
    b.vector(b.operand(0), count, type, true);
  b.inst->flags = HasResult;
  bool isBfloat = type == Type::BF16 || type == Type::BF16x2;
  bool isPacked = typeSize(type) == 4;
  b.inst->run = type == Type::F32 ? &vectorAtomic<Add, float>
                : isBfloat        ? halfHandler<true>(m.parts[3], isPacked)
                                  : halfHandler<false>(m.parts[3], isPacked);
}

std::span<const Row> tandem::emulator::vectorAtomicRows() {
#define TANDEM_PREFIX                                                          \
  ".relaxed|.acquire|.release|.acq_rel? .cta|.cluster|.gpu|.sys? .global? "
#define TANDEM_ROWS(NAME, BUILD)                                               \
  {NAME, TANDEM_PREFIX ".add .L2::cache_hint? .v2|.v4 .f32", BUILD},           \
      {NAME,                                                                   \
       TANDEM_PREFIX ".add|.min|.max .noftz .L2::cache_hint? .v2|.v4|.v8 "     \
                     ".f16|.bf16",                                             \
       BUILD},                                                                 \
  {                                                                            \
    NAME,                                                                      \
        TANDEM_PREFIX ".add|.min|.max .noftz .L2::cache_hint? .v2|.v4 "        \
                      ".f16x2|.bf16x2",                                        \
        BUILD                                                                  \
  }
  static const Row rows[] = {
      TANDEM_ROWS("atom", buildVectorAtomic<true>),
      TANDEM_ROWS("red", buildVectorAtomic<false>),
  };
#undef TANDEM_PREFIX
#undef TANDEM_ROWS
  return rows;
}
