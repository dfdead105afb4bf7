//===- NvccTest.cpp - Kernels that nvcc compiled, against host formulas ---===//
//
// tests/inputs/cuda/*.cu, compiled by scripts/nvcc-corpus. Each kernel runs in
// the plain order and in a shuffled one, has to be clean under every check, and
// its outputs are compared with a loop that says what it computes.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/device/emulator/Corpus.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tandem;
using namespace tandem::test;

TEST_SUITE("nvcc corpus") {
  TEST_CASE("reduce: sums, maxima and votes") {
    auto floats = make<float>(1000, [](int i) { return mixed(i) / 4.0; });
    double sum = std::accumulate(floats.begin(), floats.end(), 0.0);
    Corpus("reduce", "sum_shuffle")
        .threads(256)
        .in(floats)
        .out(std::vector<float>{float(sum)})
        .ints({1000})
        .check();
    auto x = make<int>(1000, mixed);
    Corpus("reduce", "sum_tree")
        .blocks(4)
        .threads(256)
        .shared(1024)
        .in(x)
        .state(zeros<int>(1), {int(sumOf(x))})
        .ints({1000})
        .check();
    Corpus("reduce", "max_atomic")
        .blocks(4)
        .threads(256)
        .in(x)
        .state(std::vector<int>{-9999},
               std::vector<int>{*std::max_element(x.begin(), x.end())})
        .ints({1000})
        .check();
    auto a = make<double>(100, [](int i) { return mixed(i); });
    auto b = make<double>(100, [](int i) { return i % 5 - 2; });
    Corpus("reduce", "dot_double")
        .threads(32)
        .in(a)
        .in(b)
        .out(std::vector<double>{
            std::inner_product(a.begin(), a.end(), b.begin(), 0.0)})
        .ints({100})
        .check();
    auto w = make<int>(32, mixed);
    int bits = 0;
    for (int v : w)
      bits ^= v;
    Corpus("reduce", "redux_all")
        .threads(32)
        .in(w)
        .out(std::vector<int>{int(sumOf(w)),
                              *std::max_element(w.begin(), w.end()), bits})
        .check();
    int positive = 0, odd = 0;
    for (int v : x) {
      positive += v > 0;
      odd += v & 1;
    }
    Corpus("reduce", "count_positive")
        .blocks(4)
        .threads(256)
        .in(x)
        .state(std::vector<int>{0, 0, -1, 0},
               std::vector<int>{positive,
                                std::count(x.begin(), x.end(), 77) ? 1 : 0, 1,
                                odd})
        .ints({1000})
        .check();
    Corpus("reduce", "sum_last_block")
        .blocks(8)
        .threads(128)
        .in(x)
        .scratch(8 * 4)
        .state(zeros<unsigned>(1), {8u})
        .out(std::vector<int>{int(sumOf(x))})
        .ints({1000})
        .check();
  }

  TEST_CASE("scan: prefix sums") {
    auto x = make<int>(256, mixed);
    auto inclusive = [&](int n, int period) {
      std::vector<int> sums(static_cast<size_t>(n));
      for (int i = 0; i < n; ++i)
        sums[size_t(i)] = x[size_t(i)] + (i % period ? sums[size_t(i) - 1] : 0);
      return sums;
    };
    Corpus("scan", "scan_warp")
        .threads(64)
        .in(x)
        .out(inclusive(64, 32))
        .check();
    Corpus("scan", "scan_hillis")
        .threads(128)
        .in(x)
        .out(inclusive(128, 128))
        .check();
    auto exclusive = inclusive(256, 256);
    for (size_t i = 0; i < 256; ++i)
      exclusive[i] -= x[i];
    Corpus("scan", "scan_blelloch").threads(128).in(x).out(exclusive).check();
    Corpus("scan", "scan_chained")
        .blocks(8)
        .threads(32)
        .in(x)
        .out(inclusive(256, 256))
        .scratch(8 * 4)
        .state(zeros<int>(8), std::vector<int>(8, 1))
        .check();
  }

  TEST_CASE("histogram: atomics of every kind") {
    auto x = make<uint8_t>(1000, [](int i) { return i * i % 251; });
    std::vector<unsigned> bins(256), sixteen(16);
    for (uint8_t v : x) {
      ++bins[v];
      ++sixteen[v % 16];
    }
    Corpus("histogram", "histogram_shared")
        .blocks(3)
        .threads(128)
        .in(x)
        .state(zeros<unsigned>(256), bins)
        .ints({1000})
        .check();
    Corpus("histogram", "histogram_global")
        .blocks(8)
        .threads(128)
        .in(x)
        .state(zeros<unsigned>(16), sixteen)
        .ints({1000})
        .check();
    auto k = make<int>(64, mixed);
    std::vector<int> eight(8);
    for (int v : k)
      ++eight[size_t(v & 7)];
    Corpus("histogram", "histogram_match")
        .threads(64)
        .in(k)
        .state(zeros<int>(8), eight)
        .check();
    std::vector<float> single(5);
    std::vector<double> wide(5);
    for (int i = 0; i < 100; ++i) {
      single[size_t(i % 5)] += float(i) / 2;
      wide[size_t(i % 5)] += i / 2.0;
    }
    Corpus("histogram", "weights_by_bin")
        .blocks(2)
        .threads(64)
        .in(make<int>(100, [](int i) { return i % 5; }))
        .in(make<float>(100, [](int i) { return i / 2.0; }))
        .state(zeros<float>(5), single)
        .state(zeros<double>(5), wide)
        .ints({100})
        .check();
    Corpus("histogram", "max_cas")
        .blocks(2)
        .threads(64)
        .in(make<float>(100, [](int i) { return (i * 37 % 101) / 8.0; }))
        .state(zeros<float>(1), {100 / 8.0f})
        .ints({100})
        .check();
    // 1.0 and 2.0 as halves, 32 times: 32 and 64.
    Corpus("histogram", "half2_sum")
        .threads(32)
        .in(std::vector<uint32_t>(32, 0x40003c00))
        .state(zeros<uint32_t>(1), {0x54005000})
        .check();
    // Tickets 0..9, 0..9 and so on: 3 * 45 + 0 + 1 of them.
    Corpus("histogram", "ticket")
        .threads(32)
        .state(zeros<unsigned>(1), {2u})
        .state(zeros<uint64_t>(2), {uint64_t(136) << 32, uint64_t(1)})
        .state(std::vector<unsigned>{99, 0, 32, 0}, {0u, 0u, 0u, 0u})
        .check();
  }
}
