//===- attn_step.cpp - Reference for insn.attn_step -----------------------===//
#include "refops/Attention.h"
#include "refops/KvCache.h"
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  // The caches are read after the new rows are in them.
  const Attention attention(call.in[0], call.in[3], call.in[4], *call.params);
  const int64_t row = attention.kvHeads * attention.width;
  std::vector<Window> windows;
  for (int64_t b = 0; b < attention.batch; ++b) {
    const int64_t pos = intParam(call, "pos", 0, b);
    const bool isFaulty = pos < 0 || pos >= attention.slots;
    windows.push_back({0, pos + 1, isFaulty});
    if (isFaulty) {
      call.log->add({call.step, b * attention.heads, pos});
      continue;
    }
    const int64_t at = (b * attention.slots + pos) * row;
    appendRow(call.in[1], b * row, call.state[0], at, row,
              static_cast<T *>(nullptr));
    appendRow(call.in[2], b * row, call.state[1], at, row,
              static_cast<T *>(nullptr));
  }
  attend(attention, windows, call.out[0], *call.numerics, call.jobs,
         static_cast<T *>(nullptr));
  return {};
}

RefOp tandem::refops::ref_attn_step() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, f16 = DType::F16, i32 = DType::I32;
  const std::string command = "python3 refops/evidence/attn_step.py";
  const auto at = [](int64_t pos) { return Params{{{"pos", pos}}}; };
  return {
      .code = Opcode::ATTN_STEP,
      .name = "attn_step",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .reduces = true,
      .multiplies = true,
      .knownAnswers = {
          // Tells [0, pos + 1) from [0, pos) and from the whole cache.
          {.name = "the_new_row_takes_part",
           .inputs = {{f32, {1, 1}, {0}},
                      {f32, {1, 1}, {5}},
                      {f32, {1, 1}, {7}},
                      {f32, {3, 1, 1}, {1, 2, 3}},
                      {f32, {3, 1, 1}, {10, 20, 30}}},
           .params = at(1),
           .expected = {{f32, {1, 1}, {8.5}},
                        {f32, {3, 1, 1}, {1, 5, 3}},
                        {f32, {3, 1, 1}, {10, 7, 30}}},
           .from = {ByHand, "equal scores: (10 + 7) / 2"}},
          // Tells the row as the cache holds it from the one that came.
          {.name = "the_row_is_read_from_the_cache",
           .inputs = {{f32, {1, 1}, {1}},
                      {f32, {1, 1, 1}, {1}},
                      {f32, {1, 1, 1}, {1 + 0x1p-12}},
                      {f16, {1, 1, 1}, {0}},
                      {f16, {1, 1, 1}, {0}}},
           .params = at(0),
           .expected = {{f32, {1, 1}, {1}},
                        {f16, {1, 1, 1}, {1}},
                        {f16, {1, 1, 1}, {1}}},
           .from = {ByHand, "1 + 2^-12 is 1 in float16; one key has weight 1"}},
          {.name = "heads_share_new_keys",
           .inputs = {{f32, {4, 1}, {1, 1, 1, 1}},
                      {f32, {2, 1}, {2, 3}},
                      {f32, {2, 1}, {1, 0}},
                      {f32, {2, 2, 1}, {1, 3, 0, 0}},
                      {f32, {2, 2, 1}, {0, 4, 0, 0}}},
           .params = at(1),
           .expected = {{f32,
                         {4, 1},
                         {0.7310585786300049, 0.7310585786300049, 2.0, 2.0}},
                        {f32, {2, 2, 1}, {1, 3, 2, 3}},
                        {f32, {2, 2, 1}, {0, 4, 1, 0}}},
           .from = {HighPrecision,
                    "heads 0 and 1: 1 / (1 + exp(-1)); 2 and 3: "
                    "equal scores, 4 / 2",
                    command}},
          {.name = "a_position_for_each_sequence",
           .inputs = {{f32, {3, 1, 1}, {0, 0, 0}},
                      {f32, {3, 1}, {1, 2, 3}},
                      {f32, {3, 1}, {10, 20, 30}},
                      {f32, {3, 2, 1, 1}, {0, 0, 0, 0, 0, 0}},
                      {f32, {3, 2, 1, 1}, {2, 4, 6, 8, 1, 1}},
                      {i32, {3}, {1, 2, 0}}},
           .params = {{{"pos", OperandParam{5}}}},
           .expected = {{f32, {3, 1, 1}, {6, untouched, 30}},
                        {f32, {3, 2, 1, 1}, {0, 1, 0, 0, 3, 0}},
                        {f32, {3, 2, 1, 1}, {2, 10, 6, 8, 30, 1}}},
           .from = {ByHand, "(2 + 10) / 2; slot 2 is outside of sequence 1, of "
                            "which nothing is written; 30"}},
      }};
}
