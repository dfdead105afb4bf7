//===- gemm_tile.cpp - Reference for insn.gemm_tile
//-------------------------===//
#include "refops/Matmul.h"
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

RefOp tandem::refops::ref_gemm_tile() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, f16 = DType::F16;
  const double keep = untouched;
  return {
      .code = Opcode::GEMM_TILE,
      .name = "gemm_tile",
      .evaluate = matmulTile<double>,
      .evaluateBounded = matmulTile<Bounded>,
      .multiplies = true,
      .knownAnswers = {
          // Square, so that nk and kn both have the right shape: they differ.
          {.name = "weights_are_nk_by_default",
           .inputs = {{f32, {1, 2}, {1, 10}}, {f32, {2, 2}, {1, 2, 3, 4}}},
           .expected = {{f32, {1, 2}, {21, 43}}},
           .from = {ByHand, "row 0 of W: 1*1 + 10*2; row 1: 1*3 + 10*4; as kn "
                            "it would be 31, 42"}},
          {.name = "weights_kn",
           .inputs = {{f32, {2, 2}, {0, 0, 2, -3}},
                      {f32, {2, 2}, {1, 2, 3, 4}}},
           .params = {{{"weight_layout", std::string("kn")}}},
           .expected = {{f32, {2, 2}, {0, 0, -7, -8}}},
           .from = {ByHand, "2*1 - 3*3 and 2*2 - 3*4"}},
          // Tells bias[n] from bias[n - n_off], and untouched from zero.
          {.name = "a_tile_writes_its_columns_only",
           .inputs = {{f32, {2, 1}, {1, 2}},
                      {f32, {4, 1}, {1, 2, 3, 4}},
                      {f32, {4}, {10, 20, 30, 40}}},
           .params = {{{"n_off", int64_t(1)}, {"N_tile", int64_t(2)}}},
           .expected =
               {{f32, {2, 4}, {keep, 22, 33, keep, keep, 24, 36, keep}}},
           .from = {ByHand, "columns 1 and 2: x * (2, 3) + (20, 30)"}},
          {.name = "a_tile_ends_with_the_matrix",
           .inputs = {{f32, {1, 1}, {2}}, {f32, {3, 1}, {1, 2, 3}}},
           .params = {{{"n_off", int64_t(2)}, {"N_tile", int64_t(8)}}},
           .expected = {{f32, {1, 3}, {keep, keep, 6}}},
           .from = {ByHand, "min(2 + 8, 3) = 3, so column 2 only"}},
          // Tells the group of k from that of its neighbour, and a repeated
          // last column from a read past the scales.
          {.name = "int8_groups",
           .inputs = {{f16, {2, 5}, {1, 1, 1, 1, 1, 0, 0, 1, 0, 2}},
                      {DType::I8, {2, 5}, {1, 2, 3, 4, 5, -128, 127, 0, 1, 2}},
                      {f16, {2, 2}, {1, 10, 2, 0.5}},
                      {f16, {2, 2}, {0, 1, -1, 0}}},
           .params = {{{"group", int64_t(2)}}},
           .expected = {{f16, {2, 2}, {93, 3.5, 100, 2}}},
           .from = {ByHand, "row 0: 1 + 2 + (2 + 3 + 4) * 10 and 2 * (-127 + "
                            "128) + 0.5 * 3; row 1: (2 + 2 * 4) * 10 and 0.5 * "
                            "(0 + 2 * 2); column 4 repeats group 1"}},
          {.name = "a_quantised_tile",
           .inputs = {{f32, {1, 3}, {1, 10, 100}},
                      {DType::U8, {3, 2}, {0x98, 0x0a, 0x21, 0x03, 0xff, 0x00}},
                      {f32, {3, 1}, {1, 2, 3}}},
           .params = {{{"n_off", int64_t(1)}, {"N_tile", int64_t(1)}}},
           .expected = {{f32, {1, 3}, {keep, -1134, keep}}},
           .from = {ByHand, "row 1 of W: 1 - 8, 2 - 8, 3 - 8, times 2: 2 * (-7 "
                            "- 60 - 500)"}},
          {.name = "an_empty_sum_is_zero_and_the_bias_stays",
           .inputs = {{f16, {2, 0}, {}},
                      {f16, {3, 0}, {}},
                      {f16, {3}, {1, 2, 3}}},
           .expected = {{f16, {2, 3}, {1, 2, 3, 1, 2, 3}}},
           .from = {ByHand, "K = 0"}},
      }};
}
