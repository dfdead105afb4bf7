//===- dequant.cpp - Reference for insn.dequant ---------------------------===//
#include "refops/Quantised.h"
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  Sink &y = call.out[0];
  const int64_t rows = y.shape()[0], columns = y.shape()[1];
  const Quantised weights(call.in[0], call.in[1],
                          call.in.size() == 3 ? &call.in[2] : nullptr, columns,
                          *call.params);
  forRows(call, columns ? rows : 0, columns * 4,
          [&, row = std::vector<T>(static_cast<size_t>(columns))](
              int64_t r) mutable {
            weights.readRow(r, row.data(), *call.numerics);
            y.write(r * columns, columns, row.data());
          });
  return {};
}

RefOp tandem::refops::ref_dequant() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, f16 = DType::F16, bf16 = DType::BF16,
              i8 = DType::I8, u8 = DType::U8;
  return {
      .code = Opcode::DEQUANT,
      .name = "dequant",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells the low nibble first from the high one first.
          {.name = "low_nibble_first_and_eight_subtracted",
           .inputs = {{u8, {2, 2}, {0x21, 0xf0, 0x88, 0x7a}},
                      {f32, {2, 1}, {2, 1}}},
           .expected = {{f32, {2, 4}, {-14, -12, -16, 14, 0, 0, 2, -1}}},
           .from = {ByHand, "0x21: 1 - 8 = -7, then 2 - 8 = -6, times 2; 0xf0: "
                            "-8, then 7; 0x88: 0 twice; 0x7a: 10 - 8, 7 - 8"}},
          // Tells zeros after the 8 from zeros instead of it, and the zero of
          // the group from that of its neighbour.
          {.name = "zeros_apply_after_the_eight",
           .inputs = {{u8, {1, 2}, {0xf0, 0x5c}},
                      {bf16, {1, 2}, {0.5, 4}},
                      {bf16, {1, 2}, {7, -8}}},
           .params = {{{"group", int64_t(2)}}},
           .expected = {{bf16, {1, 4}, {-7.5, 0, 48, 20}}},
           .from = {ByHand, "(-8 - 7) / 2, (7 - 7) / 2; 0xc - 8 + 8 = 12 and "
                            "5 - 8 + 8 = 5, times 4"}},
          {.name = "half_a_byte_is_left_over",
           .inputs = {{u8, {2, 2}, {0x98, 0xfa, 0x00, 0x07}},
                      {f32, {2, 1}, {1, 3}}},
           .params = {{{"K", int64_t(3)}}},
           .expected = {{f32, {2, 3}, {0, 1, 2, -24, -24, -3}}},
           .from = {ByHand, "K = 3: the high nibble of the second byte is not "
                            "read, and rows start at a byte"}},
          // Tells a repeated last column from a read past the scales, and a
          // short group from one that borrows.
          {.name = "short_group_and_too_few_scales",
           .inputs = {{i8, {2, 5}, {1, 2, 3, 4, 5, -128, 127, -1, 0, 7}},
                      {f32, {2, 2}, {1, 10, 2, 100}}},
           .params = {{{"group", int64_t(2)}}},
           .expected =
               {{f32, {2, 5}, {1, 2, 30, 40, 50, -256, 254, -100, 0, 700}}},
           .from = {ByHand, "columns 0 and 1 in group 0, 2 and 3 in group 1; "
                            "column 4 in group 2, which repeats group 1"}},
          // Tells one rounding from an f32 product that is rounded again.
          {.name = "one_rounding",
           .inputs = {{i8, {1, 1}, {3}}, {f32, {1, 1}, {11233963 * 0x1p-25}}},
           .expected = {{f16, {1, 1}, {1 + 0x5p-10}}},
           .from =
               {ByHand,
                "3 * 11233963 = 33701889 is one above (1 + 9 * 2^-11) * 2^25, "
                "which lies between 1 + 4 * 2^-10 (even) and 1 + 5 * 2^-10: "
                "the number goes up, but its f32 is the tie, which goes down"}},
      }};
}
