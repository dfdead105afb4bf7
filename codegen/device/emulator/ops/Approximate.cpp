//===- Approximate.cpp - ex2, lg2, rcp and the other approximations -------===//
//
// The hardware's result lies within a known distance of the exact one. A launch
// chooses which member of that envelope it gets: the nearest float, the lowest,
// the highest, or one picked by a hash of seed, instruction and operand.
// The envelope is the tightest of its form that holds an H200 for all inputs,
// where the promise of the PTX ISA is wider or narrower. Special operands have
// one result.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Rounding.h"
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>

using namespace tandem::emulator;

namespace {
enum class MathFunction : uint8_t {
  Ex2,
  Lg2,
  Rcp,
  Rsqrt,
  Sqrt,
  Sin,
  Cos,
  Tanh,
  Div,
};

/// An exact value and how far below and above it a result may be; 0 and 0 for
/// special operands, whose value is exact.
struct Target {
  double value;
  double below = 0, above = 0;
};

/// What was measured (tests/inputs/hardware): the largest deviations downward
/// and upward, in steps of 2^-bits of max(|value|, floor). A recorded deviation
/// is rounded to a step, so half a step is added. Odd functions have them by
/// magnitude.
struct Law {
  double below, above;
  int bits;
  double floor = 0x1p-126;
  bool isOdd = false;
};
constexpr Law ex2Law = {2473, 2506, 34}, ex2SubnormalLaw = {4881, 1490, 34},
              lg2NearOneLaw = {1504, 3698, 34, 1.0},
              lg2Law = {2612, 3938, 34, 1.0}, rsqrtLaw = {2142, 2019, 34},
              sqrtLaw = {1718, 1286, 34}, turnLaw = {5845, 5845, 34, 1.0},
              rcpLaw = {1689, 1642, 34, 0x1p-126, true},
              rcpSubnormalLaw = {2017, 2010, 34, 0x1p-126, true},
              tanhLaw = {5973, 5308, 29, 0x1p-126, true},
              divLaw = {2617, 2592, 34, 0x1p-126, true},
              ex2HalfLaw = {8181, 0, 23, 0x1p-14}, ex2BfloatLaw = {8087, 0, 20},
              tanhHalfLaw = {8085, 46, 23, 0x1p-14, true},
              tanhBfloatLaw = {8123, 5, 20, 0x1p-126, true},
              rcpDoubleLaw = {8419, 8523, 33, 0x1p-1022, true},
              rsqrtDoubleLaw = {7891, 4566, 33, 0x1p-1022};

Target within(double value, const Law &law) {
  const double step =
      std::ldexp(std::max(std::fabs(value), law.floor), -law.bits);
  double below = (law.below + 0.5) * step, above = (law.above + 0.5) * step;
  if (law.isOdd && value < 0)
    std::swap(below, above);
  return {value, below, above};
}

/// sin.approx is a table of sin(2 pi t), with t = x / (2 pi) in f32, rounded
/// toward zero.
double turnOf(double x, double quarter) {
  const double product = x * double(floatOf(0x3e22f983));
  const double t = toFloat(product, Round::Zero);
  const double turn = t - std::nearbyint(t) + quarter;
  return std::sin(6.28318530717958647693 * (turn - std::nearbyint(turn)));
}

Target evaluate(MathFunction function, double a, double b) {
  switch (function) {
  case MathFunction::Ex2: {
    const double value = std::exp2(a);
    if (a == 0 || !std::isfinite(a))
      return {value};
    return within(value, value < 0x1p-126 ? ex2SubnormalLaw : ex2Law);
  }
  case MathFunction::Lg2: {
    const double value = std::log2(a);
    if (!(a > 0) || std::isinf(a))
      return {value};
    return within(value, a >= 0.5 && a <= 2 ? lg2NearOneLaw : lg2Law);
  }
  case MathFunction::Rcp: {
    const double value = 1 / a;
    if (a == 0 || !std::isfinite(a))
      return {value};
    return within(value,
                  std::fabs(value) < 0x1p-126 ? rcpSubnormalLaw : rcpLaw);
  }
  case MathFunction::Rsqrt: {
    if (a == 0 || !std::isfinite(a))
      return {a == 0 ? std::copysign(INFINITY, a) : 1 / std::sqrt(a)};
    return within(1 / std::sqrt(a), rsqrtLaw);
  }
  case MathFunction::Sqrt:
    if (a == 0 || !std::isfinite(a))
      return {std::sqrt(a)};
    return within(std::sqrt(a), sqrtLaw);
  case MathFunction::Sin:
    if (a == 0 || !std::isfinite(a))
      return {a == 0 ? a : NAN};
    return within(turnOf(a, 0), turnLaw);
  case MathFunction::Cos:
    if (a == 0 || !std::isfinite(a))
      return {a == 0 ? 1 : NAN};
    return within(turnOf(a, 0.25), turnLaw);
  case MathFunction::Tanh:
    if (a == 0 || !std::isfinite(a))
      return {std::tanh(a)};
    return within(std::tanh(a), tanhLaw);
  case MathFunction::Div: {
    const double value = a / b;
    // div.approx promises 2 ulp, and 0 for |b| in (2^126, 2^128).
    if (a == 0 || b == 0 || !std::isfinite(a) || !std::isfinite(b))
      return {value};
    return within(value, divLaw);
  }
  }
  return {0};
}

/// In [-1, 1), the same for the same seed, instruction and operands.
double hashed(uint64_t seed, uint64_t function, uint64_t operands) {
  uint64_t z =
      seed * 0x9e3779b97f4a7c15u + function * 0xbf58476d1ce4e5b9u + operands;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<double>(static_cast<int64_t>(z)) * 0x1p-63;
}

/// Functions with a bounded range never leave it.
double bounded(MathFunction function, double value) {
  bool isBounded = function == MathFunction::Sin ||
                   function == MathFunction::Cos ||
                   function == MathFunction::Tanh;
  return isBounded ? std::clamp(value, -1.0, 1.0) : value;
}

/// \p narrow rounds a double to the result type in a direction; the result is a
/// value of the type as double.
template <typename Narrow>
double choose(const Launch &launch, MathFunction function, Target target,
              uint64_t operands, Narrow narrow) {
  double nearest = narrow(target.value, Round::Nearest);
  if ((target.below == 0 && target.above == 0) || !std::isfinite(target.value))
    return nearest;
  double low =
      narrow(bounded(function, target.value - target.below), Round::Up);
  double high =
      narrow(bounded(function, target.value + target.above), Round::Down);
  if (low > high)
    return nearest;
  nearest = std::clamp(nearest, low, high);
  switch (launch.approximation) {
  case Approximation::Nearest:
    return nearest;
  case Approximation::Low:
    return low;
  case Approximation::High:
    return high;
  case Approximation::Random:
    break;
  }
  double shift = hashed(launch.options.scheduleSeed,
                        static_cast<uint64_t>(function), operands);
  double picked =
      narrow(target.value + shift * (shift < 0 ? target.below : target.above),
             Round::Nearest);
  return std::clamp(picked, low, high);
}
} // namespace

template <MathFunction F>
static void approximate(Exec &x, const Inst &i) {
  const float *a = x.lanes<float>(i.a);
  const float *b = x.lanes<float>(i.b == noSlot ? i.a : i.b);
  float values[warpSize] = {};
  bool ftz = i.flags & 1;
  forEachLane(x.active, [&](unsigned l) {
    float p = ftz ? flush(a[l]) : a[l], q = ftz ? flush(b[l]) : b[l];
    uint64_t operands = bitsOf(p);
    if (F == MathFunction::Div)
      operands |= uint64_t(bitsOf(q)) << 32;
    auto result = static_cast<float>(
        choose(*x.launch, F, evaluate(F, p, q), operands,
               [](double v, Round mode) { return double(toFloat(v, mode)); }));
    // div.approx (mode 1) multiplies by the reciprocal, 0 for huge divisors.
    if (F == MathFunction::Div && i.mode && std::fabs(q) > 0x1p126f &&
        !std::isinf(q))
      result = p == p && !std::isinf(p) ? std::copysign(0.0f, result) : NAN;
    result = canonical(result);
    values[l] = ftz ? flush(result) : result;
  });
  setLanes<float>(x, i.d, [&](int l) { return values[l]; });
}
template <MathFunction F>
static void buildApproximate(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::F32, {Type::F32}))
    return;
  b.inst->flags = m.parts.size() > 2 && m.has(1);
  b.inst->run = &approximate<F>;
}
static void buildDivide(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::F32, {Type::F32, Type::F32}))
    return;
  b.inst->flags = m.has(1);
  b.inst->mode = m.is(0, ".approx");
  b.inst->run = &approximate<MathFunction::Div>;
}

// Half precision: computed from the widened operand.
template <MathFunction F, bool Bfloat>
static uint16_t approximateHalf(const Launch &launch, uint16_t bits, bool ftz) {
  float a = Bfloat ? bfloatToFloat(bits) : halfToFloat(bits);
  if (ftz && !(bits & (Bfloat ? 0x7f80 : 0x7c00)))
    a = std::copysign(0.0f, a);
  Target target = evaluate(F, a, a);
  if (target.below != 0 || target.above != 0)
    target = within(target.value, F == MathFunction::Ex2
                                      ? (Bfloat ? ex2BfloatLaw : ex2HalfLaw)
                                      : (Bfloat ? tanhBfloatLaw : tanhHalfLaw));
  auto narrow = [](double v, Round mode) {
    return Bfloat ? double(bfloatToFloat(toBfloat(v, mode)))
                  : double(halfToFloat(toHalf(v, mode)));
  };
  double result = choose(launch, F, target, bits, narrow);
  uint16_t half = Bfloat ? toBfloat(result) : toHalf(result);
  return ftz && !(half & (Bfloat ? 0x7f80 : 0x7c00)) ? half & 0x8000 : half;
}
template <MathFunction F, bool Bfloat>
static void approximateHalves(Exec &x, const Inst &i) {
  bool ftz = i.flags & 1;
  if (i.mode == 0) {
    const uint16_t *a = x.lanes<uint16_t>(i.a);
    setLanes<uint16_t>(x, i.d, [&](int l) {
      return approximateHalf<F, Bfloat>(*x.launch, a[l], ftz);
    });
    return;
  }
  const uint32_t *a = x.lanes<uint32_t>(i.a);
  setLanes<uint32_t>(x, i.d, [&](int l) {
    uint32_t low =
        approximateHalf<F, Bfloat>(*x.launch, static_cast<uint16_t>(a[l]), ftz);
    uint32_t high = approximateHalf<F, Bfloat>(
        *x.launch, static_cast<uint16_t>(a[l] >> 16), ftz);
    return low | high << 16;
  });
}
template <MathFunction F>
static void buildHalfFunction(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  if (!operandsOf(b, type, {type}))
    return;
  b.inst->mode = typeSize(type) == 4;
  b.inst->flags = m.parts.size() > 2;
  bool isBfloat = type == Type::BF16 || type == Type::BF16x2;
  b.inst->run =
      isBfloat ? &approximateHalves<F, true> : &approximateHalves<F, false>;
}

/// To a double whose lower 32 bits are zero.
static double toUpperHalf(double value, Round mode) {
  constexpr uint64_t lower = ~uint64_t(0) >> 32;
  const uint64_t bits = bitsOf(value), rest = bits & lower;
  const bool isNegative = bits >> 63;
  const bool isAway = mode == Round::Up     ? !isNegative
                      : mode == Round::Down ? isNegative
                                            : rest > lower / 2;
  return doubleOf((bits & ~lower) + (rest && isAway ? lower + 1 : 0));
}

/// rcp and rsqrt.approx.ftz.f64 fill the upper half of the result. Without
/// .ftz, rsqrt is rounded correctly.
template <MathFunction F>
static void buildDoubleFunction(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::F64, {Type::F64}))
    return;
  b.inst->flags = m.has(1);
  b.inst->run = [](Exec &x, const Inst &i) {
    constexpr uint64_t upper = ~uint64_t(0) << 32, sign = uint64_t(1) << 63;
    constexpr uint64_t exponent = 0x7ff0000000000000;
    const uint64_t *a = x.lanes<uint64_t>(i.a);
    setLanes<uint64_t>(x, i.d, [&](int l) -> uint64_t {
      if (!i.flags) {
        const double value = evaluate(F, doubleOf(a[l]), 0).value;
        return bitsOf(value == value ? value : nanOf(doubleOf(a[l])));
      }
      uint64_t bits = a[l] & upper;
      if (!(bits & exponent))
        bits &= sign;
      // The law is that of the whole operand.
      Target target = evaluate(F, doubleOf(bits & exponent ? a[l] : bits), 0);
      if (target.below != 0)
        target = within(target.value,
                        F == MathFunction::Rcp ? rcpDoubleLaw : rsqrtDoubleLaw);
      const double value = choose(*x.launch, F, target, bits, toUpperHalf);
      if (value != value)
        return uint64_t(nanBits32) << 32;
      const uint64_t result = bitsOf(value);
      return result & exponent ? result : result & sign;
    });
  };
}

std::span<const Row> tandem::emulator::approximateRows() {
  static const Row rows[] = {
      {"ex2", ".approx .ftz? .f32", buildApproximate<MathFunction::Ex2>,
       "relative error up to 2^-22.70"},
      {"lg2", ".approx .ftz? .f32", buildApproximate<MathFunction::Lg2>,
       "absolute error up to 2^-22.14 on [0.5, 2], relative 2^-22.05 "
       "elsewhere"},
      {"rcp", ".approx .ftz? .f32", buildApproximate<MathFunction::Rcp>,
       "relative error up to 2^-23.27"},
      {"rsqrt", ".approx .ftz? .f32", buildApproximate<MathFunction::Rsqrt>,
       "relative error up to 2^-22.94"},
      {"sqrt", ".approx .ftz? .f32", buildApproximate<MathFunction::Sqrt>,
       "relative error up to 2^-23.25"},
      {"sin", ".approx .ftz? .f32", buildApproximate<MathFunction::Sin>,
       "absolute error up to 2^-21.48 of the sine of 2 pi t, t = x / (2 pi) in "
       "f32, rounded toward zero"},
      {"cos", ".approx .ftz? .f32", buildApproximate<MathFunction::Cos>,
       "as sin"},
      {"tanh", ".approx .f32", buildApproximate<MathFunction::Tanh>,
       "relative error up to 2^-16.45"},
      {"div", ".approx|.full .ftz? .f32", buildDivide,
       "relative error up to 2^-22.64"},
      {"ex2", ".approx .f16|.f16x2", buildHalfFunction<MathFunction::Ex2>,
       "truncated"},
      {"ex2", ".approx .ftz .bf16|.bf16x2",
       buildHalfFunction<MathFunction::Ex2>},
      {"tanh", ".approx .f16|.f16x2|.bf16|.bf16x2",
       buildHalfFunction<MathFunction::Tanh>},
      {"rcp", ".approx .ftz .f64", buildDoubleFunction<MathFunction::Rcp>,
       "upper 32 bits: relative error up to 2^-19.94"},
      {"rsqrt", ".approx .ftz? .f64", buildDoubleFunction<MathFunction::Rsqrt>,
       "rounded correctly; with .ftz upper 32 bits, relative error up to "
       "2^-20.05"},
  };
  return rows;
}
