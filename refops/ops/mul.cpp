//===- mul.cpp - Reference for insn.mul
//-------------------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  Sink &y = call.out[0];
  const bool hasTwo = call.in.size() == 2;
  const Source a = call.in[0].broadcastTo(y.shape());
  const Source b = call.in[hasTwo ? 1 : 0].broadcastTo(y.shape());
  const T scale = static_cast<double>(call.params->getFloat("scale", 1));
  forBlocks(call, y.desc().numElements(), 2, 2,
            [&](int64_t first, int64_t count, auto &rows) {
              a.read(first, count, rows[0].data());
              if (hasTwo)
                b.read(first, count, rows[1].data());
              for (size_t i = 0; i < static_cast<size_t>(count); ++i)
                rows[0][i] = mulF32(rows[0][i], hasTwo ? rows[1][i] : scale);
              y.write(first, count, rows[0].data());
            });
  return {};
}

RefOp tandem::refops::ref_mul() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, f16 = DType::F16;
  return {
      .code = Opcode::MUL,
      .name = "mul",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells that zeros are not skipped.
          {.name = "zero_times_infinity_is_nan",
           .inputs = {{f32, {3}, {0, 2, -0.0}},
                      {f32, {3}, {INFINITY, -INFINITY, 5}}},
           .expected = {{f32, {3}, {NAN, -INFINITY, -0.0}}},
           .from = {ByHand, "IEEE 754"}},
          {.name = "scale_is_ignored_with_two_inputs",
           .inputs = {{f32, {2}, {3, 4}}, {f32, {1}, {5}}},
           .params = {{{"scale", 100.0}}},
           .expected = {{f32, {2}, {15, 20}}},
           .from = {ByHand, "3 * 5, 4 * 5; scale belongs to one operand"}},
          {.name = "scale_is_rounded_to_f32",
           .inputs = {{f32, {2}, {0x1p24, 1}}},
           .params = {{{"scale", 1 + 0x1p-30}}},
           .expected = {{f32, {2}, {0x1p24, 1}}},
           .from = {ByHand, "f32(1 + 2^-30) is 1"}},
          {.name = "subnormal_float16_product",
           .inputs = {{f16, {2}, {0x1p-10, 0x1.8p-10}}},
           .params = {{{"scale", 0x1p-14}}},
           .expected = {{f16, {2}, {0x1p-24, 0x1p-23}}},
           .from = {ByHand,
                    "2^-24 is the spacing of float16 subnormals; 1.5 of them "
                    "is a tie that goes to 2 (even)"}},
      }};
}
