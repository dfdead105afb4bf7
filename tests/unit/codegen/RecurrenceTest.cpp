//===- RecurrenceTest.cpp - The gated delta rule on the emulator ----------===//
#include "Heads.h"

using namespace tandem;
using namespace tandem::tests;

TEST_SUITE("codegen/heads") {
  TEST_CASE("the recurrence updates its state in place") {
    struct Shape {
      int64_t batch, keyHeads, heads, depth, width;
      bool norm;
    };
    for (const Shape &s : {Shape{0, 1, 1, 2, 1, false},
                           {0, 2, 4, 16, 32, false},
                           {2, 1, 3, 33, 40, true},
                           {0, 2, 2, 128, 128, true},
                           {1, 1, 1, 80, 7, false}}) {
      CAPTURE(s.depth);
      CAPTURE(s.width);
      Bench bench;
      auto shaped = [&](Dims shape) {
        if (s.batch)
          shape.insert(shape.begin(), s.batch);
        return shape;
      };
      Operand q =
          bench.tensor(DType::F32, shaped({s.keyHeads, s.depth}), wave(1));
      Operand k =
          bench.tensor(DType::F32, shaped({s.keyHeads, s.depth}), wave(2));
      Operand v = bench.tensor(DType::F32, shaped({s.heads, s.width}), wave(3));
      Operand g = bench.tensor(DType::F32, shaped({s.heads}), wave(4));
      Operand beta = bench.tensor(DType::F32, shaped({s.heads}), wave(5));
      Operand state = bench.tensor(
          DType::F32, shaped({s.heads, s.depth, s.width}), wave(6));
      auto queries = bench.values(q), keys = bench.values(k),
           vs = bench.values(v), gs = bench.values(g),
           betas = bench.values(beta), before = bench.values(state);
      auto got =
          bench.run(single(Opcode::GDN_STEP, {q, k, v, g, beta, state},
                           with({{"qk_l2norm", s.norm}})),
                    {q, k, v, g, beta, state},
                    bench.output(DType::F32, shaped({s.heads, s.width})));
      std::vector<double> out, after = before;
      for (int64_t bh = 0; bh < std::max<int64_t>(s.batch, 1) * s.heads; ++bh) {
        int64_t keyHead =
            bh / s.heads * s.keyHeads + bh % s.heads / (s.heads / s.keyHeads);
        auto at = [&](const std::vector<double> &x, int64_t d) {
          double squares = 0;
          for (int64_t i = 0; i < s.depth; ++i) {
            double one = x[static_cast<size_t>(keyHead * s.depth + i)];
            squares += one * one;
          }
          return x[static_cast<size_t>(keyHead * s.depth + d)] /
                 (s.norm ? std::sqrt(squares + 1e-6) : 1);
        };
        auto head = static_cast<size_t>(bh);
        for (int64_t c = 0; c < s.width; ++c) {
          auto cell = [&](int64_t d) -> double & {
            return after[static_cast<size_t>((bh * s.depth + d) * s.width + c)];
          };
          double inner = 0, result = 0;
          for (int64_t d = 0; d < s.depth; ++d) {
            cell(d) *= std::exp(gs[head]);
            inner += cell(d) * at(keys, d);
          }
          double u =
              betas[head] * (vs[static_cast<size_t>(bh * s.width + c)] - inner);
          for (int64_t d = 0; d < s.depth; ++d) {
            cell(d) += at(keys, d) * u;
            result += cell(d) * at(queries, d) /
                      std::sqrt(static_cast<double>(s.depth));
          }
          out.push_back(result);
        }
      }
      checkClose(got, out, 1e-4);
      checkClose(bench.values(state), after, 1e-4);
    }
  }
}
