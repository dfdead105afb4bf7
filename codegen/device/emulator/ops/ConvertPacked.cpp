//===- ConvertPacked.cpp - cvt of pairs -----------------------------------===//
#include "codegen/device/emulator/ops/Convert.h"
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>

using namespace tandem::emulator;
using namespace tandem::emulator::convert;

/// Two floats to a pair: a becomes the upper half. Parts: rounding, relu,
/// satfinite, to.
static void buildPack(Builder &b, const Match &m) {
  Type to = m.type(3);
  if (!operandsOf(b, to, {Type::F32, Type::F32}))
    return;
  b.inst->mode = static_cast<uint8_t>(roundNamed(m.parts[0]));
  b.inst->flags = static_cast<uint8_t>((m.has(1) ? reluFlag : 0) |
                                       (m.has(2) ? finiteFlag : 0));
  b.inst->imm =
      static_cast<int64_t>(to == Type::F16x2 ? Type::F16 : Type::BF16);
  b.inst->run = [](Exec &x, const Inst &i) {
    const float *a = x.lanes<float>(i.a);
    const float *b = x.lanes<float>(i.b);
    auto to = static_cast<Type>(i.imm);
    auto mode = static_cast<Round>(i.mode);
    if (!i.flags && mode == Round::Nearest) {
      bool isHalf = to == Type::F16;
      setLanes<uint32_t>(x, i.d, [=](int l) {
        uint32_t high = isHalf ? floatToHalf(a[l]) : floatToBfloat(a[l]);
        uint32_t low = isHalf ? floatToHalf(b[l]) : floatToBfloat(b[l]);
        return high << 16 | low;
      });
      return;
    }
    setLanes<uint32_t>(x, i.d, [=](int l) {
      auto high = static_cast<uint32_t>(encode(a[l], to, mode, i.flags));
      auto low = static_cast<uint32_t>(encode(b[l], to, mode, i.flags));
      return high << 16 | low;
    });
  };
}

/// Two floats to two bytes of e4m3 or e5m2.
static void buildPackBytes(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::B16, {Type::F32, Type::F32}))
    return;
  b.inst->mode = m.is(3, ".e4m3x2");
  b.inst->flags = m.has(2);
  b.inst->run = [](Exec &x, const Inst &i) {
    const float *a = x.lanes<float>(i.a);
    const float *b = x.lanes<float>(i.b);
    setLanes<uint16_t>(x, i.d, [=](int l) {
      auto one = [&](double v) -> uint8_t {
        if (i.flags && v <= 0)
          v = 0;
        return i.mode ? toE4m3(v) : toE5m2(v);
      };
      return static_cast<uint16_t>(one(a[l]) << 8 | one(b[l]));
    });
  };
}
static void buildPackHalves(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::B16, {Type::B32}))
    return;
  b.inst->mode = m.is(3, ".e4m3x2");
  b.inst->flags = m.has(2);
  b.inst->run = [](Exec &x, const Inst &i) {
    const uint32_t *a = x.lanes<uint32_t>(i.a);
    setLanes<uint16_t>(x, i.d, [=](int l) {
      auto one = [&](double v) -> uint8_t {
        if (i.flags && v <= 0)
          v = 0;
        return i.mode ? toE4m3(v) : toE5m2(v);
      };
      double high = halfToFloat(static_cast<uint16_t>(a[l] >> 16));
      double low = halfToFloat(static_cast<uint16_t>(a[l]));
      return static_cast<uint16_t>(one(high) << 8 | one(low));
    });
  };
}
static void buildUnpackBytes(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::B32, {Type::B16}))
    return;
  b.inst->mode = m.is(3, ".e4m3x2");
  b.inst->flags = m.has(1);
  b.inst->run = [](Exec &x, const Inst &i) {
    const uint16_t *a = x.lanes<uint16_t>(i.a);
    setLanes<uint32_t>(x, i.d, [=](int l) {
      auto one = [&](uint8_t code) -> uint32_t {
        float v = i.mode ? e4m3ToFloat(code) : e5m2ToFloat(code);
        if (i.flags && v <= 0)
          v = 0;
        return floatToHalf(v);
      };
      return one(static_cast<uint8_t>(a[l] >> 8)) << 16 |
             one(static_cast<uint8_t>(a[l]));
    });
  };
}

/// Saturates a and b into the low half of d (bytes, above them the low half of
/// c) or both halves.
static void buildSaturatedPack(Builder &b, const Match &m) {
  bool isByte = m.is(2, ".u8") || m.is(2, ".s8");
  bool isSigned = m.is(2, ".s8") || m.is(2, ".s16");
  bool ok = isByte ? operandsOf(b, Type::B32, {Type::S32, Type::S32, Type::B32})
                   : operandsOf(b, Type::B32, {Type::S32, Type::S32});
  if (!ok)
    return;
  b.inst->size = isByte ? 8 : 16;
  b.inst->flags = isSigned;
  b.inst->run = [](Exec &x, const Inst &i) {
    const int32_t *a = x.lanes<int32_t>(i.a);
    const int32_t *b = x.lanes<int32_t>(i.b);
    const uint32_t *c = i.c == noSlot ? nullptr : x.lanes<uint32_t>(i.c);
    int32_t most = (1 << (i.size - i.flags)) - 1;
    int32_t least = i.flags ? -most - 1 : 0;
    uint32_t mask = (1u << i.size) - 1;
    setLanes<uint32_t>(x, i.d, [=](int l) {
      auto one = [&](int32_t v) {
        return static_cast<uint32_t>(std::min(std::max(v, least), most)) & mask;
      };
      uint32_t low = one(a[l]) << i.size | one(b[l]);
      return c ? c[l] << 16 | low : low;
    });
  };
}

std::span<const Row> tandem::emulator::packedConvertRows() {
  static const Row rows[] = {
      {"cvt", ".rn|.rz .relu? .satfinite? .f16x2|.bf16x2 .f32", buildPack},
      {"cvt", ".rn .satfinite .relu? .e4m3x2|.e5m2x2 .f32", buildPackBytes},
      {"cvt", ".rn .satfinite .relu? .e4m3x2|.e5m2x2 .f16x2", buildPackHalves},
      {"cvt", ".rn .relu? .f16x2 .e4m3x2|.e5m2x2", buildUnpackBytes},
      {"cvt", ".pack .sat .u16|.s16 .s32", buildSaturatedPack},
      {"cvt", ".pack .sat .u8|.s8 .s32 .b32", buildSaturatedPack},
  };
  return rows;
}
