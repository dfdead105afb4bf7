//===- sample_argmax.cpp - Reference for insn.sample_argmax
//-----------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

/// The lowest index of a maximum; the lowest NaN if there is one.
template <typename T>
static size_t argmax(const std::vector<T> &x) {
  size_t best = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(valueOf(x[i])))
      return i;
    if (valueOf(x[i]) > valueOf(x[best]))
      best = i;
  }
  return best;
}

static double indexOf(const std::vector<double> &x, std::vector<int64_t> *) {
  return static_cast<double>(argmax(x));
}

/// Accepts every index whose logit may be the largest: the upper end of its
/// interval reaches the highest lower end.
static Bounded indexOf(const std::vector<Bounded> &x,
                       std::vector<int64_t> *others) {
  const size_t best = argmax(x);
  const double index = static_cast<double>(best);
  double floor = -infinity;
  bool areExact = true;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!x[i].hasVerdict())
      return noVerdict(index);
    if (x[i].isCertainNan()) // a logit before it is finite or infinite
      return {index, 0};
    areExact &= x[i].error == 0;
    floor = std::max(floor, x[i].value - x[i].error);
  }
  if (areExact)
    return {index, 0};
  double spread = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i == best || x[i].value + x[i].error < floor)
      continue;
    // Exactly equal logits are no tie to break otherwise: the lowest wins.
    if (x[i].error == 0 && x[best].error == 0 && i > best)
      continue;
    others->push_back(static_cast<int64_t>(i));
    spread = std::max(spread, std::fabs(static_cast<double>(i) - index));
  }
  return {index, spread};
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const Source &x = call.in[0];
  Sink &y = call.out[0];
  const int64_t columns = x.shape().back();
  const int64_t rows = numRowsOf(x.shape());
  std::vector<std::vector<int64_t>> alternatives(
      x.mayErr() ? static_cast<size_t>(rows) : 0);
  forRows(call, rows, columns * 2,
          [&, row = std::vector<T>(static_cast<size_t>(columns))](
              int64_t r) mutable {
            x.read(r * columns, columns, row.data());
            std::vector<int64_t> others;
            const T index = indexOf(row, &others);
            y.write(r, 1, &index);
            if (!others.empty())
              alternatives[static_cast<size_t>(r)] = std::move(others);
          });
  bool hasAny = false;
  for (const std::vector<int64_t> &others : alternatives)
    hasAny |= !others.empty();
  if (hasAny && y.buffer())
    y.buffer()->alternatives = std::move(alternatives);
  return {};
}

RefOp tandem::refops::ref_sample_argmax() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, f16 = DType::F16, i32 = DType::I32;
  return {
      .code = Opcode::SAMPLE_ARGMAX,
      .name = "sample_argmax",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells the lowest index of a tie from the last, and a running
          // maximum that starts at 0 from one that starts at the first logit.
          {.name = "lowest_index_of_a_tie",
           .inputs = {{f16, {2, 4}, {1, 3, 3, 3, -5, -2, -9, -2}}},
           .expected = {{i32, {2}, {1, 1}}},
           .from = {ByHand, "3 is at 1, 2 and 3; -2 is at 1 and 3"}},
          {.name = "nan_is_the_maximum",
           .inputs = {{f32, {2, 4}, {1, NAN, INFINITY, NAN, 5, 6, 7, NAN}}},
           .expected = {{i32, {2}, {1, 3}}},
           .from = {ByHand, "SEMANTICS: the lowest NaN index"}},
          {.name = "minus_infinity_only_and_signed_zeros",
           .inputs = {{f32, {2, 2}, {-INFINITY, -INFINITY, -0.0, 0.0}}},
           .expected = {{i32, {2}, {0, 0}}},
           .from = {ByHand, "equal values: -inf = -inf, -0 = +0"}},
      }};
}
