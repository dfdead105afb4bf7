//===- silu_mul.cpp - Reference for insn.silu_mul
//---------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const StepNumerics &n = *call.numerics;
  Sink &y = call.out[0];
  forBlocks(call, y.desc().numElements(), 2, 64,
            [&](int64_t first, int64_t count, auto &rows) {
              call.in[0].read(first, count, rows[0].data());
              call.in[1].read(first, count, rows[1].data());
              for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
                const T g = rows[0][i], u = rows[1][i];
                const T y = mul(mul(g, sigmoid(g, n), n), u, n);
                rows[0][i] = tinyIsLoose(y, errorOf(g) + errorOf(u) == 0);
              }
              y.write(first, count, rows[0].data());
            });
  return {};
}

RefOp tandem::refops::ref_silu_mul() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, f16 = DType::F16;
  const std::string command = "python3 refops/evidence/silu_mul.py";
  return {.code = Opcode::SILU_MUL,
          .name = "silu_mul",
          .evaluate = eval<double>,
          .evaluateBounded = eval<Bounded>,
          .knownAnswers = {
              // Tells g * sigmoid(g) * u from sigmoid(g) * u and from swapped
              // operands.
              {.name = "gate_times_its_sigmoid_times_up",
               .inputs = {{f32, {3}, {1, -2, 0.5}}, {f32, {3}, {3, 5, -4}}},
               .expected = {{f32,
                             {3},
                             {2.193175735890015, -1.1920292202211755,
                              -1.2449186624037092}}},
               .maxUlp = 0,
               .from = {HighPrecision, "the formula in 50 digits", command}},
              {.name = "neither_side_overflows",
               .inputs = {{f32, {4}, {-100, 100, -88, 1e5}},
                          {f32, {4}, {0x1p100, 1, 1, 1}}},
               .expected = {{f32,
                             {4},
                             {-4.715756543897429e-12, 100.0,
                              -5.328049667953043e-37, 100000.0}}},
               .maxUlp = 0,
               .from = {HighPrecision, "the formula in 50 digits", command}},
              {.name = "infinities",
               .inputs = {{f16, {3}, {-INFINITY, INFINITY, 0}},
                          {f16, {3}, {1, 2, 7}}},
               .expected = {{f16, {3}, {NAN, INFINITY, 0}}},
               .from = {ByHand, "-inf * sigmoid(-inf) = -inf * 0 is NaN; "
                                "inf * 1 * 2; 0 * 0.5 * 7"}},
          }};
}
