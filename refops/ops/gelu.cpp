//===- gelu.cpp - Reference for insn.gelu
//-----------------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

/// 0.5 x erfc(-x / sqrt(2)), relatively accurate in the negative tail.
template <typename T>
static T exactForm(const T &x, const StepNumerics &n) {
  const T root = constant<T>(0.70710678118654752, n);
  const T y = mul(mul(T(0.5), x, n), erfc(mul(T(-x), root, n), n), n);
  return tinyIsLoose(y, errorOf(x) == 0);
}

/// 0.5 x (1 + tanh z) = x sigmoid(2 z), which does not cancel. A contract that
/// lists a tanh has the first form, with the error that it brings.
template <typename T>
static T tanhForm(const T &x, const StepNumerics &n) {
  const T cubic = constant<T>(0.044715, n);
  const T root = constant<T>(0.79788456080286536, n); // sqrt(2 / pi)
  const T cube = mul(mul(x, x, n), x, n);
  const T z = mul(root, add(x, mul(cubic, cube, n), n), n);
  T y = mul(x, sigmoid(T(mul(T(2), z, n)), n), n);
  if (n.tanh) {
    const T other = mul(mul(T(0.5), x, n), add(T(1), tanh(z, n), n), n);
    y = withErrorOf(y, other);
  }
  return tinyIsLoose(y, errorOf(x) == 0);
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const StepNumerics &n = *call.numerics;
  const bool isTanh = call.params->getString("approximate", "none") == "tanh";
  Sink &y = call.out[0];
  forBlocks(call, y.desc().numElements(), 1, 128,
            [&](int64_t first, int64_t count, auto &rows) {
              call.in[0].read(first, count, rows[0].data());
              for (size_t i = 0; i < static_cast<size_t>(count); ++i)
                rows[0][i] =
                    isTanh ? tanhForm(rows[0][i], n) : exactForm(rows[0][i], n);
              y.write(first, count, rows[0].data());
            });
  return {};
}

RefOp tandem::refops::ref_gelu() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32;
  const std::string command = "python3 refops/evidence/gelu.py";
  return {
      .code = Opcode::GELU,
      .name = "gelu",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells the erf form from the tanh form, and erfc from 1 + erf.
          {.name = "exact_form_to_the_tail",
           .inputs = {{f32, {5}, {1, -1, 0.5, -5.5, -10}}},
           .expected = {{f32,
                         {5},
                         {0.8413447460685429, -0.15865525393145705,
                          0.34573123063700656, -1.0444259356238245e-07,
                          -7.619853024160526e-23}}},
           .maxUlp = 0,
           .from = {HighPrecision, "0.5 x erfc(-x / sqrt(2)) in 50 digits",
                    command}},
          {.name = "tanh_form",
           .inputs = {{f32, {4}, {1, -1, 0.5, -5}}},
           .params = {{{"approximate", std::string("tanh")}}},
           .expected = {{f32,
                         {4},
                         {0.8411919906082767, -0.1588080093917233,
                          0.34571400982514394, -2.291796196629506e-07}}},
           .maxUlp = 0,
           .from = {HighPrecision,
                    "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) in 50 "
                    "digits",
                    command}},
          {.name = "limits",
           .inputs = {{f32, {5}, {0, -0.0, INFINITY, -INFINITY, 1e4}}},
           .expected = {{f32, {5}, {0, -0.0, INFINITY, NAN, 1e4}}},
           .from = {ByHand, "erfc(-inf) = 2; -inf * erfc(+inf) = -inf * 0 is "
                            "NaN; erfc(-1e4 / sqrt(2)) rounds to 2"}},
      }};
}
