//===- allreduce_shard.cpp - Reference for insn.allreduce_shard
//-------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  Sink &y = call.out[0];
  const int64_t shards = static_cast<int64_t>(call.in.size());
  forBlocks(call, y.desc().numElements(), 2, shards,
            [&](int64_t first, int64_t count, auto &rows) {
              call.in[0].read(first, count, rows[0].data());
              for (size_t s = 1; s < call.in.size(); ++s) {
                call.in[s].read(first, count, rows[1].data());
                for (size_t i = 0; i < static_cast<size_t>(count); ++i)
                  rows[0][i] = addF32(rows[0][i], rows[1][i]);
              }
              y.write(first, count, rows[0].data());
            });
  return {};
}

RefOp tandem::refops::ref_allreduce_shard() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, bf16 = DType::BF16;
  return {
      .code = Opcode::ALLREDUCE_SHARD,
      .name = "allreduce_shard",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells left to right from a tree and from one rounding at the end.
          {.name = "left_to_right",
           .inputs = {{f32, {1}, {0x1p24}},
                      {f32, {1}, {1}},
                      {f32, {1}, {1}},
                      {f32, {1}, {-0x1p24}}},
           .expected = {{f32, {1}, {0}}},
           .from = {ByHand,
                    "2^24 + 1 is a tie that goes to 2^24, twice; a tree or the "
                    "exact sum gives another number (2^24 + 2 - 2^24 = 2)"}},
          {.name = "accumulates_in_f32_not_in_bfloat16",
           .inputs = {{bf16, {1}, {256}}, {bf16, {1}, {1}}, {bf16, {1}, {1}}},
           .expected = {{bf16, {1}, {258}}},
           .from = {ByHand, "bfloat16 256 + 1 would stay 256; 258 is "
                            "representable"}},
          {.name = "one_shard_is_a_copy",
           .inputs = {{f32, {3}, {-0.0, 0x1p-149, INFINITY}}},
           .expected = {{f32, {3}, {-0.0, 0x1p-149, INFINITY}}},
           .from = {ByHand, "no addition: the sign of zero survives"}},
      }};
}
