//===- lm_head.cpp - Reference for insn.lm_head ---------------------------===//
#include "refops/Matmul.h"
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  return matmul(call, "kn");
}

RefOp tandem::refops::ref_lm_head() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, bf16 = DType::BF16;
  return {
      .code = Opcode::LM_HEAD,
      .name = "lm_head",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .multiplies = true,
      .knownAnswers = {
          {.name = "weights_are_kn",
           .inputs = {{f32, {1, 3}, {0.5, -1, 2}},
                      {f32, {3, 2}, {1, 1, 2, 0, 0, 3}}},
           .expected = {{f32, {1, 2}, {-1.5, 6.5}}},
           .from = {ByHand, "0.5*1 - 1*2 + 2*0 and 0.5*1 - 1*0 + 2*3"}},
          // Square, so that both layouts have the right shape.
          {.name = "square_weights_are_kn",
           .inputs = {{f32, {1, 2}, {1, 10}}, {f32, {2, 2}, {1, 2, 3, 4}}},
           .expected = {{f32, {1, 2}, {31, 42}}},
           .from = {ByHand, "1*1 + 10*3 and 1*2 + 10*4; as nk 21, 43"}},
          {.name = "weights_nk",
           .inputs = {{bf16, {1, 2}, {1, 10}}, {bf16, {2, 2}, {1, 2, 3, 4}}},
           .params = {{{"weight_layout", std::string("nk")}}},
           .expected = {{bf16, {1, 2}, {21, 43}}},
           .from = {ByHand, "1*1 + 10*2 and 1*3 + 10*4"}},
          // Tells f32 from bfloat16 accumulation.
          {.name = "accumulates_beyond_bfloat16",
           .inputs = {{bf16, {1, 3}, {1, 1, 1}}, {bf16, {3, 1}, {256, 1, 1}}},
           .expected = {{bf16, {1, 1}, {258}}},
           .from = {ByHand, "258 is a bfloat16; in bfloat16 the sum would stay "
                            "at 256"}},
      }};
}
