//===- PipelineTest.cpp - Products on asynchronous copies -----------------===//
//
// Every shape of tile and cluster on the emulator, with its checks of races,
// proxies and barriers on: exact sums of small integers, and equal bits with
// the plain kernel, whose tensor-core instruction adds up the same way.
//
//===----------------------------------------------------------------------===//
#include "Bench.h"

using namespace tandem;
using namespace tandem::tests;

namespace {
using Set = std::map<std::string, std::string>;

CompileOptions with(Set set) {
  CompileOptions options;
  options.set = std::move(set);
  return options;
}

/// Values of many exponents whose products do not add up exactly.
double rough(int64_t i) {
  const auto hash = static_cast<uint32_t>(i * 2654435761u);
  return std::ldexp(static_cast<double>(hash >> 8 & 0xff) - 128,
                    static_cast<int>(hash >> 20 & 7) - 8);
}

std::string explanationOf(const std::string &inputs, const std::string &outputs,
                          const std::string &steps, Set set = {}) {
  auto program =
      compileTypical(chain(inputs, outputs, steps), with(set), {{"M", 256}});
  return program->explanation.back();
}

const char *gemm =
    R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}], "out": "final"})";
} // namespace

TEST_SUITE("codegen/pipeline") {
  TEST_CASE("every tile and cluster adds up exactly, edges included") {
    const std::vector<Set> sets = {
        {{"stages", "2"}, {"tile_n", "64"}},
        {{"stages", "3"}, {"tile_n", "128"}, {"group", "1"}},
        {{"stages", "4"}, {"tile_n", "256"}, {"registers", "240"}},
        {{"stages", "4"}, {"tile_m", "256"}, {"tile_n", "128"}},
        {{"stages", "4"}, {"tile_m", "256"}, {"tile_n", "64"}},
        {{"stages", "3"}, {"tile_m", "16"}},
        {{"stages", "9"}, {"tile_m", "32"}},
        {{"stages", "2"}, {"tile_m", "64"}, {"tile_n", "128"}},
        {{"stages", "3"}, {"tile_n", "64"}, {"cluster_m", "2"}},
        {{"stages", "3"}, {"tile_n", "64"}, {"cluster_n", "2"}},
        {{"stages", "2"}, {"tile_n", "256"}, {"cluster_n", "2"}},
    };
    for (DType dtype : {DType::BF16, DType::F16})
      for (const Set &set : sets)
        for (const auto &[m, n, k] : std::vector<std::array<int64_t, 3>>{
                 {1, 32, 32}, {130, 72, 72}, {300, 200, 200}}) {
          Bench bench;
          Operand x = bench.tensor(dtype, {m, k}, small);
          Operand w = bench.tensor(dtype, {n, k}, {k + 8, 1},
                                   [](int64_t i) { return small(i * 3); });
          auto y = bench.run(single(Opcode::GEMM_TILE, {x, w}), {x, w},
                             bench.output(dtype, {m, n}), with(set));
          CAPTURE(dtypeName(dtype));
          CAPTURE(set);
          CAPTURE(m);
          // Sums of at most 200 products of at most 9 fit 8 bits or not; one
          // rounding then is the only error.
          for (int64_t i = 0; i < m * n; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < k; ++j)
              sum += small(i / n * k + j) * small((i % n * k + j) * 3);
            REQUIRE(y[static_cast<size_t>(i)] == roundTo(dtype, sum));
          }
        }
  }

  TEST_CASE("a pipeline's bits are those of the plain kernel") {
    for (DType dtype : {DType::BF16, DType::F16}) {
      Bench bench;
      Operand x = bench.tensor(dtype, {70, 136}, rough);
      Operand w = bench.tensor(dtype, {40, 136},
                               [](int64_t i) { return rough(i + 7777); });
      Recipe recipe = single(Opcode::GEMM_TILE, {x, w});
      Operand plain = bench.output(dtype, {70, 40});
      auto expected = bench.run(recipe, {x, w}, plain, with({{"stages", "0"}}));
      for (const Set &set :
           {Set{{"stages", "3"}}, Set{{"stages", "3"}, {"tile_m", "32"}}}) {
        Operand piped = bench.output(dtype, {70, 40});
        CHECK(expected == bench.run(recipe, {x, w}, piped, with(set)));
      }
    }
  }

  TEST_CASE("the tile stage gives the PTX's bits") {
    for (const Set &set : {Set{{"stages", "2"}, {"tile_n", "64"}},
                           Set{{"stages", "3"}, {"tile_m", "16"}},
                           Set{{"stages", "3"}, {"cluster_n", "2"}}}) {
      std::vector<std::vector<double>> results;
      for (bool onTile : {false, true}) {
        Bench bench;
        if (onTile)
          bench.device = makeTileDevice();
        Operand x = bench.tensor(DType::BF16, {70, 136}, rough);
        Operand w = bench.tensor(DType::BF16, {40, 136},
                                 [](int64_t i) { return rough(i + 7777); });
        results.push_back(bench.run(single(Opcode::GEMM_TILE, {x, w}), {x, w},
                                    bench.output(DType::BF16, {70, 40}),
                                    with(set)));
      }
      CHECK(results[0] == results[1]);
    }
  }

  TEST_CASE("bias, a residual and other types of results are fused") {
    Bench bench;
    const int64_t m = 140, n = 136, k = 64;
    Operand x = bench.tensor(DType::BF16, {m, k}, small);
    Operand w = bench.tensor(DType::BF16, {n, k}, small);
    Operand bias =
        bench.tensor(DType::BF16, {n}, [](int64_t i) { return double(i % 3); });
    Operand residual = bench.tensor(DType::BF16, {m, n}, small);
    for (const char *out : {"bfloat16", "float32"}) {
      Recipe recipe = chain(
          tensor("x", "bfloat16", "140, 64") + "," +
              tensor("W", "bfloat16", "136, 64") + "," +
              tensor("bias", "bfloat16", "136") + "," +
              tensor("r", "bfloat16", "140, 136"),
          tensor("y", out, "140, 136"),
          std::string(
              R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}, {"in": 2}], "out": 0, "out_dtype": "float32"},)"
              R"({"op": "add", "args": [{"s": 0}, {"in": 3}], "out": "final", "out_dtype": ")") +
              out + "\"}");
      const DType dtype = *dtypeNamed(out);
      auto y = bench.run(recipe, {x, w, bias, residual},
                         bench.output(dtype, {m, n}), with({{"stages", "3"}}));
      for (int64_t i = 0; i < m * n; ++i) {
        double sum = double(i % n % 3) + small(i);
        for (int64_t j = 0; j < k; ++j)
          sum += small(i / n * k + j) * small(i % n * k + j);
        REQUIRE(y[static_cast<size_t>(i)] == roundTo(dtype, sum));
      }
    }
  }

  TEST_CASE("a window of columns is all that is written") {
    Bench bench;
    const int64_t n = 200;
    Operand x = bench.tensor(DType::BF16, {3, 64}, small);
    Operand w = bench.tensor(DType::BF16, {n, 64}, small);
    Params params;
    params.values = {{"n_off", int64_t{33}}, {"N_tile", int64_t{100}}};
    Operand out = bench.tensor(DType::BF16, {3, n}, [](auto) { return 99.; });
    auto y = bench.run(single(Opcode::GEMM_TILE, {x, w}, params), {x, w}, out,
                       with({{"stages", "2"}, {"tile_n", "64"}}));
    for (int64_t i = 0; i < 3 * n; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < 64; ++k)
        sum += small(i / n * 64 + k) * small(i % n * 64 + k);
      const bool isInside = i % n >= 33 && i % n < 133;
      CHECK(y[static_cast<size_t>(i)] ==
            (isInside ? roundTo(DType::BF16, sum) : 99));
    }
  }

  TEST_CASE("tiles follow the sizes") {
    auto of = [](int64_t m, int64_t n, int64_t k, bool isInvariant = false) {
      const std::string x = std::to_string(m) + ", " + std::to_string(k),
                        w = std::to_string(n) + ", " + std::to_string(k),
                        y = std::to_string(m) + ", " + std::to_string(n);
      std::string step = gemm;
      if (isInvariant)
        step.insert(step.size() - 1, R"(, "params": {"invariant": true})");
      const std::string text = explanationOf(tensor("x", "bfloat16", x) + "," +
                                                 tensor("W", "bfloat16", w),
                                             tensor("y", "bfloat16", y), step);
      return text.substr(text.find(" is ") + 4);
    };
    const std::string tail = " of 64 k filled by asynchronous copies";
    CHECK(of(8192, 8192, 8192) ==
          "matmul: tiles of 128 x 256, 4 stages" + tail);
    CHECK(of(2048, 2048, 2048) ==
          "matmul: tiles of 128 x 256, 4 stages" + tail);
    CHECK(of(1024, 1024, 1024) == "matmul: tiles of 128 x 64, 8 stages" + tail);
    CHECK(of(1000, 1000, 1000) ==
          "matmul: tiles of 128 x 64, 8 stages" + tail + ", clusters of 1 x 2");
    CHECK(of(4097, 4096, 4104) == "matmul: tiles of 128 x 256, 4 stages" +
                                      tail + ", clusters of 1 x 2");
    CHECK(of(128, 8192, 8192) == "matmul: tiles of 128 x 64, 8 stages" + tail);
    CHECK(of(16, 14336, 4096) == "matmul: tiles of 16 x 128, 8 stages" + tail +
                                     ", rows of W as the tensor core's rows");
    CHECK(of(1, 14336, 4096).starts_with("gemv: "));
    CHECK(of(1, 14336, 4096, true) ==
          "matmul: tiles of 16 x 128, 8 stages" + tail +
              ", rows of W as the tensor core's rows");
  }

  TEST_CASE("a few rows and one row add up exactly, with a bias") {
    const int64_t n = 200, k = 136;
    for (int64_t m : {1, 2, 17, 64}) {
      Bench bench;
      Operand x = bench.tensor(DType::BF16, {m, k}, small);
      Operand w = bench.tensor(DType::BF16, {n, k}, small);
      Operand bias = bench.tensor(DType::BF16, {n},
                                  [](int64_t i) { return double(i % 3); });
      auto y = bench.run(single(Opcode::GEMM_TILE, {x, w, bias}), {x, w, bias},
                         bench.output(DType::BF16, {m, n}), CompileOptions());
      CAPTURE(m);
      for (int64_t i = 0; i < m * n; ++i) {
        double sum = double(i % n % 3);
        for (int64_t j = 0; j < k; ++j)
          sum += small(i / n * k + j) * small(i % n * k + j);
        REQUIRE(y[static_cast<size_t>(i)] == roundTo(DType::BF16, sum));
      }
    }
  }

  TEST_CASE("explanations say why a product is not asynchronous") {
    const std::string y = tensor("y", "bfloat16", "\"M\", 64");
    auto of = [&](const char *x, const char *w) {
      const std::string text = explanationOf(tensor("x", "bfloat16", x) + "," +
                                                 tensor("W", "bfloat16", w),
                                             y, gemm);
      const size_t at = text.find("not asynchronous");
      return at == std::string::npos ? std::string() : text.substr(at);
    };
    CHECK(of("\"M\", 64", "64, 64") == "");
    CHECK(of("\"M\", 60", "64, 60") ==
          "not asynchronous: rows of x and W are not all multiples of 16 "
          "bytes");
    CHECK(of("\"M\", 16", "64, 16") ==
          "not asynchronous: K is below 32 or N below 32");
    CHECK(explanationOf(tensor("x", "float32", "\"M\", 64") + "," +
                            tensor("W", "float32", "64, 64"),
                        tensor("y", "float32", "\"M\", 64"), gemm)
              .ends_with("x and W are not both float16 or both bfloat16"));
  }

  TEST_CASE("parameters that make no pipeline are refused") {
    auto errorOf = [](const char *k, Set set) {
      Recipe recipe =
          chain(tensor("x", "bfloat16", std::string("128, ") + k) + "," +
                    tensor("W", "bfloat16", std::string("64, ") + k),
                tensor("y", "bfloat16", "128, 64"), gemm);
      auto operands = typicalOperands(recipe, {});
      REQUIRE(bool(operands));
      auto program =
          compile(recipe, operands->first, operands->second, with(set));
      REQUIRE(!program);
      return program.error().text();
    };
    CHECK(errorOf("64", {{"stages", "9"}}) ==
          "set: stages: expected one of 2, 3, 4, 5, 6, 7, 8 in an asynchronous "
          "product, got '9'");
    CHECK(errorOf("60", {{"stages", "4"}}) ==
          "set: stages: the product cannot be asynchronous: rows of x and W "
          "are not all multiples of 16 bytes");
    CHECK(errorOf("64", {{"tile_m", "256"}, {"tile_n", "256"}}) ==
          "set: tile_m: a tile of 256 rows has at most 128 columns");
    CHECK(errorOf("64", {{"cluster_m", "2"}, {"cluster_n", "2"}}) ==
          "set: cluster_n: a cluster has at most 2 CTAs");
    CHECK(
        errorOf("64", {{"stages", "2"}, {"tile_m", "32"}, {"tile_n", "64"}}) ==
        "set: tile_m: a tile of at most 64 rows has 128 columns, and its "
        "CTAs share nothing");
  }
}
