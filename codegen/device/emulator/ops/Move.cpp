//===- Move.cpp - mov, cvta, isspacep -------------------------------------===//
#include "codegen/device/emulator/Specials.h"
#include "codegen/device/emulator/ops/Families.h"

#include <cstring>

using namespace tandem::emulator;

using OperandKind = tandem::emulator::Operand::Kind;

template <typename T>
static void move(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  setLanes<T>(x, i.d, [=](int l) { return a[l]; });
}

static Handler moveOf(unsigned size) {
  return size == 16  ? &move<unsigned __int128>
         : size == 8 ? &move<uint64_t>
         : size == 4 ? &move<uint32_t>
                     : &move<uint16_t>;
}

// Vectors: `size` bytes each, `count` of them, in program.slots from `list` on.
static void pack(Exec &x, const Inst &i) {
  const Slot *slots = &x.cta->program->slots[i.list];
  char *d = x.lanes<char>(i.d);
  unsigned whole = i.size * i.count;
  forEachLane(x.active, [&](unsigned l) {
    uint64_t value = 0;
    for (unsigned k = 0; k < i.count; ++k)
      std::memcpy(reinterpret_cast<char *>(&value) + k * i.size,
                  x.lanes<char>(slots[k]) + l * i.size, i.size);
    std::memcpy(d + l * whole, &value, whole);
  });
}
static void unpack(Exec &x, const Inst &i) {
  const Slot *slots = &x.cta->program->slots[i.list];
  const char *a = x.lanes<char>(i.a);
  unsigned whole = i.size * i.count;
  forEachLane(x.active, [&](unsigned l) {
    uint64_t value = 0;
    std::memcpy(&value, a + l * whole, whole);
    for (unsigned k = 0; k < i.count; ++k)
      std::memcpy(x.lanes<char>(slots[k]) + l * i.size,
                  reinterpret_cast<const char *>(&value) + k * i.size, i.size);
  });
}
// The usual case, two halves of a word each, as loops that vectorise.
template <typename Part, typename Whole>
static void packTwo(Exec &x, const Inst &i) {
  const Slot *slots = &x.cta->program->slots[i.list];
  const Part *low = x.lanes<Part>(slots[0]);
  const Part *high = x.lanes<Part>(slots[1]);
  setLanes<Whole>(x, i.d, [=](int l) {
    return static_cast<Whole>(Whole(high[l]) << (8 * sizeof(Part)) | low[l]);
  });
}
template <typename Part, typename Whole>
static void unpackTwo(Exec &x, const Inst &i) {
  const Slot *slots = &x.cta->program->slots[i.list];
  Whole a[warpSize];
  std::memcpy(a, x.lanes<Whole>(i.a), sizeof a);
  setLanes<Part>(x, slots[0], [&](int l) { return static_cast<Part>(a[l]); });
  setLanes<Part>(x, slots[1], [&](int l) {
    return static_cast<Part>(a[l] >> (8 * sizeof(Part)));
  });
}

static Type bitType(unsigned size) {
  return size == 1   ? Type::B8
         : size == 2 ? Type::B16
         : size == 4 ? Type::B32
                     : Type::B64;
}

static void buildVectorMove(Builder &b, Type type, bool unpacks) {
  const auto &vector = b.operand(unpacks ? 0 : 1);
  size_t count = vector.parts.size();
  unsigned whole = typeSize(type);
  if ((count != 2 && count != 4) || whole / count < 2 ||
      (whole == 16 && count != 2)) {
    b.fail(cat("'", b.ast->text(), "' cannot have a vector of ", count));
    return;
  }
  auto part = static_cast<unsigned>(whole / count);
  b.inst->size = static_cast<uint8_t>(part);
  b.inst->count = static_cast<uint8_t>(count);
  b.inst->list = b.vector(vector, count, bitType(part), unpacks);
  if (unpacks)
    b.inst->a = b.read(1, type);
  else
    b.inst->d = b.write(0, type);
  b.inst->run = unpacks ? unpack : pack;
  if (part == 8)
    b.inst->run = unpacks ? &unpackTwo<uint64_t, unsigned __int128>
                          : &packTwo<uint64_t, unsigned __int128>;
  if (count == 2 && part == 4)
    b.inst->run =
        unpacks ? &unpackTwo<uint32_t, uint64_t> : &packTwo<uint32_t, uint64_t>;
  if (count == 2 && part == 2)
    b.inst->run =
        unpacks ? &unpackTwo<uint16_t, uint32_t> : &packTwo<uint16_t, uint32_t>;
}

static void buildMove(Builder &b, const Match &m) {
  if (!b.expect(2))
    return;
  Type type = m.type(0);
  if (b.operand(0).kind == OperandKind::Vector ||
      b.operand(1).kind == OperandKind::Vector) {
    if (type == Type::Pred)
      b.fail("a vector of predicates has no meaning");
    else
      buildVectorMove(b, type, b.operand(0).kind == OperandKind::Vector);
    return;
  }
  b.inst->d = b.write(0, type);
  const Special *special = b.special(b.operand(1));
  if (special && isDynamic(*special)) {
    b.inst->imm = static_cast<int64_t>(*special);
    b.inst->size = static_cast<uint8_t>(typeSize(type));
    b.inst->run = [](Exec &x, const Inst &i) {
      uint64_t value =
          specialValue(static_cast<Special>(i.imm), *x.cta, *x.warp, 0);
      if (i.size == 8)
        setLanes<uint64_t>(x, i.d, [=](int) { return value; });
      else
        setLanes<uint32_t>(x, i.d,
                           [=](int) { return static_cast<uint32_t>(value); });
    };
    return;
  }
  b.inst->a = b.read(1, type);
  if (type == Type::Pred) {
    b.inst->flags = b.operand(1).negated;
    b.inst->run = [](Exec &x, const Inst &i) {
      setMask(x, i.d, x.mask(i.a) ^ (i.flags ? ~0u : 0));
    };
    return;
  }
  b.inst->run = moveOf(typeSize(type));
}

static uint64_t windowOf(std::string_view space) {
  if (space.starts_with(".shared"))
    return sharedWindow;
  if (space == ".local")
    return localWindow;
  if (space.starts_with(".param"))
    return paramWindow;
  return 0; // global and const are generic already
}

/// Parts: to, space, type. A null pointer to a window is not null in general,
/// on the hardware neither.
static void buildCvta(Builder &b, const Match &m) {
  Type type = m.type(2);
  if (!operandsOf(b, type, {type}))
    return;
  uint64_t window = windowOf(m.parts[1]);
  if (type == Type::U32) {
    if (window && !m.has(0))
      b.fail("32-bit generic addresses are not supported");
    b.inst->run = moveOf(4);
    return;
  }
  b.inst->imm = static_cast<int64_t>(window);
  b.inst->flags = m.has(0);
  b.inst->run = [](Exec &x, const Inst &i) {
    const uint64_t *a = x.lanes<uint64_t>(i.a);
    auto window = static_cast<uint64_t>(i.imm);
    bool from = i.flags;
    setLanes<uint64_t>(
        x, i.d, [=](int l) { return from ? a[l] - window : a[l] + window; });
  };
}

static void buildIsSpace(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::Pred, {Type::B64}))
    return;
  b.inst->imm = static_cast<int64_t>(windowOf(m.parts[0]));
  // Another CTA's shared memory is in shared::cluster, not in shared::cta.
  if (m.is(0, ".shared") || m.is(0, ".shared::cta"))
    b.inst->flags = clusterRankShift;
  b.inst->run = [](Exec &x, const Inst &i) {
    const uint64_t *a = x.lanes<uint64_t>(i.a);
    auto window = static_cast<uint64_t>(i.imm);
    unsigned own = i.flags ? i.flags : 63;
    setMask(x, i.d, maskOf([=](int l) {
              return (a[l] & windowMask) == window &&
                     !((a[l] & ~windowMask) >> own);
            }));
  };
}

std::span<const Row> tandem::emulator::moveRows() {
#define TANDEM_SPACES                                                          \
  ".const|.global|.local|.shared|.shared::cta|.shared::cluster|.param|"        \
  ".param::entry"
  static const Row rows[] = {
      {"mov",
       ".pred|.b16|.b32|.b64|.b128|.u16|.u32|.u64|.s16|.s32|.s64|.f16|.bf16|."
       "f32|"
       ".f64",
       buildMove},
      {"cvta", ".to? " TANDEM_SPACES " .u32|.u64", buildCvta},
      {"isspacep", TANDEM_SPACES, buildIsSpace},
  };
#undef TANDEM_SPACES
  return rows;
}
