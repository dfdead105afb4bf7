//===- Half.cpp - f16 and bf16 arithmetic, single and packed --------------===//
//
// Operands are widened to double, where sums, products and fused products are
// exact or rounded to odd, and the result is rounded once.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Rounding.h"
#include "codegen/device/emulator/ops/Families.h"

using namespace tandem::emulator;

namespace {
struct F16 {
  static float widen(uint16_t bits) { return halfToFloat(bits); }
  static uint16_t narrow(double value) { return toHalf(value); }
  static constexpr uint16_t exponent = 0x7c00;
  static constexpr double tiny = 0x1p-14 - 0x1p-26;
};
struct BF16 {
  static float widen(uint16_t bits) { return bfloatToFloat(bits); }
  static uint16_t narrow(double value) { return toBfloat(value); }
  static constexpr uint16_t exponent = 0x7f80;
  static constexpr double tiny = 0x1p-126 - 0x1p-135;
};

constexpr uint8_t ftzFlag = 1, satFlag = 2, nanFlag = 4, xorSignFlag = 8,
                  reluFlag = 16;

enum class HalfOp : uint8_t { Add, Sub, Mul, Fma, Min, Max, Abs, Neg };

template <typename F>
uint16_t flushHalf(uint16_t bits) {
  return bits & F::exponent ? bits : bits & 0x8000;
}

template <typename F, HalfOp Op>
uint16_t apply(uint16_t a, uint16_t b, uint16_t c, uint8_t flags) {
  if (flags & ftzFlag) {
    a = flushHalf<F>(a);
    b = flushHalf<F>(b);
    c = flushHalf<F>(c);
  }
  if constexpr (Op == HalfOp::Abs || Op == HalfOp::Neg) {
    if ((a & 0x7fff) > F::exponent)
      return nanBits16;
    return Op == HalfOp::Abs ? a & 0x7fff : a ^ 0x8000;
  }
  if constexpr (Op == HalfOp::Min || Op == HalfOp::Max) {
    bool sign = (a ^ b) & 0x8000;
    if (flags & xorSignFlag) {
      a &= 0x7fff;
      b &= 0x7fff;
    }
    bool aNan = (a & 0x7fff) > F::exponent, bNan = (b & 0x7fff) > F::exponent;
    if ((aNan && bNan) || ((flags & nanFlag) && (aNan || bNan)))
      return nanBits16;
    uint16_t result;
    if (aNan || bNan) {
      result = aNan ? b : a;
    } else {
      // Order by sign and magnitude, so that -0 is less than +0.
      auto key = [](uint16_t v) {
        return v & 0x8000 ? -int(v & 0x7fff) - 1 : int(v);
      };
      bool aLess = key(a) < key(b);
      result = aLess == (Op == HalfOp::Max) ? b : a;
    }
    return (flags & xorSignFlag) && sign ? result ^ 0x8000 : result;
  }
  double x = F::widen(a), y = F::widen(b), z = F::widen(c), result;
  if constexpr (Op == HalfOp::Add)
    result = addOdd(x, y);
  else if constexpr (Op == HalfOp::Sub)
    result = addOdd(x, -y);
  else if constexpr (Op == HalfOp::Mul)
    result = x * y;
  else
    result = addOdd(x * y, z);
  if (flags & satFlag)
    result = saturate(result);
  if ((flags & reluFlag) && result < 0)
    result = 0;
  // Tiny is what does not reach the least normal when it is rounded to as many
  // digits as a normal number has.
  if (flags & ftzFlag && std::fabs(result) < F::tiny)
    result = std::copysign(0.0, result);
  uint16_t bits = F::narrow(result);
  // -0 after relu is +0.
  if ((flags & reluFlag) && bits == 0x8000)
    bits = 0;
  return bits;
}
} // namespace

template <typename F, HalfOp Op>
static void single(Exec &x, const Inst &i) {
  const uint16_t *a = x.lanes<uint16_t>(i.a);
  const uint16_t *b = x.lanes<uint16_t>(i.b == noSlot ? i.a : i.b);
  const uint16_t *c = x.lanes<uint16_t>(i.c == noSlot ? i.a : i.c);
  setLanes<uint16_t>(
      x, i.d, [=](int l) { return apply<F, Op>(a[l], b[l], c[l], i.flags); });
}
template <typename F, HalfOp Op>
static void packed(Exec &x, const Inst &i) {
  const uint32_t *a = x.lanes<uint32_t>(i.a);
  const uint32_t *b = x.lanes<uint32_t>(i.b == noSlot ? i.a : i.b);
  const uint32_t *c = x.lanes<uint32_t>(i.c == noSlot ? i.a : i.c);
  setLanes<uint32_t>(x, i.d, [=](int l) {
    auto low = [](uint32_t v) { return static_cast<uint16_t>(v); };
    auto high = [](uint32_t v) { return static_cast<uint16_t>(v >> 16); };
    uint32_t first = apply<F, Op>(low(a[l]), low(b[l]), low(c[l]), i.flags);
    uint32_t second = apply<F, Op>(high(a[l]), high(b[l]), high(c[l]), i.flags);
    return first | second << 16;
  });
}

template <HalfOp Op>
static void buildHalf(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  bool ok = Op == HalfOp::Fma ? operandsOf(b, type, {type, type, type})
            : Op == HalfOp::Abs || Op == HalfOp::Neg
                ? operandsOf(b, type, {type})
                : operandsOf(b, type, {type, type});
  if (!ok)
    return;
  for (std::string_view part : m.parts)
    b.inst->flags |= part == ".ftz"       ? ftzFlag
                     : part == ".sat"     ? satFlag
                     : part == ".NaN"     ? nanFlag
                     : part == ".xorsign" ? xorSignFlag
                     : part == ".relu"    ? reluFlag
                                          : 0;
  switch (type) {
  case Type::F16:
    b.inst->run = &single<F16, Op>;
    break;
  case Type::F16x2:
    b.inst->run = &packed<F16, Op>;
    break;
  case Type::BF16:
    b.inst->run = &single<BF16, Op>;
    break;
  default:
    b.inst->run = &packed<BF16, Op>;
  }
}

std::span<const Row> tandem::emulator::halfRows() {
  static constexpr const char *f16 = ".rn? .ftz? .sat? .f16|.f16x2";
  static constexpr const char *bf16 = ".rn? .bf16|.bf16x2";
  static constexpr const char *extremes =
      ".ftz? .NaN? .xorsign? .abs? .f16|.f16x2|.bf16|.bf16x2";
  static const Row rows[] = {
      {"add", f16, buildHalf<HalfOp::Add>},
      {"add", bf16, buildHalf<HalfOp::Add>},
      {"sub", f16, buildHalf<HalfOp::Sub>},
      {"sub", bf16, buildHalf<HalfOp::Sub>},
      {"mul", f16, buildHalf<HalfOp::Mul>},
      {"mul", bf16, buildHalf<HalfOp::Mul>},
      {"fma", ".rn .ftz? .sat? .f16|.f16x2", buildHalf<HalfOp::Fma>},
      {"fma", ".rn .ftz? .relu .f16|.f16x2", buildHalf<HalfOp::Fma>},
      {"fma", ".rn .relu? .bf16|.bf16x2", buildHalf<HalfOp::Fma>},
      {"min", extremes, buildHalf<HalfOp::Min>},
      {"max", extremes, buildHalf<HalfOp::Max>},
      {"abs", ".ftz? .f16|.f16x2|.bf16|.bf16x2", buildHalf<HalfOp::Abs>},
      {"neg", ".ftz? .f16|.f16x2|.bf16|.bf16x2", buildHalf<HalfOp::Neg>},
  };
  return rows;
}
