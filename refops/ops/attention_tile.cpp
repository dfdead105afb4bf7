//===- attention_tile.cpp - Reference for insn.attention_tile -------------===//
#include "refops/Attention.h"
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const Attention attention(call.in[0], call.in[1], call.in[2], *call.params);
  const int64_t slots = attention.slots;
  std::vector<Window> windows;
  for (int64_t b = 0; b < attention.batch; ++b) {
    const int64_t first = intParam(call, "kv_start", 0, b);
    const int64_t count = intParam(call, "kv_len", slots - first, b);
    const bool startsInside = first >= 0 && first <= slots;
    const bool isFaulty = !startsInside || count < 0 || count > slots - first;
    windows.push_back({first, count, isFaulty});
    if (isFaulty && attention.heads)
      call.log->add({call.step, b * attention.heads,
                     !startsInside ? first
                     : count < 0   ? count
                                   : first + count - 1});
  }
  attend(attention, windows, call.out[0], *call.numerics, call.jobs,
         static_cast<T *>(nullptr));
  return {};
}

RefOp tandem::refops::ref_attention_tile() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, f16 = DType::F16, bf16 = DType::BF16,
              i32 = DType::I32;
  const std::string command = "python3 refops/evidence/attention_tile.py";
  const auto window = [](int64_t first, int64_t count, int64_t flags = 0) {
    return Params{{{"kv_start", first}, {"kv_len", count}, {"flags", flags}}};
  };
  const int64_t partial = 2;
  return {
      .code = Opcode::ATTENTION_TILE,
      .name = "attention_tile",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .reduces = true,
      .multiplies = true,
      .knownAnswers = {
          // Tells i / (h / kvh) from i % kvh.
          {.name = "neighbouring_heads_share_keys",
           .inputs = {{f32, {4, 1}, {1, 2, 3, 4}},
                      {f32, {1, 2, 1}, {5, 6}},
                      {f32, {1, 2, 1}, {10, 20}}},
           .expected = {{f32, {4, 1}, {10, 10, 20, 20}}},
           .from = {ByHand,
                    "one key has the weight 1, so o is v of head i / 2"}},
          {.name = "scores_are_scaled_by_the_root",
           .inputs = {{f32, {1, 4}, {1, 2, -1, 0.5}},
                      {f32, {3, 1, 4}, {1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 2}},
                      {f32, {3, 1, 4}, {1, 0, 2, -1, 0, 1, 4, 1, 3, 5, 0, 1}}},
           .expected = {{f32,
                         {1, 4},
                         {1.9402922119145727, 3.092525981446231,
                          1.2716493457025126, 0.5761168847658291}}},
           .from = {HighPrecision,
                    "scores 1, 1 and 3 times 1 / sqrt(4), in 50 "
                    "digits",
                    command}},
          {.name = "a_given_scale",
           .inputs = {{f32, {1, 1}, {2}},
                      {f32, {2, 1, 1}, {1, -1}},
                      {f32, {2, 1, 1}, {1, 0}}},
           .params = {{{"scale", 0.25}}},
           .expected = {{f32, {1, 1}, {0.7310585786300049}}},
           .from = {HighPrecision, "1 / (1 + exp(-1)) in 50 digits", command}},
          // Tells kv_len from the end of the window, and the window from the
          // whole cache.
          {.name = "a_window",
           .inputs = {{f32, {1, 2}, {0, 0}},
                      {f32, {4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}},
                      {f32, {4, 1, 2}, {NAN, 9, 1, 2, 4, 8, NAN, 7}}},
           .params = window(1, 2),
           .expected = {{f32, {1, 2}, {2.5, 5}}},
           .from = {ByHand, "equal scores: the mean of rows 1 and 2"}},
          // Tells a running maximum that starts at a finite number, or an
          // unguarded exp(-inf + inf), from a right one.
          {.name = "leading_keys_at_minus_infinity",
           .inputs = {{f32, {1, 1}, {1}},
                      {f32, {4, 1, 1}, {-INFINITY, -INFINITY, -65536, -65536}},
                      {f32, {4, 1, 1}, {7, 9, 1, 2}}},
           .expected = {{f32, {1, 1}, {1.5}}},
           .from = {ByHand, "weights 0, 0, 1, 1"}},
          {.name = "all_scores_at_minus_infinity",
           .inputs = {{f32, {2, 1}, {1, -1}},
                      {f32, {2, 1, 1}, {-INFINITY, -INFINITY}},
                      {f32, {2, 1, 1}, {1, 2}}},
           .expected = {{f32, {2, 1}, {NAN, NAN}}},
           .from = {ByHand, "exp(-inf + inf), and exp(inf - inf)"}},
          {.name = "an_empty_window_gives_zeros",
           .inputs = {{f16, {1, 2}, {1, 2}},
                      {f16, {2, 1, 2}, {1, NAN, 3, 4}},
                      {f16, {2, 1, 2}, {NAN, 2, 3, 4}}},
           .params = window(2, 0),
           .expected = {{f16, {1, 2}, {0, 0}}},
           .from = {ByHand, "SEMANTICS: an empty window gives zeros"}},
          // Tells m in natural units with the scale applied from either
          // mistake, and acc from acc / l.
          {.name = "partial_write",
           .inputs = {{bf16, {1, 4}, {2, 0, 0, 0}},
                      {bf16, {2, 1, 4}, {3, 1, 1, 1, 3, 2, 2, 2}},
                      {bf16, {2, 1, 4}, {1, 2, 3, 4, 10, 20, 30, 40}}},
           .params = window(0, 2, partial),
           .expected = {{f32, {1, 6}, {11, 22, 33, 44, 3, 2}}},
           .from = {ByHand, "both scores are 2 * 3 / sqrt(4) = 3, the maximum, "
                            "so both weights are 1"}},
          {.name = "partial_write_of_unequal_scores",
           .inputs = {{f32, {1, 1}, {1}},
                      {f32, {3, 1, 1}, {2, 0, 1}},
                      {f32, {3, 1, 1}, {1, 2, -3}}},
           .params = window(0, 3, partial),
           .expected =
               {{f32, {1, 3}, {0.16703224295889843, 2.0, 1.503214724408055}}},
           .from = {HighPrecision, "weights 1, exp(-2), exp(-1) in 50 digits",
                    command}},
          {.name = "partial_write_of_an_empty_shard",
           .inputs = {{f32, {1, 1}, {1}},
                      {f32, {1, 1, 1}, {1}},
                      {f32, {1, 1, 1}, {1}}},
           .params = window(1, 0, partial),
           .expected = {{f32, {1, 3}, {0, -INFINITY, 0}}},
           .from = {ByHand, "acc 0, m -inf, l 0"}},
          {.name = "a_window_for_each_sequence",
           .inputs = {{f32, {3, 2, 1}, {0, 0, 0, 0, 0, 0}},
                      {f32, {3, 2, 1, 1}, {1, 1, 1, 1, 1, 1}},
                      {f32, {3, 2, 1, 1}, {1, 2, 3, 4, 5, 6}},
                      {i32, {3}, {2, 1, 3}}},
           .params = {{{"kv_len", OperandParam{3}}}},
           .expected =
               {{f32, {3, 2, 1}, {1.5, 1.5, 3, 3, untouched, untouched}}},
           .from = {ByHand, "(1 + 2) / 2; 3; three slots of two are an error"}},
          {.name = "partial_write_in_a_batch",
           .inputs = {{f32, {2, 1, 1}, {0, 0}},
                      {f32, {2, 2, 1, 1}, {1, 1, 1, 1}},
                      {f32, {2, 2, 1, 1}, {1, 2, 3, 4}},
                      {i32, {}, {1}}},
           .params = {{{"flags", partial}, {"kv_start", OperandParam{3}}}},
           .expected = {{f32, {2, 1, 3}, {2, 0, 1, 4, 0, 1}}},
           .from = {ByHand, "from slot 1 to the end: one key of score 0"}},
      }};
}
