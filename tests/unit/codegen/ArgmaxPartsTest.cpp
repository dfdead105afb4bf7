//===- ArgmaxPartsTest.cpp - An argmax behind a product -------------------===//
#include "Bench.h"

#include <limits>

using namespace tandem;
using namespace tandem::tests;

namespace {
std::string shapeText(const Dims &shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text;
}

struct Case {
  std::string op;
  DType dtype;
  int64_t m, n, k;
  std::string target = "sm_90a";
};

/// Logits of x, W and a bias, and where they are largest.
Recipe sampler(const Case &c, const std::string &between = "",
               const std::string &index = "0") {
  const std::string type(dtypeName(c.dtype));
  return chain(tensor("x", type, shapeText({c.m, c.k})) + "," +
                   tensor("W", type, shapeText({c.n, c.k})) + "," +
                   tensor("bias", type, shapeText({c.n})),
               tensor("id", "int32", shapeText({c.m})),
               (c.op == "lm_head"
                    ? R"({"op": "lm_head", "args": [{"in": 0}, {"in": 1}],
          "out": 0, "params": {"weight_layout": "nk"}},
         {"op": "add", "args": [{"s": 0}, {"in": 2}], "out": 0},)"
                    : R"({"op": ")" + c.op +
                          R"(", "args": [{"in": 0}, {"in": 1}, {"in": 2}],
          "out": 0},)") +
                   between + R"({"op": "sample_argmax", "args": [{"s": )" +
                   index + R"(}], "out": "final"})");
}

/// The lowest index among equal maxima, NaN above all.
std::vector<double> expected(const Case &c,
                             const std::function<double(int64_t)> &w,
                             const std::function<double(int64_t)> &bias) {
  std::vector<double> ids;
  for (int64_t row = 0; row < c.m; ++row) {
    int64_t best = -1;
    double most = 0;
    for (int64_t col = 0; col < c.n; ++col) {
      double sum = bias(col);
      for (int64_t i = 0; i < c.k; ++i)
        sum += small(row * c.k + i) * w(col * c.k + i);
      if (best < 0 || (!std::isnan(most) && (std::isnan(sum) || sum > most))) {
        best = col;
        most = sum;
      }
    }
    ids.push_back(static_cast<double>(best));
  }
  return ids;
}

void check(const Case &c, const std::function<double(int64_t)> &w,
           const std::function<double(int64_t)> &bias) {
  CAPTURE(c.op);
  CAPTURE(dtypeName(c.dtype));
  CAPTURE(c.m);
  CAPTURE(c.n);
  CAPTURE(c.k);
  CAPTURE(c.target);
  Bench bench;
  const std::vector<Operand> inputs = {bench.tensor(c.dtype, {c.m, c.k}, small),
                                       bench.tensor(c.dtype, {c.n, c.k}, w),
                                       bench.tensor(c.dtype, {c.n}, bias)};
  const Recipe recipe = sampler(c);
  const std::vector<double> wanted = expected(c, w, bias);
  for (bool fuse : {true, false}) {
    CAPTURE(fuse);
    CompileOptions options;
    options.fuse = fuse;
    options.target = c.target;
    CHECK(bench.run(recipe, inputs, bench.output(DType::I32, {c.m}), options) ==
          wanted);
  }
}

/// Few values, so that most maxima are ties.
double tied(int64_t i) { return small(i / 3 * 5); }
double nothing(int64_t) { return 0; }
} // namespace

TEST_SUITE("codegen/argmax-parts") {
  TEST_CASE("the index is that of the product and the argmax on their own") {
    const DType bf16 = DType::BF16, f32 = DType::F32;
    for (const Case &c :
         {Case{"lm_head", bf16, 1, 1, 8}, Case{"lm_head", bf16, 1, 15, 40},
          Case{"lm_head", bf16, 1, 16, 40}, Case{"lm_head", f32, 1, 17, 300},
          Case{"lm_head", bf16, 1, 1000, 32}, Case{"gemv_tile", f32, 3, 70, 24},
          Case{"gemm_tile", f32, 5, 130, 12},
          Case{"gemm_tile", bf16, 1, 96, 40},
          Case{"gemm_tile", bf16, 9, 200, 40},
          Case{"gemm_tile", bf16, 70, 200, 40},
          Case{"gemm_tile", bf16, 130, 328, 64},
          Case{"gemm_tile", bf16, 66, 200, 40, "sm_80"}})
      check(c, tied, nothing);
  }

  TEST_CASE("NaN is above all, the first of them; a row of -inf gives 0") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    for (const Case &c : {Case{"lm_head", DType::BF16, 1, 100, 16},
                          Case{"gemm_tile", DType::F32, 3, 130, 12},
                          Case{"gemm_tile", DType::BF16, 9, 200, 40},
                          Case{"gemm_tile", DType::BF16, 70, 200, 40}}) {
      check(c, tied, [&](int64_t i) { return i == 70 || i == 90 ? nan : 0; });
      check(c, tied, [&](int64_t i) { return i == 90 ? inf : -inf; });
      check(c, tied, [&](int64_t) { return -inf; });
      // Every logit is a zero of some sign.
      check(
          c, [](int64_t i) { return i % 2 ? -0.0 : 0.0; },
          [](int64_t i) { return i < 90 ? -0.0 : 0.0; });
    }
  }

  TEST_CASE("logits are no temporary, and the explanation says why two") {
    const Recipe recipe =
        sampler({"lm_head", DType::BF16, 1, 32000, 64},
                R"({"op": "gelu", "args": [{"s": 0}], "out": 1},)", "1");
    const auto program = compileTypical(recipe);
    REQUIRE(program->launches.size() == 2);
    CHECK(program->launches[0].family == "gemv");
    CHECK(program->launches[0].steps == std::vector<int>{0, 1, 2, 3});
    CHECK(program->launches[1].steps == std::vector<int>{3});
    REQUIRE(program->temporaries.size() == 1);
    CHECK(program->temporaries[0].type.dtype == DType::I64);
    CHECK(program->temporaries[0].type.shape == std::vector<Dim>{1, 500});
    CHECK(program->explanation.front() ==
          "step 3 (sample_argmax) takes two kernels: each tile of the product "
          "leaves its largest and where that is, the second compares these");
  }

  TEST_CASE("a vocabulary and a number of rows that only the call knows") {
    const Recipe recipe =
        chain(tensor("h", "bfloat16", "\"M\", 64") + "," +
                  tensor("W", "bfloat16", "\"V\", 64"),
              tensor("id", "int32", "\"M\""),
              R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}], "out": 0},
           {"op": "sample_argmax", "args": [{"s": 0}], "out": "final"})");
    const auto program = compileTypical(recipe, {}, {{"M", 100}, {"V", 640}});
    REQUIRE(program->launches.size() == 2);
    REQUIRE(program->temporaries.size() == 1);
    CHECK(program->temporaries[0].type.shape ==
          std::vector<Dim>{std::string("M"), 10});
    Bench bench;
    for (int64_t m : {3, 100}) {
      std::vector<Operand> inputs = {
          bench.tensor(DType::BF16, {m, 64}, small),
          bench.tensor(DType::BF16, {640, 64}, tied)};
      CHECK(bench.run(recipe, inputs, bench.output(DType::I32, {m})) ==
            expected({"gemm_tile", DType::BF16, m, 640, 64}, tied, nothing));
    }
  }
}
