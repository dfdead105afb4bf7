//===- Approximate.cpp - ex2, lg2, rcp and the other approximations -------===//
//
// The hardware's result lies within a known distance of the exact one. A launch
// chooses which member of that envelope it gets: the nearest float, the lowest,
// the highest, or one picked by a hash of seed, instruction and operand.
// Widths are those measured on an H200 over all inputs, where the promise of
// the PTX ISA is wider or narrower. Special operands give what PTX says,
// always.
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

/// An exact value and how far a result may be from it; width 0 for special
/// operands.
struct Target {
  double value;
  double width;
};

double ulpOf(double value) {
  int exponent;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

Target evaluate(MathFunction function, double a, double b) {
  double magnitude = std::fabs(a);
  switch (function) {
  case MathFunction::Ex2: {
    double value = std::exp2(a);
    return {value, a == 0 || std::isinf(a)
                       ? 0
                       : value * 0x1p-22 * 0.6113201 /* 2^-22.71 */};
  }
  case MathFunction::Lg2: {
    double value = std::log2(a);
    if (!(a > 0) || std::isinf(a))
      return {value, 0};
    return {value, a >= 0.5 && a <= 2
                       ? 0x1p-22 * 0.9012505                      // 2^-22.15
                       : std::fabs(value) * 0x1p-22 * 0.6372803}; // 2^-22.65
  }
  case MathFunction::Rcp: {
    double value = 1 / a;
    return {value, a == 0 || std::isinf(a) ? 0 : 0.975 * ulpOf(value)};
  }
  case MathFunction::Rsqrt: {
    double value = a == 0 ? std::copysign(INFINITY, a) : 1 / std::sqrt(a);
    return {value, a == 0 || std::isinf(a)
                       ? 0
                       : std::fabs(value) * 0x1p-22 * 0.5212329}; // 2^-22.94
  }
  case MathFunction::Sqrt: {
    double value = std::sqrt(a);
    return {value, a == 0 || std::isinf(a)
                       ? 0
                       : value * 0x1p-23 * 0.8408964}; // 2^-23.25
  }
  case MathFunction::Sin:
    if (a == 0)
      return {a, 0};
    return {std::sin(a), magnitude <= 6.2831854
                             ? 0x1p-20 * 0.6830201   // 2^-20.55
                             : 0x1p-14 * 0.5987394}; // 2^-14.74
  case MathFunction::Cos:
    return {std::cos(a), a == 0 ? 0
                         : magnitude <= 6.2831854
                             ? 0x1p-20 * 0.7422618   // 2^-20.43
                             : 0x1p-14 * 0.5987394}; // 2^-14.74
  case MathFunction::Tanh: {
    double value = std::tanh(a);
    return {value, a == 0 || std::isinf(a)
                       ? 0
                       : std::fabs(value) * 0x1p-16 * 0.7269863}; // 2^-16.46
  }
  case MathFunction::Div: {
    double value = a / b;
    // div.approx promises 2 ulp, and 0 for |b| in (2^126, 2^128).
    bool special = b == 0 || a == 0 || std::isinf(a) || std::isinf(b);
    return {value, special ? 0 : 2 * ulpOf(value)};
  }
  }
  return {0, 0};
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
double within(MathFunction function, double value) {
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
  if (target.width == 0 || !std::isfinite(target.value))
    return nearest;
  double low =
      std::min(nearest, narrow(within(function, target.value - target.width),
                               Round::Up));
  double high =
      std::max(nearest, narrow(within(function, target.value + target.width),
                               Round::Down));
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
  double picked = narrow(target.value + shift * target.width, Round::Nearest);
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
    // div.approx (mode 1) gives 0 for huge divisors.
    if (F == MathFunction::Div && i.mode && std::fabs(q) > 0x1p126f &&
        !std::isinf(q) && !std::isinf(p) && p == p)
      result = std::copysign(0.0f, result);
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

// Half precision: computed from the widened operand. Widths are PTX's.
template <MathFunction F, bool Bfloat>
static uint16_t approximateHalf(const Launch &launch, uint16_t bits, bool ftz) {
  float a = Bfloat ? bfloatToFloat(bits) : halfToFloat(bits);
  if (ftz && !(bits & (Bfloat ? 0x7f80 : 0x7c00)))
    a = std::copysign(0.0f, a);
  Target target = evaluate(F, a, a);
  if (target.width != 0) {
    if (F == MathFunction::Ex2)
      target.width = target.value * (Bfloat ? 0x1p-7 : 0x1p-10 * 1.0717735);
    else
      target.width = Bfloat ? 0x1p-8 : 0x1p-11 * 1.0090518; // 2^-10.987
  }
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

/// rcp and rsqrt.approx.ftz.f64 look at the upper half of the operand and fill
/// the upper half of the result.
template <MathFunction F>
static void buildDoubleFunction(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::F64, {Type::F64}))
    return;
  b.inst->flags = m.has(1);
  b.inst->run = [](Exec &x, const Inst &i) {
    constexpr uint64_t upper = ~uint64_t(0) << 32;
    const uint64_t *a = x.lanes<uint64_t>(i.a);
    setLanes<uint64_t>(x, i.d, [&](int l) {
      uint64_t bits = i.flags ? a[l] & upper : a[l];
      if (i.flags && !(bits & 0x7ff0000000000000))
        bits &= uint64_t(1) << 63;
      double value = canonical(evaluate(F, doubleOf(bits), 0).value);
      return i.flags ? bitsOf(value) & upper : bitsOf(value);
    });
  };
}

std::span<const Row> tandem::emulator::approximateRows() {
  static const Row rows[] = {
      {"ex2", ".approx .ftz? .f32", buildApproximate<MathFunction::Ex2>,
       "relative error up to 2^-22.71"},
      {"lg2", ".approx .ftz? .f32", buildApproximate<MathFunction::Lg2>,
       "absolute error up to 2^-22.15 on [0.5, 2], relative 2^-22.65 "
       "elsewhere"},
      {"rcp", ".approx .ftz? .f32", buildApproximate<MathFunction::Rcp>,
       "up to 0.975 ulp"},
      {"rsqrt", ".approx .ftz? .f32", buildApproximate<MathFunction::Rsqrt>,
       "relative error up to 2^-22.94"},
      {"sqrt", ".approx .ftz? .f32", buildApproximate<MathFunction::Sqrt>,
       "relative error up to 2^-23.25"},
      {"sin", ".approx .ftz? .f32", buildApproximate<MathFunction::Sin>,
       "absolute error up to 2^-20.55 on +-2 pi, 2^-14.74 beyond"},
      {"cos", ".approx .ftz? .f32", buildApproximate<MathFunction::Cos>,
       "absolute error up to 2^-20.43 on +-2 pi, 2^-14.74 beyond"},
      {"tanh", ".approx .f32", buildApproximate<MathFunction::Tanh>,
       "relative error up to 2^-16.46"},
      {"div", ".approx|.full .ftz? .f32", buildDivide, "up to 2 ulp"},
      {"ex2", ".approx .f16|.f16x2", buildHalfFunction<MathFunction::Ex2>},
      {"ex2", ".approx .ftz .bf16|.bf16x2",
       buildHalfFunction<MathFunction::Ex2>},
      {"tanh", ".approx .f16|.f16x2|.bf16|.bf16x2",
       buildHalfFunction<MathFunction::Tanh>},
      {"rcp", ".approx .ftz .f64", buildDoubleFunction<MathFunction::Rcp>,
       "the upper 32 bits of the correctly rounded reciprocal"},
      {"rsqrt", ".approx .ftz? .f64", buildDoubleFunction<MathFunction::Rsqrt>},
  };
  return rows;
}
