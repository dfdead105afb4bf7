//===- attention_combine.cpp - Reference for insn.attention_combine -------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

/// Whether a shard takes part: its l is above 0, or NaN, which must show.
static bool takesPart(double l) { return !(l <= 0); }

/// l of a shard that may or may not be above 0 leaves no verdict.
static double decided(double l) { return l; }
static Bounded decided(const Bounded &l) {
  return l.error != 0 && l.value - l.error <= 0 ? noVerdict(l.value) : l;
}

/// Merges the shards of one head, [acc, m, l] each, into \p out.
template <typename T>
static void combineHead(const std::vector<std::vector<T>> &shards, size_t width,
                        T *out, const StepNumerics &n) {
  T m = -infinity, doubt = 0;
  std::vector<T> weights, sums, column;
  std::vector<const T *> taken;
  for (const std::vector<T> &shard : shards) {
    const T l = decided(shard[width + 1]);
    if (errorOf(l) == infinity)
      doubt = l;
    if (!takesPart(valueOf(l)))
      continue;
    taken.push_back(shard.data());
    sums.push_back(l);
    if (valueOf(l) > 0)
      m = maximum(m, shard[width]);
  }
  for (const T *shard : taken)
    weights.push_back(exp(belowMaximum(shard[width], m, n), n));
  const double depth = n.dotDepth(static_cast<int64_t>(taken.size()));
  const auto weighted = [&](const std::vector<T> &x) {
    return dot(std::span<const T>(x), std::span<const T>(weights), DType::F32,
               depth, n);
  };
  // Dividing by a rounded reciprocal is two roundings.
  const T inverse =
      div(T(1), maximum(weighted(sums), constant<T>(1e-20, n)), n);
  for (size_t d = 0; d < width; ++d) {
    column.clear();
    for (const T *shard : taken)
      column.push_back(shard[d]);
    const T y = mul(weighted(column), inverse, n);
    out[d] = errorOf(doubt) == infinity ? withoutVerdict(y) : y;
  }
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const int64_t width = call.out[0].shape().back();
  const int64_t heads = numRowsOf(call.out[0].shape());
  const size_t numShards = call.in.size();
  forRows(
      call, heads, static_cast<int64_t>(numShards) * (width + 32),
      [&,
       shards = std::vector<std::vector<T>>(
           numShards, std::vector<T>(static_cast<size_t>(width + 2))),
       row = std::vector<T>(static_cast<size_t>(width))](int64_t head) mutable {
        for (size_t p = 0; p < numShards; ++p)
          call.in[p].read(head * (width + 2), width + 2, shards[p].data());
        combineHead(shards, row.size(), row.data(), *call.numerics);
        call.out[0].write(head * width, width, row.data());
      });
  return {};
}

RefOp tandem::refops::ref_attention_combine() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32;
  const std::string command = "python3 refops/evidence/attention_combine.py";
  return {
      .code = Opcode::ATTENTION_COMBINE,
      .name = "attention_combine",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .reduces = true,
      .knownAnswers = {
          // Tells a sum divided by the sum of l from a mean of the shards'
          // means: these are 1 and 8.
          {.name = "shards_of_unequal_weight",
           .inputs = {{f32, {1, 4}, {1, 2, 5, 1}},
                      {f32, {1, 4}, {24, 6, 5, 3}}},
           .expected = {{f32, {1, 2}, {6.25, 2}}},
           .from = {ByHand, "equal maxima: (1 + 24) / 4 and (2 + 6) / 4"}},
          {.name = "weights_are_exponentials_of_m",
           .inputs = {{f32, {2, 3}, {3, 1, 2, 1, 80000, 1}},
                      {f32, {2, 3}, {4, 2, 1, 2, 80001, 1}}},
           .expected = {{f32, {2, 1}, {2.940292211914573, 1.7310585786300048}}},
           .from = {HighPrecision,
                    "(3 e^-1 + 4) / (2 e^-1 + 1) and (e^-1 + 2) "
                    "/ (e^-1 + 1) in 50 digits",
                    command}},
          // Tells a skipped shard from one of weight 0, and its m from one
          // that takes part in the maximum.
          {.name = "an_empty_shard_is_not_read",
           .inputs = {{f32, {1, 3}, {NAN, INFINITY, 0}},
                      {f32, {1, 3}, {6, -80000, 2}},
                      {f32, {1, 3}, {0, -INFINITY, 0}}},
           .expected = {{f32, {1, 1}, {3}}},
           .from = {ByHand, "6 / 2"}},
          {.name = "only_empty_shards_give_zero",
           .inputs = {{f32, {1, 3}, {0, -INFINITY, 0}},
                      {f32, {1, 3}, {7, 0, 0}}},
           .expected = {{f32, {1, 1}, {0}}},
           .from = {ByHand, "0 / 1e-20"}},
          // Tells rows of [B, h] in order.
          {.name = "a_batch",
           .inputs = {{f32, {2, 2, 3}, {1, 0, 1, 2, 0, 2, 9, 0, 3, 8, 0, 4}}},
           .expected = {{f32, {2, 2, 1}, {1, 1, 3, 2}}},
           .from = {ByHand, "one shard: acc / l"}},
          {.name = "a_shard_of_nan_shows",
           .inputs = {{f32, {1, 3}, {NAN, -INFINITY, NAN}},
                      {f32, {1, 3}, {1, 0, 1}}},
           .expected = {{f32, {1, 1}, {NAN}}},
           .from = {ByHand, "l is not 0, so the shard is read: 0 * NaN"}},
      }};
}
