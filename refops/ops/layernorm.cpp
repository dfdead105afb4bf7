//===- layernorm.cpp - Reference for insn.layernorm
//-------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static void layernormRow(std::vector<T> &x, const std::vector<T> &w,
                         const std::vector<T> &b, const T &eps, double depth,
                         const StepNumerics &n) {
  const std::span<const T> row(x);
  const bool inRange = squaresAreInRange(row);
  const T count = static_cast<double>(x.size());
  const T mean = div(sum(row, depth, n), count, n);
  const T variance = div(squaresAround(row, mean, depth, n), count, n);
  const T inverse = rsqrt(add(variance, eps, n), n);
  for (size_t i = 0; i < x.size(); ++i) {
    T y = mul(mul(sub(x[i], mean, n), inverse, n), w[i], n);
    if (!b.empty())
      y = add(y, b[i], n);
    x[i] = inRange ? y : withoutVerdict(y);
  }
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const Source &x = call.in[0];
  Sink &y = call.out[0];
  const int64_t columns = x.shape().back();
  const std::vector<T> w = call.in[1].template readAll<T>();
  std::vector<T> b;
  if (call.in.size() == 3)
    b = call.in[2].template readAll<T>();
  const T eps = static_cast<double>(call.params->getFloat("eps", 1e-5f));
  const double depth = call.numerics->depth(columns);
  forRows(call, columns == 0 ? 0 : numRowsOf(x.shape()), columns * 12,
          [&, row = std::vector<T>(static_cast<size_t>(columns))](
              int64_t r) mutable {
            x.read(r * columns, columns, row.data());
            layernormRow(row, w, b, eps, depth, *call.numerics);
            y.write(r * columns, columns, row.data());
          });
  return {};
}

RefOp tandem::refops::ref_layernorm() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32;
  const std::string command = "python3 refops/evidence/layernorm.py";
  return {
      .code = Opcode::LAYERNORM,
      .name = "layernorm",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .reduces = true,
      .knownAnswers = {
          // Tells two passes from mean(x^2) - mean(x)^2, which cancels in f32.
          {.name = "large_mean_unit_spread",
           .inputs = {{f32, {4}, {9999, 10001, 9999, 10001}},
                      {f32, {4}, {1, 1, 2, 2}}},
           .params = {{{"eps", 0.0}}},
           .expected = {{f32, {4}, {-1, 1, -2, 2}}},
           .from = {ByHand, "mean 1e4, deviations -1 and 1, variance 1"}},
          // Tells the biased variance (1) from the unbiased one (2), and eps
          // inside the root (2) from outside it (1 + 3).
          {.name = "biased_variance_eps_inside_the_root",
           .inputs = {{f32, {2}, {1, 3}},
                      {f32, {2}, {4, 6}},
                      {f32, {2}, {10, 20}}},
           .params = {{{"eps", 3.0}}},
           .expected = {{f32, {2}, {8, 23}}},
           .from = {ByHand, "mean 2, variance (1 + 1) / 2 = 1, root of 4 is 2: "
                            "-1 / 2 * 4 + 10 and 1 / 2 * 6 + 20"}},
          {.name = "four_columns_default_eps",
           .inputs = {{f32, {4}, {1, 2, 3, 5}}, {f32, {4}, {1, 0.5, 2, -1}}},
           .expected = {{f32,
                         {4},
                         {-1.1832132521356489, -0.2535456968862105,
                          0.33806092918161396, -1.521274181317263}}},
           .from = {HighPrecision,
                    "the formula in 50 digits with eps = f32(1e-5)", command}},
          {.name = "an_infinity_takes_the_row",
           .inputs = {{f32, {2}, {INFINITY, 3}}, {f32, {2}, {1, 1}}},
           .expected = {{f32, {2}, {NAN, NAN}}},
           .from = {ByHand, "the mean is inf, and inf - inf is NaN"}},
      }};
}
