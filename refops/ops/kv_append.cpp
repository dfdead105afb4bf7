//===- kv_append.cpp - Reference for insn.kv_append -----------------------===//
#include "refops/KvCache.h"
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const Source &rows = call.in[0];
  Sink &cache = call.state[0];
  const Dims &shape = cache.shape();
  const bool isBatched = shape.size() == 4;
  const int64_t slots = shape[shape.size() - 3];
  const int64_t width = shape[shape.size() - 2] * shape.back();
  for (int64_t r = 0; r < rows.shape()[0]; ++r) {
    const int64_t pos = intParam(call, "pos", 0, isBatched ? r : 0);
    const int64_t slot = isBatched ? pos : pos + r;
    if (slot < 0 || slot >= slots) {
      call.log->add({call.step, r, slot});
      continue;
    }
    const int64_t at = (isBatched ? r * slots : 0) + slot;
    appendRow(rows, r * width, cache, at * width, width,
              static_cast<T *>(nullptr));
  }
  return {};
}

RefOp tandem::refops::ref_kv_append() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, f16 = DType::F16, bf16 = DType::BF16,
              e4m3 = DType::F8E4M3, i32 = DType::I32;
  const auto at = [](int64_t pos) { return Params{{{"pos", pos}}}; };
  const Params onDevice = {{{"pos", OperandParam{2}}}};
  return {
      .code = Opcode::KV_APPEND,
      .name = "kv_append",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells a row from an element, and pos from pos + 1.
          {.name = "rows_from_pos_on",
           .inputs = {{f32, {2, 1, 2}, {1, 2, 3, 4}},
                      {f32, {4, 1, 2}, {9, 9, 8, 8, 7, 7, 6, 6}}},
           .params = at(1),
           .expected = {{f32, {4, 1, 2}, {9, 9, 1, 2, 3, 4, 6, 6}}},
           .from = {ByHand, "slots 1 and 2 of 4"}},
          {.name = "flat_rows_and_one_rounding",
           .inputs = {{f32, {1, 4}, {1 + 0x1p-11, 1 + 0x3p-11, -0.0, 1e6}},
                      {f16, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}},
           .params = at(0),
           .expected =
               {{f16, {2, 2, 2}, {1, 1 + 0x2p-10, -0.0, INFINITY, 5, 6, 7, 8}}},
           .from = {ByHand, "float16 has 10 fraction bits: both numbers are "
                            "ties, 1 + 2^-11 goes to 1, 1 + 3 * 2^-11 to 1 + 2 "
                            "* 2^-10; 1e6 overflows"}},
          // Tells slot pos of every sequence from rows pos ... of one.
          {.name = "a_slot_of_every_sequence",
           .inputs = {{bf16, {2, 1, 1}, {1, 2}},
                      {bf16, {2, 3, 1, 1}, {9, 8, 7, 6, 5, 4}}},
           .params = at(2),
           .expected = {{bf16, {2, 3, 1, 1}, {9, 8, 1, 6, 5, 2}}},
           .from = {ByHand, "slot 2 of both caches"}},
          {.name = "a_slot_for_each_sequence",
           .inputs = {{f32, {3, 1}, {1, 2, 3}},
                      {f32, {3, 2, 1, 1}, {9, 8, 7, 6, 5, 4}},
                      {i32, {3}, {1, 2, 0}}},
           .params = onDevice,
           .expected = {{f32, {3, 2, 1, 1}, {9, 1, 7, 6, 3, 4}}},
           .from = {ByHand,
                    "slot 1 of sequence 0, slot 0 of sequence 2; slot 2 "
                    "is outside of sequence 1, whose cache stays"}},
          {.name = "the_last_slot_and_one_past_it",
           .inputs = {{f32, {2, 1, 1}, {1, 2}},
                      {f32, {2, 1, 1}, {9, 8}},
                      {i32, {1}, {1}}},
           .params = onDevice,
           .expected = {{f32, {2, 1, 1}, {9, 1}}},
           .from = {ByHand, "row 0 goes to slot 1, row 1 would go to slot 2"}},
          {.name = "float8_saturates",
           .inputs = {{f32, {1, 1, 2}, {INFINITY, -1e6}},
                      {e4m3, {1, 1, 2}, {1, 2}}},
           .params = at(0),
           .expected = {{e4m3, {1, 1, 2}, {448, -448}}},
           .from = {ByHand, "a cast as copy does: the largest e4m3fn is 448"}},
      }};
}
