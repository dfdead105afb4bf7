//===- RunTest.cpp - Compiled kernels on the emulator, by hand ------------===//
//
// A few values that can be checked by hand for each family; the harness does
// the differential testing.
//
//===----------------------------------------------------------------------===//
#include "Bench.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace tandem;
using namespace tandem::tests;

TEST_SUITE("codegen/run") {
  TEST_CASE("softmax of equal logits is 1/n for every row length class") {
    for (int64_t cols : {1, 2, 7, 8, 33, 256, 1000, 4096, 4100, 10000}) {
      Bench bench;
      Operand x = bench.tensor(DType::F32, {3, cols}, [](auto) { return -2.; });
      CAPTURE(cols);
      bench.checkNear(single(Opcode::SOFTMAX, {x}), {x},
                      bench.output(DType::F32, {3, cols}),
                      [&](auto) { return 1.0 / static_cast<double>(cols); });
    }
  }

  TEST_CASE("sums of integers are exact: gemm, gemv, add over strides") {
    for (DType dtype : {DType::F32, DType::F16})
      for (Opcode op : {Opcode::GEMM_TILE, Opcode::GEMV_TILE})
        for (int64_t m : {1, 3, 65})
          for (int64_t n : {1, 5, 70})
            for (int64_t k : {1, 8, 33, 130}) {
              Bench bench;
              Operand x = bench.tensor(dtype, {m, k}, small);
              Operand w = bench.tensor(dtype, {n, k}, {k + 3, 1},
                                       [](int64_t i) { return small(i * 3); });
              auto y = bench.run(single(op, {x, w}), {x, w},
                                 bench.output(dtype, {m, n}));
              CAPTURE(m);
              CAPTURE(n);
              CAPTURE(k);
              for (int64_t i = 0; i < m * n; ++i) {
                double sum = 0;
                for (int64_t j = 0; j < k; ++j)
                  sum += small(i / n * k + j) * small((i % n * k + j) * 3);
                REQUIRE(y[i] == sum);
              }
            }
  }

  TEST_CASE("a window writes its columns only, with bias, from kn weights") {
    Bench bench;
    Operand x = bench.tensor(DType::BF16, {2, 3}, small);
    Operand w = bench.tensor(DType::BF16, {3, 5}, small);
    Operand bias = bench.tensor(DType::BF16, {5}, [](auto) { return 10.; });
    Params params;
    params.values = {{"weight_layout", std::string("kn")},
                     {"n_off", int64_t{1}},
                     {"N_tile", int64_t{3}}};
    Operand out = bench.tensor(DType::BF16, {2, 5}, [](auto) { return 99.; });
    auto y = bench.run(single(Opcode::GEMM_TILE, {x, w, bias}, params),
                       {x, w, bias}, out);
    for (int64_t i = 0; i < 10; ++i) {
      int64_t n = i % 5;
      double sum = 10;
      for (int64_t k = 0; k < 3; ++k)
        sum += small(i / 5 * 3 + k) * small(k * 5 + n);
      CHECK(y[i] == (n >= 1 && n < 4 ? sum : 99));
    }
  }

  TEST_CASE("an empty sum writes the bias") {
    Bench bench;
    Operand x = bench.tensor(DType::F32, {2, 0}, small);
    Operand w = bench.tensor(DType::F32, {3, 0}, small);
    Operand bias = bench.tensor(DType::F32, {3}, small);
    CHECK(bench.run(single(Opcode::GEMM_TILE, {x, w, bias}), {x, w, bias},
                    bench.output(DType::F32, {2, 3})) ==
          std::vector<double>{-3, -2, -1, -3, -2, -1});
  }

  TEST_CASE("argmax: lowest index of ties, zeros tie, NaN is the maximum") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::vector<double>> rows = {
        {1, 3, 3}, {-0., 0., -1}, {1, nan, nan}, {-5, -3, -4}};
    Bench bench;
    Operand x = bench.tensor(DType::F32, {4, 3}, [&](int64_t i) {
      return rows[static_cast<size_t>(i / 3)][static_cast<size_t>(i % 3)];
    });
    CHECK(bench.run(single(Opcode::SAMPLE_ARGMAX, {x}), {x},
                    bench.output(DType::I32, {4})) ==
          std::vector<double>{1, 0, 1, 1});
  }

  TEST_CASE("argmax finds the last column of a long row") {
    Bench bench;
    Operand x = bench.tensor(DType::F32, {1, 9001},
                             [&](int64_t i) { return i == 9000 ? 1. : -1.; });
    CHECK(bench.run(single(Opcode::SAMPLE_ARGMAX, {x}), {x},
                    bench.output(DType::I32, {1})) ==
          std::vector<double>{9000});
  }

  TEST_CASE("layernorm holds for a large mean") {
    Bench bench;
    Operand x = bench.tensor(DType::F32, {1, 64}, [](int64_t i) {
      return 10000. + static_cast<double>(i % 2);
    });
    Operand w = bench.tensor(DType::F32, {64}, [](auto) { return 1.; });
    // The mean is 10000.5, the variance 1/4, eps 1e-5.
    const double y = 0.5 / std::sqrt(0.25 + 1e-5);
    bench.checkNear(single(Opcode::LAYERNORM, {x, w}), {x, w},
                    bench.output(DType::F32, {1, 64}),
                    [&](int64_t i) { return i % 2 ? y : -y; });
  }

  TEST_CASE("gelu keeps relative accuracy in the tail") {
    Bench bench;
    Operand x = bench.tensor(DType::F32, {40}, [](int64_t i) {
      return -12 + 0.5 * static_cast<double>(i);
    });
    bench.checkNear(single(Opcode::GELU, {x}), {x},
                    bench.output(DType::F32, {40}), [](int64_t i) {
                      const double v = -12 + 0.5 * static_cast<double>(i);
                      return 0.5 * v * std::erfc(-v / std::sqrt(2.0));
                    });
  }

  TEST_CASE("conversions: one rounding from int32, saturation to int8") {
    Bench bench;
    // 2^24 + 2^16 + 1 is just above the tie between two bf16 values; through an
    // f32 rounded to nearest it would be on it, and go down.
    auto value = [](int64_t i) {
      return i == 0 ? double((1 << 24) + (1 << 16) + 1) : double(-(1 << 30));
    };
    Operand x = bench.tensor(DType::I32, {2}, value);
    Recipe recipe =
        chain(tensor("x", "int32", "2"), tensor("y", "bfloat16", "2"),
              R"({"op": "copy", "args": [{"in": 0}], "out": "final",
            "out_dtype": "bfloat16"})");
    CHECK(bench.run(recipe, {x}, bench.output(DType::BF16, {2})) ==
          std::vector<double>{(1 << 24) + (1 << 17), -(1 << 30)});

    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> floats = {nan, 300, -300, 1.9, -1.9, 127.5};
    Operand f = bench.tensor(DType::F32, {6}, [&](int64_t i) {
      return floats[static_cast<size_t>(i)];
    });
    recipe = chain(tensor("x", "float32", "6"), tensor("y", "int8", "6"),
                   R"({"op": "copy", "args": [{"in": 0}], "out": "final",
            "out_dtype": "int8"})");
    CHECK(bench.run(recipe, {f}, bench.output(DType::I8, {6})) ==
          std::vector<double>{0, 127, -128, 1, -1, 127});
  }

  TEST_CASE("a bad id is reported and its row stays untouched") {
    Bench bench;
    Operand ids = bench.tensor(
        DType::I32, {3}, [](int64_t i) { return i == 1 ? -1. : double(i); });
    Operand table = bench.tensor(DType::F32, {4, 20},
                                 [](int64_t i) { return double(i / 20); });
    Operand out = bench.tensor(DType::F32, {3, 20}, [](auto) { return 7.; });
    (void)bench.run(single(Opcode::EMBED, {ids, table}), {ids, table}, out);
    REQUIRE(bench.indexErrors.size() == 1);
    CHECK(bench.indexErrors[0].step == 0);
    CHECK(bench.indexErrors[0].row == 1);
    std::vector<float> rows(60);
    REQUIRE(bool(bench.device->read(out.address, rows.data(), 240)));
    CHECK(rows[0] == 0);
    CHECK(rows[20] == 7);
    CHECK(rows[39] == 7);
    CHECK(rows[40] == 2);
  }

  TEST_CASE("fused and separate steps give equal bits") {
    Recipe recipe = chain(tensor("x", "bfloat16", "\"M\", 100") + "," +
                              tensor("w", "float32", "100"),
                          tensor("y", "float16", "\"M\", 100"),
                          R"({"op": "gelu", "args": [{"in": 0}], "out": 0},
           {"op": "rmsnorm", "args": [{"s": 0}, {"in": 1}], "out": 1},
           {"op": "softmax", "args": [{"s": 1}], "out": "final",
            "out_dtype": "float16"})");
    Bench bench;
    auto wave = [](int64_t i) { return std::sin(static_cast<double>(i)) * 4; };
    Operand x = bench.tensor(DType::BF16, {5, 100}, wave);
    Operand w = bench.tensor(DType::F32, {100}, wave);
    auto fused = bench.run(recipe, {x, w}, bench.output(DType::F16, {5, 100}));
    CompileOptions options;
    options.fuse = false;
    CHECK(fused == bench.run(recipe, {x, w}, bench.output(DType::F16, {5, 100}),
                             options));
  }

  TEST_CASE("softmax along a middle dim of a transposed view") {
    Bench bench;
    auto value = [](int64_t i) { return double(i % 5); };
    Operand x = bench.tensor(DType::F32, {2, 3, 4}, {1, 2, 6}, value);
    Params params;
    params.values = {{"dim", int64_t{1}}};
    bench.checkNear(single(Opcode::SOFTMAX, {x}, params), {x},
                    bench.output(DType::F32, {2, 3, 4}), [&](int64_t i) {
                      const int64_t first = i / 12 * 12 + i % 4;
                      double sum = 0;
                      for (int64_t j = 0; j < 3; ++j)
                        sum += std::exp(value(first + 4 * j));
                      return std::exp(value(i)) / sum;
                    });
  }

  TEST_CASE("a bad id leaves final outputs of later kernels alone") {
    Recipe recipe = chain(
        tensor("ids", "int32", "3") + "," + tensor("table", "float32", "4, 8") +
            "," + tensor("W", "float32", "8, 8"),
        tensor("y", "float32", "3, 8"),
        R"({"op": "embed", "args": [{"in": 0}, {"in": 1}], "out": 0},
           {"op": "gemm_tile", "args": [{"s": 0}, {"in": 2}], "out": 1},
           {"op": "softmax", "args": [{"s": 1}], "out": "final"})");
    for (bool fuse : {true, false})
      for (bool isGemv : {false, true}) {
        Recipe variant = recipe;
        if (isGemv)
          variant.steps[1].op = Opcode::GEMV_TILE;
        Bench bench;
        Operand ids = bench.tensor(
            DType::I32, {3}, [](int64_t i) { return i == 1 ? 4. : double(i); });
        Operand table = bench.tensor(DType::F32, {4, 8}, small);
        Operand w = bench.tensor(DType::F32, {8, 8}, small);
        Operand out = bench.tensor(DType::F32, {3, 8}, [](auto) { return 7.; });
        CompileOptions options;
        options.fuse = fuse;
        (void)bench.run(variant, {ids, table, w}, out, options);
        REQUIRE(bench.indexErrors.size() == 1);
        CHECK(bench.indexErrors[0].row == 1);
        std::vector<float> rows(24);
        REQUIRE(bool(bench.device->read(out.address, rows.data(), 96)));
        for (size_t i = 0; i < 24; ++i)
          CHECK((rows[i] == 7) == (i / 8 == 1));
      }
  }

  TEST_CASE("scratch outside a window reads as zero") {
    Recipe recipe = chain(
        tensor("x", "float32", "2, 3") + "," + tensor("W", "float32", "6, 3"),
        tensor("y", "float32", "2, 6"),
        R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}], "out": 0,
            "params": {"n_off": 2, "N_tile": 2}},
           {"op": "add", "args": [{"s": 0}, {"s": 0}], "out": "final"})");
    for (bool fuse : {true, false}) {
      Bench bench;
      Operand x = bench.tensor(DType::F32, {2, 3}, [](auto) { return 1.; });
      Operand w = bench.tensor(DType::F32, {6, 3}, [](auto) { return 1.; });
      CompileOptions options;
      options.fuse = fuse;
      CHECK(bench.run(recipe, {x, w}, bench.output(DType::F32, {2, 6}),
                      options) ==
            std::vector<double>{0, 0, 6, 6, 0, 0, 0, 0, 6, 6, 0, 0});
    }
  }

  TEST_CASE("the number of rows changes no bit of a row") {
    auto wave = [](int64_t i) { return std::sin(static_cast<double>(i)) * 3; };
    for (Opcode op : {Opcode::SOFTMAX, Opcode::RMSNORM, Opcode::GEMM_TILE})
      for (int64_t cols : {70, 5000}) {
        std::vector<double> one;
        for (int64_t rows : {1, 9}) {
          Bench bench;
          std::vector<Operand> inputs = {
              bench.tensor(DType::F32, {rows, cols}, wave)};
          if (op == Opcode::RMSNORM)
            inputs.push_back(bench.tensor(DType::F32, {cols}, wave));
          if (op == Opcode::GEMM_TILE)
            inputs.push_back(bench.tensor(DType::F32, {4, cols}, wave));
          int64_t width = op == Opcode::GEMM_TILE ? 4 : cols;
          auto y = bench.run(single(op, inputs), inputs,
                             bench.output(DType::F32, {rows, width}));
          y.resize(static_cast<size_t>(width));
          if (one.empty())
            one = y;
          CHECK(one == y);
        }
      }
  }

  TEST_CASE("empty tensors are no-ops") {
    Bench bench;
    for (Dims shape : {Dims{0, 8}, Dims{3, 0}}) {
      Operand x = bench.tensor(DType::F32, shape, small);
      CHECK(bench
                .run(single(Opcode::SOFTMAX, {x}), {x},
                     bench.output(DType::F32, shape))
                .empty());
      CHECK(bench
                .run(single(Opcode::GELU, {x}), {x},
                     bench.output(DType::F32, shape))
                .empty());
    }
  }
}
