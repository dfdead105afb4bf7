//===- rmsnorm.cpp - Reference for insn.rmsnorm
//-----------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static void rmsnormRow(std::vector<T> &x, const std::vector<T> &w,
                       std::vector<T> &squares, const T &eps, double depth,
                       const StepNumerics &n) {
  const bool inRange = squaresAreInRange(std::span<const T>(x));
  for (size_t i = 0; i < x.size(); ++i)
    squares[i] = mul(x[i], x[i], n);
  const T total = sum(std::span<const T>(squares), depth, n);
  const T mean = div(total, T(static_cast<double>(x.size())), n);
  const T inverse = rsqrt(add(mean, eps, n), n);
  for (size_t i = 0; i < x.size(); ++i) {
    const T y = mul(mul(x[i], inverse, n), w[i], n);
    x[i] = inRange ? y : withoutVerdict(y);
  }
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const Source &x = call.in[0];
  Sink &y = call.out[0];
  const int64_t columns = x.shape().back();
  const std::vector<T> w = call.in[1].template readAll<T>();
  const T eps = static_cast<double>(call.params->getFloat("eps", 1e-6f));
  const double depth = call.numerics->depth(columns);
  const size_t width = static_cast<size_t>(columns);
  forRows(call, columns == 0 ? 0 : numRowsOf(x.shape()), columns * 8,
          [&, row = std::vector<T>(width),
           squares = std::vector<T>(width)](int64_t r) mutable {
            x.read(r * columns, columns, row.data());
            rmsnormRow(row, w, squares, eps, depth, *call.numerics);
            y.write(r * columns, columns, row.data());
          });
  return {};
}

RefOp tandem::refops::ref_rmsnorm() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32;
  return {
      .code = Opcode::RMSNORM,
      .name = "rmsnorm",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .reduces = true,
      .knownAnswers = {
          // Tells eps inside the root (rms 3) from outside it (2.24 + 4).
          {.name = "eps_is_inside_the_root",
           .inputs = {{f32, {2}, {1, 3}}, {f32, {2}, {3, 2}}},
           .params = {{{"eps", 4.0}}},
           .expected = {{f32, {2}, {1, 2}}},
           .from = {ByHand,
                    "mean is (1 + 9) / 2 = 5, so rms = sqrt(5 + 4) = 3; "
                    "1 / 3 * 3 and 3 / 3 * 2"}},
          {.name = "zero_row_stays_zero",
           .inputs = {{f32, {2, 2}, {0, -0.0, 2, 2}}, {f32, {2}, {1, 7}}},
           .params = {{{"eps", 0x1p-20}}},
           .expected = {{f32,
                         {2, 2},
                         {0, -0.0, 0.9999998807907318, 6.999999165535122}}},
           .from = {HighPrecision, "0 * rsqrt(eps) is 0; 2 w / sqrt(4 + 2^-20)",
                    "python3 refops/evidence/rmsnorm.py"}},
          {.name = "four_columns_default_eps",
           .inputs = {{f32, {4}, {1, 2, 3, 4}}, {f32, {4}, {1, 0.5, 2, -1}}},
           .expected = {{f32,
                         {4},
                         {0.36514834732688844, 0.36514834732688844,
                          2.190890083961331, -1.4605933893075538}}},
           .from = {HighPrecision,
                    "the formula in 50 digits with eps = f32(1e-6)",
                    "python3 refops/evidence/rmsnorm.py"}},
          {.name = "an_infinity_leaves_zeros_beside_nan",
           .inputs = {{f32, {2}, {INFINITY, 3}}, {f32, {2}, {1, 1}}},
           .expected = {{f32, {2}, {NAN, 0}}},
           .from = {ByHand, "rsqrt(inf) = 0; inf * 0 is NaN, 3 * 0 is 0"}},
      }};
}
