//===- add.cpp - Reference for insn.add
//-------------------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  Sink &y = call.out[0];
  const Source a = call.in[0].broadcastTo(y.shape());
  const Source b = call.in[1].broadcastTo(y.shape());
  forBlocks(call, y.desc().numElements(), 2, 2,
            [&](int64_t first, int64_t count, auto &rows) {
              a.read(first, count, rows[0].data());
              b.read(first, count, rows[1].data());
              for (size_t i = 0; i < static_cast<size_t>(count); ++i)
                rows[0][i] = addF32(rows[0][i], rows[1][i]);
              y.write(first, count, rows[0].data());
            });
  return {};
}

RefOp tandem::refops::ref_add() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, bf16 = DType::BF16;
  return {
      .code = Opcode::ADD,
      .name = "add",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells f32 then bfloat16 from one rounding of the exact sum.
          {.name = "rounds_to_f32_first",
           .inputs = {{f32, {1}, {1 + 0x1p-8}}, {f32, {1}, {0x1p-30}}},
           .expected = {{bf16, {1}, {1}}},
           .from = {ByHand,
                    "f32(1 + 2^-8 + 2^-30) = 1 + 2^-8, a tie that goes to 1; "
                    "the exact sum is above the tie and would give 1 + 2^-7"}},
          {.name = "row_and_column_broadcast",
           .inputs = {{f32, {2, 1}, {10, 20}}, {f32, {3}, {1, 2, 3}}},
           .expected = {{f32, {2, 3}, {11, 12, 13, 21, 22, 23}}},
           .from = {ByHand, "a[i, 0] + b[j]"}},
          {.name = "infinities_and_signed_zeros",
           .inputs = {{f32, {5}, {INFINITY, INFINITY, -0.0, -0.0, 3e38}},
                      {f32, {5}, {-INFINITY, 1, -0.0, 0.0, 3e38}}},
           .expected = {{f32, {5}, {NAN, INFINITY, -0.0, 0.0, INFINITY}}},
           .from = {ByHand, "IEEE 754: inf - inf is NaN, -0 + -0 is -0, "
                            "-0 + +0 is +0; 6e38 is beyond 2^128"}},
      }};
}
