//===- Convert.cpp - cvt --------------------------------------------------===//
//
// Any type to any type goes through an exact value: a 128-bit integer, or a
// double (every float format fits). The pairs that kernels are full of have
// loops of their own that vectorise.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/ops/Convert.h"

#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace tandem::emulator;
using namespace tandem::emulator::convert;

namespace {

bool isFloatType(Type type) {
  switch (type) {
  case Type::F16:
  case Type::BF16:
  case Type::F32:
  case Type::F64:
  case Type::TF32:
    return true;
  default:
    return false;
  }
}
bool isSignedType(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}

/// `rni` and kind: to an integral value.
double roundIntegral(double value, Round mode) {
  switch (mode) {
  case Round::Zero:
    return std::trunc(value);
  case Round::Down:
    return std::floor(value);
  case Round::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

uint64_t floatToInteger(double value, Type from, Type to, Round mode) {
  unsigned bits = typeSize(to) * 8;
  bool isSigned = isSignedType(to);
  // NaN: 0, or the most negative value where f64 or 64 bits take part.
  if (value != value)
    return from == Type::F64 || bits == 64 ? uint64_t(1) << (bits - 1) : 0;
  double rounded = roundIntegral(value, mode);
  double high = std::ldexp(1.0, static_cast<int>(isSigned ? bits - 1 : bits));
  double low = isSigned ? -high : 0;
  uint64_t most = isSigned
                      ? (uint64_t(1) << (bits - 1)) - 1
                      : (bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1);
  if (rounded >= high)
    return most;
  if (rounded <= low)
    return isSigned ? ~uint64_t(0) << (bits - 1) : 0;
  return isSigned ? static_cast<uint64_t>(static_cast<int64_t>(rounded))
                  : static_cast<uint64_t>(rounded);
}

/// An integer as a double, rounded to odd.
double integerToOdd(__int128 value) {
  bool negative = value < 0;
  auto magnitude = static_cast<uint64_t>(negative ? -value : value);
  int extra = std::max(0, 11 - std::countl_zero(magnitude));
  bool sticky = magnitude & ((uint64_t(1) << extra) - 1);
  uint64_t kept = (magnitude >> extra) | (sticky ? 1 : 0);
  double result = std::ldexp(static_cast<double>(kept), extra);
  return negative ? -result : result;
}

double decode(uint64_t bits, Type from, uint8_t flags) {
  switch (from) {
  case Type::F16:
    return halfToFloat(static_cast<uint16_t>(bits));
  case Type::BF16:
    return bfloatToFloat(static_cast<uint16_t>(bits));
  case Type::F32:
  case Type::TF32: {
    float single = floatOf(static_cast<uint32_t>(bits));
    return flags & ftzFlag ? flush(single) : single;
  }
  default:
    return doubleOf(bits);
  }
}

/// A lane of a register of \p size bytes.
uint64_t loadLane(const char *lanes, unsigned size, unsigned lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, lanes + size * lane, size);
  return bits;
}
uint64_t extend(uint64_t bits, Type type) {
  unsigned shift = 64 - 8 * typeSize(type);
  if (isSignedType(type))
    return static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
  return bits << shift >> shift;
}
} // namespace

uint64_t convert::encode(double value, Type to, Round mode, uint8_t flags) {
  if (flags & satFlag)
    value = saturate(value);
  if ((flags & reluFlag) && value <= 0)
    value = 0;
  switch (to) {
  case Type::F16: {
    uint16_t half = toHalf(value, mode);
    if ((flags & finiteFlag) && (half & 0x7fff) == 0x7c00)
      half = static_cast<uint16_t>((half & 0x8000) | 0x7bff);
    return half;
  }
  case Type::BF16: {
    uint16_t half = toBfloat(value, mode);
    if ((flags & finiteFlag) && (half & 0x7fff) == 0x7f80)
      half = static_cast<uint16_t>((half & 0x8000) | 0x7f7f);
    return half;
  }
  case Type::TF32:
    return value != value ? nanBits32 : encodeFloat(value, 8, 10, mode) << 13;
  case Type::F32: {
    float single = canonical(toFloat(value, mode));
    return bitsOf(flags & ftzFlag ? flush(single) : single);
  }
  default:
    return bitsOf(canonical(value));
  }
}
/// A NaN keeps its payload from and to f64 and by .rna.tf32, and is the only
/// one otherwise.
static uint64_t convertNan(double value, Type from, Type to, Round mode) {
  const uint64_t bits = bitsOf(value), quiet = uint64_t(1) << 51;
  const uint64_t fraction = (bits & (2 * quiet - 1)) | quiet;
  switch (to) {
  case Type::F64:
    return bits | quiet;
  case Type::TF32:
    if (mode != Round::NearestAway)
      return nanBits32 & ~uint32_t(0x1fff);
    return bits >> 63 << 31 | 0x7f800000 | (fraction >> 29 & 0x7fe000);
  case Type::F32:
    return from == Type::F64 ? bits >> 63 << 31 | 0x7f800000 | fraction >> 29
                             : nanBits32;
  case Type::F16:
    return from == Type::F64 ? bits >> 63 << 15 | 0x7c00 | fraction >> 42
                             : nanBits16;
  default:
    return nanBits16;
  }
}
static uint64_t convertBits(uint64_t bits, Type from, Type to, Round mode,
                            uint8_t flags) {
  if (isFloatType(from)) {
    double value = decode(bits, from, flags);
    if (!isFloatType(to))
      return floatToInteger(value, from, to, mode);
    if (flags & integralFlag) {
      value = roundIntegral(value, mode);
      mode = Round::Nearest;
    }
    // Equal formats keep the value; only sat, ftz and integral change it.
    if (value != value && !(flags & (satFlag | reluFlag)))
      return convertNan(value, from, to, mode);
    return encode(value, to, mode, flags);
  }
  uint64_t extended = extend(bits, from);
  __int128 value = isSignedType(from)
                       ? static_cast<__int128>(static_cast<int64_t>(extended))
                       : static_cast<__int128>(extended);
  if (isFloatType(to)) {
    if (to != Type::F64 || mode == Round::Nearest) {
      if (to == Type::F64)
        return bitsOf(static_cast<double>(value));
      return encode(integerToOdd(value), to, mode, flags);
    }
    auto nearest = static_cast<double>(value);
    // 2^64 does not fit where doubles of uint64_t round up to it: compare wide.
    auto back = static_cast<__int128>(nearest);
    bool toZero = mode == Round::Zero;
    if (back > value && (mode == Round::Down || (toZero && value > 0)))
      nearest = std::nextafter(nearest, -INFINITY);
    if (back < value && (mode == Round::Up || (toZero && value < 0)))
      nearest = std::nextafter(nearest, INFINITY);
    return bitsOf(nearest);
  }
  if (flags & satFlag) {
    unsigned width = typeSize(to) * 8;
    __int128 one = 1;
    __int128 most = (one << (isSignedType(to) ? width - 1 : width)) - 1;
    __int128 least = isSignedType(to) ? -(one << (width - 1)) : 0;
    value = std::clamp(value, least, most);
  }
  return static_cast<uint64_t>(value);
}

// mode: rounding; size, count: bytes of source and target registers; imm:
// types.
static void convertAny(Exec &x, const Inst &i) {
  auto from = static_cast<Type>(i.imm & 255);
  auto to = static_cast<Type>(i.imm >> 8 & 255);
  const char *a = x.lanes<char>(i.a);
  char *d = x.lanes<char>(i.d);
  uint64_t values[warpSize];
  forEachLane(x.active, [&](unsigned l) {
    uint64_t bits = extend(loadLane(a, i.size, l), from);
    bits = convertBits(bits, from, to, static_cast<Round>(i.mode), i.flags);
    // A wider register takes the value extended by its type.
    values[l] = extend(bits, to);
  });
  forEachLane(x.active, [&](unsigned l) {
    std::memcpy(d + i.count * l, &values[l], i.count);
  });
}

template <typename D, typename S>
static void convertInteger(Exec &x, const Inst &i) {
  const S *a = x.lanes<S>(i.a);
  setLanes<D>(x, i.d, [=](int l) { return static_cast<D>(a[l]); });
}
static void widenHalf(Exec &x, const Inst &i) {
  const uint16_t *a = x.lanes<uint16_t>(i.a);
  setLanes<float>(x, i.d, [=](int l) { return canonical(halfToFloat(a[l])); });
}
static void widenBfloat(Exec &x, const Inst &i) {
  const uint16_t *a = x.lanes<uint16_t>(i.a);
  // A shift, whatever the bits mean.
  setLanes<uint32_t>(x, i.d, [=](int l) { return uint32_t(a[l]) << 16; });
}
static void narrowHalf(Exec &x, const Inst &i) {
  const float *a = x.lanes<float>(i.a);
  setLanes<uint16_t>(x, i.d, [=](int l) { return floatToHalf(a[l]); });
}
static void narrowBfloat(Exec &x, const Inst &i) {
  const float *a = x.lanes<float>(i.a);
  setLanes<uint16_t>(x, i.d, [=](int l) { return floatToBfloat(a[l]); });
}

static Handler integerPair(Type to, Type from) {
  // Only sizes and the source's sign matter.
  auto target = [&]<typename S>() -> Handler {
    switch (typeSize(to)) {
    case 2:
      return &convertInteger<uint16_t, S>;
    case 4:
      return &convertInteger<uint32_t, S>;
    case 8:
      return &convertInteger<uint64_t, S>;
    default:
      return nullptr;
    }
  };
  switch (from) {
  case Type::S16:
    return target.template operator()<int16_t>();
  case Type::U16:
    return target.template operator()<uint16_t>();
  case Type::S32:
    return target.template operator()<int32_t>();
  case Type::U32:
    return target.template operator()<uint32_t>();
  case Type::S64:
  case Type::U64:
    return target.template operator()<uint64_t>();
  default:
    return nullptr;
  }
}

static Handler fastConvert(Type to, Type from, const Inst &inst) {
  if (inst.size != typeSize(from) || inst.count != typeSize(to))
    return nullptr;
  auto mode = static_cast<Round>(inst.mode);
  if (!isFloatType(to) && !isFloatType(from))
    return inst.flags & satFlag ? nullptr : integerPair(to, from);
  if (inst.flags || mode != Round::Nearest)
    return nullptr;
  if (to == Type::F32 && from == Type::S32)
    return &convertInteger<float, int32_t>;
  if (to == Type::F32 && from == Type::U32)
    return &convertInteger<float, uint32_t>;
  if (to == Type::F32 && from == Type::F16)
    return widenHalf;
  if (to == Type::F32 && from == Type::BF16)
    return widenBfloat;
  if (to == Type::F16 && from == Type::F32)
    return narrowHalf;
  if (to == Type::BF16 && from == Type::F32)
    return narrowBfloat;
  return nullptr;
}

/// Parts: rounding, ftz, relu/satfinite, sat, to, from.
static void buildConvert(Builder &b, const Match &m) {
  if (!b.expect(2))
    return;
  Type to = m.type(4), from = m.type(5);
  unsigned fromSize = 0, toSize = 0;
  b.inst->a = b.readWide(1, from, fromSize);
  b.inst->d = b.writeWide(0, to, toSize);
  std::string_view rounding = m.parts[0];
  bool isIntegral = rounding.ends_with('i');
  bool fromFloat = isFloatType(from), toFloat = isFloatType(to);
  // Narrowing and int to float need a rounding; float to int an integral one.
  if (fromFloat && !toFloat && !isIntegral) {
    b.fail(cat("'", b.ast->text(), "' needs .rni, .rzi, .rmi or .rpi"));
    return;
  }
  bool rounds = toFloat && (!fromFloat || typeSize(to) < typeSize(from) ||
                            (typeSize(to) == 2 && to != from));
  if (rounds && rounding.empty()) {
    b.fail(cat("'", b.ast->text(), "' needs a rounding modifier"));
    return;
  }
  b.inst->mode = static_cast<uint8_t>(roundNamed(rounding));
  for (std::string_view part : m.parts)
    b.inst->flags |= part == ".ftz"         ? ftzFlag
                     : part == ".sat"       ? satFlag
                     : part == ".relu"      ? reluFlag
                     : part == ".satfinite" ? finiteFlag
                                            : 0;
  if (isIntegral && toFloat)
    b.inst->flags |= integralFlag;
  b.inst->size = static_cast<uint8_t>(fromSize);
  b.inst->count = static_cast<uint8_t>(toSize);
  b.inst->imm = static_cast<int64_t>(from) | static_cast<int64_t>(to) << 8;
  Handler fast = fastConvert(to, from, *b.inst);
  b.inst->run = fast ? fast : convertAny;
}

std::span<const Row> tandem::emulator::convertRows() {
#define TANDEM_ALL ".u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f16|.bf16|.f32|.f64"
  static const Row rows[] = {
      {"cvt",
       ".rn|.rz|.rm|.rp|.rna|.rni|.rzi|.rmi|.rpi? .ftz? .relu|.satfinite? "
       ".sat? " TANDEM_ALL "|.tf32 " TANDEM_ALL,
       buildConvert},
  };
#undef TANDEM_ALL
  return rows;
}
