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
      .evaluate = matmulTile<double>,
      .evaluateBounded = matmulTile<Bounded>,
      .multiplies = true,
      .knownAnswers = {
          {.name = "weights_kn",
           .inputs = {{f32, {1, 3}, {1, 2, 3}},
                      {f32, {3, 2}, {1, 0, 0, 1, 1, 1}}},
           .params = {{{"weight_layout", std::string("kn")}}},
           .expected = {{f32, {1, 2}, {4, 5}}},
           .from = {ByHand, "1*1 + 2*0 + 3*1 and 1*0 + 2*1 + 3*1"}},
          {.name = "weights_kn_two_rows",
           .inputs = {{f32, {2, 2}, {0, 0, 2, -3}},
                      {f32, {2, 2}, {1, 2, 3, 4}}},
           .params = {{{"weight_layout", std::string("kn")}}},
           .expected = {{f32, {2, 2}, {0, 0, -7, -8}}},
           .from = {ByHand, "2*1 - 3*3 and 2*2 - 3*4"}},
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
          // Tells the low nibble first from the high one, and zeros after the 8
          // from zeros instead of it.
          {.name = "int4_low_nibble_first",
           .inputs = {{f32, {1, 4}, {1, 10, 100, 1000}},
                      {DType::U8, {2, 2}, {0x21, 0x43, 0x98, 0xba}},
                      {f32, {2, 1}, {1, 0.5}},
                      {f32, {2, 1}, {-8, 0}}},
           .expected = {{f32, {1, 2}, {4321, 1605}}},
           .from = {ByHand, "1, 2, 3, 4 after -8 + 8; (0, 1, 2, 3) / 2: (10 + "
                            "200 + 3000) / 2"}},
          {.name = "a_short_last_group",
           .inputs = {{f32, {1, 5}, {1, 1, 1, 1, 1}},
                      {DType::U8, {1, 3}, {0x99, 0x99, 0x09}},
                      {f32, {1, 2}, {1, 100}}},
           .params = {{{"group", int64_t(3)}}},
           .expected = {{f32, {1, 1}, {203}}},
           .from = {ByHand, "q = 1 five times: three in group 0, two in group "
                            "1; the last high nibble is not read"}},
          // Tells a product that is rounded to bfloat16 from one that is not.
          {.name = "weights_are_rounded_when_asked",
           .inputs = {{f32, {1, 1}, {256}},
                      {DType::I8, {2, 1}, {127, 3}},
                      {f32, {2, 1}, {1 + 0x1p-7, 0.5}}},
           .params = {{{"weight_dtype", std::string("bfloat16")}}},
           .expected = {{f32, {1, 2}, {32768, 384}}},
           .from = {ByHand, "127 * 129 / 128 = 127.99 becomes 128"}},
          {.name = "weights_are_not_rounded_otherwise",
           .inputs = {{f32, {1, 1}, {256}},
                      {DType::I8, {2, 1}, {127, 3}},
                      {f32, {2, 1}, {1 + 0x1p-7, 0.5}}},
           .expected = {{f32, {1, 2}, {32766, 384}}},
           .from = {ByHand, "256 * 127 * 129 / 128 = 2 * 16383"}},
          {.name = "zeros_are_not_skipped",
           .inputs = {{f32, {1, 2}, {0, 1}}, {f32, {1, 2}, {INFINITY, 1}}},
           .expected = {{f32, {1, 1}, {NAN}}},
           .from = {ByHand, "0 * inf is NaN"}},
      }};
}
