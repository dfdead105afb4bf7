//===- softmax.cpp - Reference for insn.softmax
//-----------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static void softmaxRow(std::vector<T> &x, double depth, const StepNumerics &n) {
  // A NaN, or +inf - inf, or -inf - -inf, reaches the sum and so every element.
  T m = -infinity;
  for (const T &v : x)
    m = maximum(m, v);
  for (T &v : x)
    v = exp(belowMaximum(v, m, n), n);
  // Kernels may multiply by a rounded reciprocal: two roundings.
  const T inverse = div(T(1), sum(std::span<const T>(x), depth, n), n);
  for (T &v : x)
    v = mul(v, inverse, n);
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const int64_t rank = static_cast<int64_t>(call.in[0].shape().size());
  const int64_t dim = call.params->getInt("dim", -1);
  const size_t axis = static_cast<size_t>(dim < 0 ? dim + rank : dim);
  const Source x = call.in[0].withAxisLast(axis);
  Sink y = call.out[0].withAxisLast(axis);
  const int64_t columns = x.shape().back();
  const double depth = call.numerics->depth(columns);
  forRows(call, columns == 0 ? 0 : numRowsOf(x.shape()), columns * 64,
          [&, row = std::vector<T>(static_cast<size_t>(columns))](
              int64_t r) mutable {
            x.read(r * columns, columns, row.data());
            softmaxRow(row, depth, *call.numerics);
            y.write(r * columns, columns, row.data());
          });
  return {};
}

RefOp tandem::refops::ref_softmax() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32;
  const std::string command = "python3 refops/evidence/softmax.py";
  return {
      .code = Opcode::SOFTMAX,
      .name = "softmax",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .reduces = true,
      .knownAnswers = {
          // Tells max-subtracted from not, and exp(-inf + inf) from 0.
          {.name = "masked_and_large_logits",
           .inputs = {{f32,
                       {4, 2},
                       {1000, 1000, -INFINITY, 5, -1e5, -1e5, -INFINITY,
                        -INFINITY}}},
           .expected = {{f32, {4, 2}, {0.5, 0.5, 0, 1, 0.5, 0.5, NAN, NAN}}},
           .from = {ByHand,
                    "equal logits share 1; exp(-inf) = 0; a row of -inf "
                    "only has no maximum to subtract"}},
          {.name = "nan_and_plus_infinity_take_the_row",
           .inputs = {{f32, {2, 3}, {1, NAN, 2, 1, INFINITY, 2}}},
           .expected = {{f32, {2, 3}, {NAN, NAN, NAN, NAN, NAN, NAN}}},
           .from = {ByHand,
                    "SEMANTICS, SOFTMAX: inf - inf is NaN and enters the "
                    "sum"}},
          {.name = "four_columns",
           .inputs = {{f32, {4}, {1, 2, 3, 4.5}}},
           .expected = {{f32,
                         {4},
                         {0.022612775055033885, 0.061467895523130596,
                          0.16708706343414498, 0.7488322659876905}}},
           .from = {HighPrecision, "exp(x - max) / sum in 50 digits", command}},
          {.name = "along_the_first_axis",
           .inputs = {{f32, {2, 2}, {0, 1, 0, 3}}},
           .params = {{{"dim", int64_t(0)}}},
           .expected = {{f32,
                         {2, 2},
                         {0.5, 0.11920292202211756, 0.5, 0.8807970779778824}}},
           .from = {HighPrecision, "columns (0, 0) and (1, 3) in 50 digits",
                    command}},
      }};
}
