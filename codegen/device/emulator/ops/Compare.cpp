//===- Compare.cpp - setp, set, selp, slct --------------------------------===//
#include "codegen/device/emulator/Rounding.h"
#include "codegen/device/emulator/ops/Families.h"

using namespace tandem::emulator;

namespace {
using CompareFunction = uint32_t (*)(Exec &, const Inst &);

enum class Relation : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

template <Relation R, typename T>
bool holds(T a, T b) {
  if constexpr (R == Relation::Eq)
    return a == b;
  else if constexpr (R == Relation::Ne)
    return a != b;
  else if constexpr (R == Relation::Lt)
    return a < b;
  else if constexpr (R == Relation::Le)
    return a <= b;
  else if constexpr (R == Relation::Gt)
    return a > b;
  else
    return a >= b;
}

// How an element is read from its register.
template <typename T>
struct Plain {
  using Stored = T;
  static T load(T value, bool) { return value; }
};
struct Single {
  using Stored = float;
  static float load(float value, bool ftz) {
    return ftz ? flush(value) : value;
  }
};
struct Half {
  using Stored = uint16_t;
  static float load(uint16_t bits, bool ftz) {
    return ftz && !(bits & 0x7c00) ? 0.0f : halfToFloat(bits);
  }
};
struct Bfloat {
  using Stored = uint16_t;
  static float load(uint16_t bits, bool ftz) { return bfloatToFloat(bits); }
};

constexpr uint8_t ftzFlag = 1;

template <Relation R, typename L>
uint32_t compareOrdered(Exec &x, const Inst &i) {
  const auto *a = x.lanes<typename L::Stored>(i.a);
  const auto *b = x.lanes<typename L::Stored>(i.b);
  bool ftz = i.flags & ftzFlag;
  return maskOf([=](int l) {
    auto p = L::load(a[l], ftz);
    auto q = L::load(b[l], ftz);
    // Ordered: a NaN makes it false, `ne` included.
    if constexpr (R == Relation::Ne && !std::is_integral_v<decltype(p)>)
      return p < q || p > q;
    else
      return holds<R>(p, q);
  });
}
template <typename L>
uint32_t unordered(Exec &x, const Inst &i) {
  const auto *a = x.lanes<typename L::Stored>(i.a);
  const auto *b = x.lanes<typename L::Stored>(i.b);
  return maskOf([=](int l) {
    auto p = L::load(a[l], false);
    auto q = L::load(b[l], false);
    return p != p || q != q;
  });
}
template <Relation R, typename L>
uint32_t compareUnordered(Exec &x, const Inst &i) {
  return compareOrdered<R, L>(x, i) | unordered<L>(x, i);
}
template <typename L>
uint32_t bothNumbers(Exec &x, const Inst &i) {
  return ~unordered<L>(x, i);
}

template <typename L>
CompareFunction orderedFunction(std::string_view name) {
  if (name == ".eq")
    return compareOrdered<Relation::Eq, L>;
  if (name == ".ne")
    return compareOrdered<Relation::Ne, L>;
  if (name == ".lt" || name == ".lo")
    return compareOrdered<Relation::Lt, L>;
  if (name == ".le" || name == ".ls")
    return compareOrdered<Relation::Le, L>;
  if (name == ".gt" || name == ".hi")
    return compareOrdered<Relation::Gt, L>;
  if (name == ".ge" || name == ".hs")
    return compareOrdered<Relation::Ge, L>;
  return nullptr;
}
template <typename L>
CompareFunction floatFunction(std::string_view name) {
  if (CompareFunction ordered = orderedFunction<L>(name))
    return ordered;
  if (name == ".equ")
    return compareUnordered<Relation::Eq, L>;
  if (name == ".neu")
    return compareUnordered<Relation::Ne, L>;
  if (name == ".ltu")
    return compareUnordered<Relation::Lt, L>;
  if (name == ".leu")
    return compareUnordered<Relation::Le, L>;
  if (name == ".gtu")
    return compareUnordered<Relation::Gt, L>;
  if (name == ".geu")
    return compareUnordered<Relation::Ge, L>;
  if (name == ".num")
    return bothNumbers<L>;
  return unordered<L>; // .nan
}
CompareFunction compareFunction(std::string_view name, Type type) {
  switch (type) {
  case Type::F32:
    return floatFunction<Single>(name);
  case Type::F64:
    return floatFunction<Plain<double>>(name);
  case Type::F16:
    return floatFunction<Half>(name);
  case Type::BF16:
    return floatFunction<Bfloat>(name);
  case Type::S16:
    return orderedFunction<Plain<int16_t>>(name);
  case Type::S32:
    return orderedFunction<Plain<int32_t>>(name);
  case Type::S64:
    return orderedFunction<Plain<int64_t>>(name);
  case Type::B16:
  case Type::U16:
    return orderedFunction<Plain<uint16_t>>(name);
  case Type::B64:
  case Type::U64:
    return orderedFunction<Plain<uint64_t>>(name);
  default:
    return orderedFunction<Plain<uint32_t>>(name);
  }
}

enum class Combine : uint8_t { None, And, Or, Xor };

uint32_t combine(Combine how, uint32_t a, uint32_t b) {
  switch (how) {
  case Combine::And:
    return a & b;
  case Combine::Or:
    return a | b;
  case Combine::Xor:
    return a ^ b;
  case Combine::None:
    break;
  }
  return a;
}
Combine combineNamed(std::string_view name) {
  return name == ".and"   ? Combine::And
         : name == ".or"  ? Combine::Or
         : name == ".xor" ? Combine::Xor
                          : Combine::None;
}
} // namespace

static CompareFunction functionOf(const Inst &i) {
  return reinterpret_cast<CompareFunction>(static_cast<intptr_t>(i.imm));
}

// d: p; e: q or none; c: the predicate to combine with, negated if flags & 2.
static void setp(Exec &x, const Inst &i) {
  uint32_t t = functionOf(i)(x, i);
  auto how = static_cast<Combine>(i.mode);
  uint32_t c = i.c == noSlot ? 0 : x.mask(i.c) ^ (i.flags & 2 ? ~0u : 0);
  setMask(x, i.d, combine(how, t, c));
  if (i.e != noSlot)
    setMask(x, i.e, combine(how, ~t, c));
}
// The common form: one result, nothing to combine.
static void setpPlain(Exec &x, const Inst &i) {
  setMask(x, i.d, functionOf(i)(x, i));
}

/// Parts: comparison, boolean, ftz, type.
static void buildSetp(Builder &b, const Match &m) {
  Type type = m.type(3);
  bool hasPair = b.ast->pairAt == 1;
  size_t first = hasPair ? 2 : 1;
  Combine how = combineNamed(m.parts[1]);
  if (!b.expect(first + (how == Combine::None ? 2 : 3)))
    return;
  b.inst->a = b.read(first, type);
  b.inst->b = b.read(first + 1, type);
  if (how != Combine::None) {
    b.inst->c = b.readPredicate(first + 2);
    b.inst->flags |= b.operand(first + 2).negated ? 2 : 0;
  }
  b.inst->flags |= m.has(2) ? ftzFlag : 0;
  b.inst->mode = static_cast<uint8_t>(how);
  b.inst->d = b.writePredicate(0);
  if (hasPair)
    b.inst->e = b.writePredicate(1);
  CompareFunction function = compareFunction(m.parts[0], type);
  if (!function) {
    b.fail(cat("comparison '", m.parts[0], "' has no meaning for '", m.parts[3],
               "'"));
    return;
  }
  b.inst->imm = reinterpret_cast<intptr_t>(function);
  b.inst->run = how == Combine::None && !hasPair ? setpPlain : setp;
}

/// set: 1.0, all ones (or one for .u16 predicates in integer form) if true.
static void buildSet(Builder &b, const Match &m) {
  Type from = m.type(4), to = m.type(3);
  Combine how = combineNamed(m.parts[1]);
  if (!b.expect(how == Combine::None ? 3 : 4))
    return;
  b.inst->a = b.read(1, from);
  b.inst->b = b.read(2, from);
  if (how != Combine::None) {
    b.inst->c = b.readPredicate(3);
    b.inst->flags |= b.operand(3).negated ? 2 : 0;
  }
  b.inst->flags |= m.has(2) ? ftzFlag : 0;
  b.inst->mode = static_cast<uint8_t>(how);
  b.inst->d = b.write(0, to);
  b.inst->extra = to == Type::F32;
  CompareFunction function = compareFunction(m.parts[0], from);
  if (!function) {
    b.fail(cat("comparison '", m.parts[0], "' has no meaning for '", m.parts[4],
               "'"));
    return;
  }
  b.inst->imm = reinterpret_cast<intptr_t>(function);
  b.inst->run = [](Exec &x, const Inst &i) {
    uint32_t c = i.c == noSlot ? 0 : x.mask(i.c) ^ (i.flags & 2 ? ~0u : 0);
    uint32_t t = combine(static_cast<Combine>(i.mode), functionOf(i)(x, i), c);
    uint32_t yes = i.extra ? 0x3f800000 : ~0u;
    setLanes<uint32_t>(x, i.d, [=](int l) { return t >> l & 1 ? yes : 0u; });
  };
}

template <typename T>
static void selp(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  const T *b = x.lanes<T>(i.b);
  uint32_t p = x.mask(i.c) ^ (i.flags ? ~0u : 0);
  setLanes<T>(x, i.d, [=](int l) { return p >> l & 1 ? a[l] : b[l]; });
}
static void buildSelp(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (!operandsOf(b, type, {type, type, Type::Pred}))
    return;
  b.inst->flags = b.operand(3).negated;
  b.inst->run = typeSize(type) == 8   ? &selp<uint64_t>
                : typeSize(type) == 4 ? &selp<uint32_t>
                                      : &selp<uint16_t>;
}

template <typename T, typename C>
static void slct(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  const T *b = x.lanes<T>(i.b);
  const C *c = x.lanes<C>(i.c);
  bool ftz = i.flags;
  setLanes<T>(x, i.d, [=](int l) {
    C value = c[l];
    if constexpr (std::is_same_v<C, float>)
      value = ftz ? flush(value) : value;
    return value >= 0 ? a[l] : b[l];
  });
}
static void buildSlct(Builder &b, const Match &m) {
  Type type = m.type(1), chooser = m.type(2);
  if (!operandsOf(b, type, {type, type, chooser}))
    return;
  b.inst->flags = m.has(0);
  bool isFloat = chooser == Type::F32;
  switch (typeSize(type)) {
  case 8:
    b.inst->run = isFloat ? &slct<uint64_t, float> : &slct<uint64_t, int32_t>;
    break;
  case 4:
    b.inst->run = isFloat ? &slct<uint32_t, float> : &slct<uint32_t, int32_t>;
    break;
  default:
    b.inst->run = isFloat ? &slct<uint16_t, float> : &slct<uint16_t, int32_t>;
  }
}

std::span<const Row> tandem::emulator::compareRows() {
#define TANDEM_COMPARISONS                                                     \
  ".eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs|.equ|.neu|.ltu|.leu|.gtu|.geu|."    \
  "num|.nan "
  static const Row rows[] = {
      {"setp",
       TANDEM_COMPARISONS ".and|.or|.xor? .ftz? "
                          ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f16|"
                          ".bf16|.f32|.f64",
       buildSetp},
      {"set",
       TANDEM_COMPARISONS ".and|.or|.xor? .ftz? .u32|.s32|.f32 "
                          ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|"
                          ".f64",
       buildSet},
      {"selp",
       ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f16|.bf16|.f32|.f64",
       buildSelp},
      {"slct",
       ".ftz? .b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64 .s32|.f32",
       buildSlct},
  };
#undef TANDEM_COMPARISONS
  return rows;
}
