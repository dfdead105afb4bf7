//===- gemv_tile.cpp - Reference for insn.gemv_tile
//-------------------------===//
#include "refops/Matmul.h"
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

RefOp tandem::refops::ref_gemv_tile() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, bf16 = DType::BF16;
  const double keep = untouched;
  return {
      .code = Opcode::GEMV_TILE,
      .name = "gemv_tile",
      .evaluate = matmul,
      .evaluateBounded = matmul,
      .multiplies = true,
      .knownAnswers = {
          {.name = "weights_kn",
           .inputs = {{f32, {1, 3}, {1, 2, 3}},
                      {f32, {3, 2}, {1, 0, 0, 1, 1, 1}}},
           .params = {{{"weight_layout", std::string("kn")}}},
           .expected = {{f32, {1, 2}, {4, 5}}},
           .from = {ByHand, "1*1 + 2*0 + 3*1 and 1*0 + 2*1 + 3*1"}},
          {.name = "weights_nk_square",
           .inputs = {{f32, {2}, {1, 10}}, {f32, {2, 2}, {1, 2, 3, 4}}},
           .expected = {{f32, {2}, {21, 43}}},
           .from = {ByHand, "1*1 + 10*2 and 1*3 + 10*4; as kn 31, 42"}},
          // Tells f32 from bfloat16 accumulation: 257 does not fit into bf16.
          {.name = "accumulates_beyond_bfloat16",
           .inputs = {{bf16, {1, 3}, {1, 1, 1}}, {bf16, {1, 3}, {256, 1, 1}}},
           .expected = {{bf16, {1, 1}, {258}}},
           .from = {ByHand, "256 + 1 + 1 = 258 is a bfloat16; in bfloat16 the "
                            "sum would stay at 256"}},
          {.name = "bias_belongs_to_its_column",
           .inputs = {{f32, {1, 1}, {1}},
                      {f32, {3, 1}, {1, 2, 3}},
                      {f32, {3}, {10, 20, 30}}},
           .params = {{{"n_off", int64_t(1)}, {"N_tile", int64_t(1)}}},
           .expected = {{f32, {1, 3}, {keep, 22, keep}}},
           .from = {ByHand, "column 1: 1*2 + 20"}},
          {.name = "zeros_are_not_skipped",
           .inputs = {{f32, {1, 2}, {0, 1}}, {f32, {1, 2}, {INFINITY, 1}}},
           .expected = {{f32, {1, 1}, {NAN}}},
           .from = {ByHand, "0 * inf is NaN"}},
      }};
}
