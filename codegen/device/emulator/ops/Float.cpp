//===- Float.cpp - Single and double precision arithmetic -----------------===//
//
// Plain `add`, `sub` and `mul` without a rounding modifier round to nearest;
// ptxas may fuse them, this interpreter does not.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Rounding.h"
#include "codegen/device/emulator/ops/Families.h"

#include <cfenv>

using namespace tandem::emulator;

namespace {
enum class FloatOp : uint8_t { Add, Sub, Mul, Fma, Div, Sqrt, Rcp };

template <FloatOp Op, typename T>
T nearestResult(T a, T b, T c) {
  if constexpr (Op == FloatOp::Add)
    return a + b;
  else if constexpr (Op == FloatOp::Sub)
    return a - b;
  else if constexpr (Op == FloatOp::Mul)
    return a * b;
  else if constexpr (Op == FloatOp::Fma)
    return std::is_same_v<T, float> ? T(__builtin_fmaf(a, b, c))
                                    : T(__builtin_fma(a, b, c));
  else if constexpr (Op == FloatOp::Div)
    return a / b;
  else if constexpr (Op == FloatOp::Sqrt)
    return std::sqrt(a);
  else
    return T(1) / a;
}

template <FloatOp Op>
float directedResult(float a, float b, float c, Round mode) {
  double x = a, y = b, z = c, exact;
  if constexpr (Op == FloatOp::Sub)
    y = -y;
  if constexpr (Op == FloatOp::Add || Op == FloatOp::Sub) {
    exact = addOdd(x, y);
    // x - x is -0 when rounding down, unless both zeros are +0.
    if (exact == 0 && mode == Round::Down && !(x == 0 && y == 0))
      return -0.0f;
    if (exact == 0 && mode == Round::Down && std::signbit(x) != std::signbit(y))
      return -0.0f;
  } else if constexpr (Op == FloatOp::Mul) {
    exact = x * y;
  } else if constexpr (Op == FloatOp::Fma) {
    double product = x * y;
    exact = addOdd(product, z);
    if (exact == 0 && mode == Round::Down &&
        std::signbit(product) != std::signbit(z))
      return -0.0f;
  } else if constexpr (Op == FloatOp::Div) {
    exact = divideOdd(x, y);
  } else if constexpr (Op == FloatOp::Sqrt) {
    exact = sqrtOdd(x);
  } else {
    exact = divideOdd(1.0, x);
  }
  return toFloat(exact, mode);
}

/// Double has no wider format to work in, and directed double arithmetic is
/// rare: the processor's mode is set for one operation.
template <FloatOp Op>
double directedResult(double a, double b, double c, Round mode) {
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                  FE_UPWARD, FE_TONEAREST};
  volatile double x = a, y = b, z = c, result;
  std::fesetround(modes[static_cast<int>(mode)]);
  result = nearestResult<Op, double>(x, y, z);
  std::fesetround(FE_TONEAREST);
  return result;
}

constexpr uint8_t ftzFlag = 1, satFlag = 2;

/// The NaN that the hardware makes of a NaN.
template <FloatOp Op>
float settle(float result, float, float, float) {
  return canonical(result);
}
template <FloatOp Op>
double settle(double result, double a, double b, double c) {
  if (result == result)
    return result;
  return Op == FloatOp::Fma                          ? nanOf(a, c, b)
         : Op == FloatOp::Sqrt || Op == FloatOp::Rcp ? nanOf(a)
         : Op == FloatOp::Div                        ? nanOf(b, a)
                                                     : nanOf(a, b);
}
} // namespace

// Inst::mode is the rounding, Inst::flags has ftz and sat.
template <FloatOp Op, typename T, uint8_t Flags>
static void nearest(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  const T *b = x.lanes<T>(i.b == noSlot ? i.a : i.b);
  const T *c = x.lanes<T>(i.c == noSlot ? i.a : i.c);
  setLanes<T>(x, i.d, [=](int l) {
    T p = a[l], q = b[l], r = c[l];
    if constexpr (Flags & ftzFlag) {
      p = flush(p);
      q = flush(q);
      r = flush(r);
    }
    T result = settle<Op>(nearestResult<Op, T>(p, q, r), p, q, r);
    if constexpr (Flags & ftzFlag)
      result = flush(result);
    if constexpr (Flags & satFlag)
      result = saturate(result);
    return result;
  });
}
template <FloatOp Op, typename T>
static void directed(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  const T *b = x.lanes<T>(i.b == noSlot ? i.a : i.b);
  const T *c = x.lanes<T>(i.c == noSlot ? i.a : i.c);
  auto mode = static_cast<Round>(i.mode);
  T values[warpSize] = {};
  forEachLane(x.active, [&](unsigned l) {
    T p = a[l], q = b[l], r = c[l];
    if constexpr (std::is_same_v<T, float>)
      if (i.flags & ftzFlag) {
        p = flush(p);
        q = flush(q);
        r = flush(r);
      }
    T result = settle<Op>(directedResult<Op>(p, q, r, mode), p, q, r);
    if constexpr (std::is_same_v<T, float>)
      if (i.flags & ftzFlag)
        result = flush(result);
    values[l] = i.flags & satFlag ? saturate(result) : result;
  });
  setLanes<T>(x, i.d, [&](int l) { return values[l]; });
}

/// Rows: `.rnd? .ftz? .sat? .f32` or `.rnd? .f64`.
template <FloatOp Op>
static void buildFloat(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  bool isSingle = type == Type::F32;
  bool ok = Op == FloatOp::Fma ? operandsOf(b, type, {type, type, type})
            : Op == FloatOp::Sqrt || Op == FloatOp::Rcp
                ? operandsOf(b, type, {type})
                : operandsOf(b, type, {type, type});
  if (!ok)
    return;
  Round mode = roundNamed(m.parts[0]);
  for (std::string_view part : m.parts)
    b.inst->flags |= part == ".ftz" ? ftzFlag : part == ".sat" ? satFlag : 0;
  b.inst->mode = static_cast<uint8_t>(mode);
  if (mode != Round::Nearest) {
    b.inst->run = isSingle ? &directed<Op, float> : &directed<Op, double>;
    return;
  }
  static constexpr Handler single[] = {
      &nearest<Op, float, 0>, &nearest<Op, float, ftzFlag>,
      &nearest<Op, float, satFlag>, &nearest<Op, float, ftzFlag | satFlag>};
  b.inst->run = isSingle ? single[b.inst->flags] : &nearest<Op, double, 0>;
}

// Minimum, maximum and signs --------------------------------------------------

namespace {
constexpr uint8_t nanFlag = 4, xorSignFlag = 8;

template <bool Max, typename T>
T extremum(T a, T b, uint8_t flags) {
  bool sign = std::signbit(a) != std::signbit(b);
  if (flags & xorSignFlag) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  T result;
  if (a != a || b != b)
    result = (flags & nanFlag) || (a != a && b != b) ? a + b : a != a ? b : a;
  else if (a == b) // -0 is less than +0
    result = std::signbit(a) == Max ? b : a;
  else
    result = (a < b) == Max ? b : a;
  result = settle<FloatOp::Add>(result, a, b, b);
  if ((flags & xorSignFlag) && result == result && sign)
    result = -result;
  return result;
}
} // namespace

template <bool Max, typename T>
static void minMax(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  const T *b = x.lanes<T>(i.b);
  if (i.flags == 0) {
    // The common form, written so that it vectorises.
    setLanes<T>(x, i.d, [=](int l) {
      T p = a[l], q = b[l];
      bool takeA = Max ? (p > q || (p == q && !std::signbit(p)))
                       : (p < q || (p == q && std::signbit(p)));
      T result = takeA || q != q ? p : q;
      return settle<FloatOp::Add>(result, p, q, q);
    });
    return;
  }
  setLanes<T>(x, i.d, [=](int l) {
    T p = a[l], q = b[l];
    if constexpr (std::is_same_v<T, float>)
      if (i.flags & ftzFlag) {
        p = flush(p);
        q = flush(q);
      }
    return extremum<Max>(p, q, i.flags);
  });
}
template <bool Max>
static void buildMinMax(Builder &b, const Match &m) {
  Type type = m.type(m.parts.size() - 1);
  if (!operandsOf(b, type, {type, type}))
    return;
  for (std::string_view part : m.parts)
    b.inst->flags |= part == ".ftz"       ? ftzFlag
                     : part == ".NaN"     ? nanFlag
                     : part == ".xorsign" ? xorSignFlag
                                          : 0;
  b.inst->run = type == Type::F32 ? &minMax<Max, float> : &minMax<Max, double>;
}

template <typename T, bool Negate>
static void signBit(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  constexpr T sign = T(1) << (8 * sizeof(T) - 1);
  constexpr T exponent = sizeof(T) == 4 ? T(0x7f800000) : T(0);
  bool ftz = i.flags & ftzFlag;
  setLanes<T>(x, i.d, [=](int l) {
    T bits = a[l];
    if (ftz && !(bits & exponent))
      bits &= sign;
    // An f32 is negated by an addition, which makes its one NaN.
    if (sizeof(T) == 4 && T(bits & ~sign) > exponent)
      return T(nanBits32);
    return Negate ? T(bits ^ sign) : T(bits & ~sign);
  });
}
template <bool Negate>
static void buildSign(Builder &b, const Match &m) {
  Type type = m.type(1);
  if (!operandsOf(b, type, {type}))
    return;
  b.inst->flags = m.has(0) ? ftzFlag : 0;
  b.inst->run = type == Type::F32 ? &signBit<uint32_t, Negate>
                                  : &signBit<uint64_t, Negate>;
}

/// d has the sign of a and the magnitude of b.
template <typename T>
static void copySign(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  const T *b = x.lanes<T>(i.b);
  constexpr T sign = T(1) << (8 * sizeof(T) - 1);
  setLanes<T>(x, i.d, [=](int l) { return T((a[l] & sign) | (b[l] & ~sign)); });
}
static void buildCopySign(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (operandsOf(b, type, {type, type}))
    b.inst->run = type == Type::F32 ? &copySign<uint32_t> : &copySign<uint64_t>;
}

template <typename T>
static void testProperty(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  setMask(x, i.d, maskOf([=](int l) {
            int kind = std::fpclassify(a[l]);
            switch (i.mode) {
            case 0:
              return kind != FP_NAN && kind != FP_INFINITE;
            case 1:
              return kind == FP_INFINITE;
            case 2:
              return kind != FP_NAN;
            case 3:
              return kind == FP_NAN;
            case 4:
              return kind == FP_NORMAL || kind == FP_ZERO; // as measured
            default:
              return kind == FP_SUBNORMAL;
            }
          }));
}
static void buildTestProperty(Builder &b, const Match &m) {
  if (!operandsOf(b, Type::Pred, {m.type(1)}))
    return;
  static constexpr std::string_view names[] = {".finite", ".infinite",
                                               ".number", ".notanumber",
                                               ".normal", ".subnormal"};
  for (uint8_t i = 0; i < 6; ++i)
    if (m.is(0, names[i]))
      b.inst->mode = i;
  b.inst->run =
      m.type(1) == Type::F32 ? &testProperty<float> : &testProperty<double>;
}

std::span<const Row> tandem::emulator::floatRows() {
  static constexpr const char *f32 = ".rn|.rz|.rm|.rp? .ftz? .sat? .f32";
  static constexpr const char *f64 = ".rn|.rz|.rm|.rp? .f64";
  static constexpr const char *f32Rounded = ".rn|.rz|.rm|.rp .ftz? .f32";
  static constexpr const char *f64Rounded = ".rn|.rz|.rm|.rp .f64";
  static const Row rows[] = {
      {"add", f32, buildFloat<FloatOp::Add>, "never fused"},
      {"add", f64, buildFloat<FloatOp::Add>},
      {"sub", f32, buildFloat<FloatOp::Sub>, "never fused"},
      {"sub", f64, buildFloat<FloatOp::Sub>},
      {"mul", f32, buildFloat<FloatOp::Mul>, "never fused"},
      {"mul", f64, buildFloat<FloatOp::Mul>},
      {"fma", ".rn|.rz|.rm|.rp .ftz? .sat? .f32", buildFloat<FloatOp::Fma>},
      {"fma", f64Rounded, buildFloat<FloatOp::Fma>},
      {"mad", ".rn|.rz|.rm|.rp .ftz? .sat? .f32", buildFloat<FloatOp::Fma>},
      {"mad", f64Rounded, buildFloat<FloatOp::Fma>},
      {"div", f32Rounded, buildFloat<FloatOp::Div>},
      {"div", f64Rounded, buildFloat<FloatOp::Div>},
      {"sqrt", f32Rounded, buildFloat<FloatOp::Sqrt>},
      {"sqrt", f64Rounded, buildFloat<FloatOp::Sqrt>},
      {"rcp", f32Rounded, buildFloat<FloatOp::Rcp>},
      {"rcp", f64Rounded, buildFloat<FloatOp::Rcp>},
      {"min", ".ftz? .NaN? .xorsign? .abs? .f32", buildMinMax<false>},
      {"max", ".ftz? .NaN? .xorsign? .abs? .f32", buildMinMax<true>},
      {"min", ".f64", buildMinMax<false>},
      {"max", ".f64", buildMinMax<true>},
      {"abs", ".ftz? .f32|.f64", buildSign<false>},
      {"neg", ".ftz? .f32|.f64", buildSign<true>},
      {"copysign", ".f32|.f64", buildCopySign},
      {"testp",
       ".finite|.infinite|.number|.notanumber|.normal|.subnormal .f32|.f64",
       buildTestProperty},
  };
  return rows;
}
