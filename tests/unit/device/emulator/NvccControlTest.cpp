//===- NvccControlTest.cpp - nvcc's calls, locks, groups and sorts -------===//
//
// As NvccTest.cpp says.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/device/emulator/Corpus.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tandem;
using namespace tandem::test;

TEST_SUITE("nvcc corpus") {
  TEST_CASE("groups: tiles and coalesced threads") {
    auto x = make<int>(64, mixed);
    Corpus("groups", "tile_sums")
        .threads(64)
        .in(x)
        .out(make<int>(8,
                       [&](int i) {
                         return std::accumulate(x.begin() + 8 * i,
                                                x.begin() + 8 * i + 8, 0);
                       }))
        .check();
    Corpus("groups", "tile_reduce")
        .threads(64)
        .in(x)
        .out(make<int>(64,
                       [&](int i) {
                         auto first = x.begin() + i / 16 * 16;
                         return *std::max_element(first, first + 16) * 1000 +
                                std::accumulate(first, x.begin() + i, 0);
                       }))
        .check();
    std::vector<int> thirds;
    for (int i = 0; i < 32; ++i)
      if (x[size_t(i)] % 3 == 0)
        thirds.push_back(x[size_t(i)]);
    Corpus("groups", "coalesced_append")
        .threads(32)
        .in(x)
        .out(thirds)
        .state(zeros<int>(1), {int(thirds.size())})
        .check();
    Corpus("groups", "block_groups")
        .threads(64)
        .in(x)
        .out(make<int>(64, [&](int i) { return x[size_t((63 - i) ^ 1)]; }))
        .check();
  }

  TEST_CASE("sort: in shared memory and in registers") {
    auto sorted = [](auto values) {
      std::sort(values.begin(), values.end());
      return values;
    };
    auto x = make<int>(128, mixed);
    Corpus("sort", "sort_bitonic").threads(128).state(x, sorted(x)).check();
    auto y = make<int>(50, mixed);
    Corpus("sort", "sort_odd_even")
        .threads(32)
        .shared(200)
        .state(y, sorted(y))
        .ints({50})
        .check();
    auto u = make<unsigned>(32, [](int i) { return i * 0x9e3779b9u; });
    Corpus("sort", "sort_warp").threads(32).state(u, sorted(u)).check();
    auto v = make<unsigned>(64, [](int i) { return i * 41 % 256; });
    Corpus("sort", "sort_radix").threads(64).state(v, sorted(v)).check();
  }

  TEST_CASE("stencil: neighbourhoods") {
    auto x = make<float>(150, [](int i) { return mixed(i); });
    auto at = [&](int i) { return i >= 0 && i < 150 ? x[size_t(i)] : 0.0f; };
    Corpus("stencil", "stencil_halo")
        .blocks(3)
        .threads(64)
        .in(x)
        .out(make<float>(150,
                         [&](int i) {
                           return at(i - 2) + 4 * at(i - 1) + 6 * at(i) +
                                  4 * at(i + 1) + at(i + 2);
                         }))
        .ints({150})
        .check();
    auto cell = [&](int r, int c) {
      return r >= 0 && r < 10 && c >= 0 && c < 15 ? x[size_t(r * 15 + c)] : 0;
    };
    Corpus("stencil", "laplace_2d")
        .blocks(2, 2)
        .threads(8, 8)
        .in(x)
        .out(make<float>(150,
                         [&](int i) {
                           int r = i / 15, c = i % 15;
                           return cell(r - 1, c) + cell(r + 1, c) +
                                  cell(r, c - 1) + cell(r, c + 1) -
                                  4 * cell(r, c);
                         }))
        .ints({10, 15})
        .check();
    auto heat = make<float>(64, [](int i) { return i * i % 64; }), now = heat;
    for (int s = 0; s < 5; ++s) {
      auto before = now;
      for (int i = 0; i < 64; ++i)
        now[size_t(i)] = 0.25f * (i ? before[size_t(i) - 1] : 0) +
                         0.5f * before[size_t(i)] +
                         0.25f * (i < 63 ? before[size_t(i) + 1] : 0);
    }
    Corpus("stencil", "heat_steps")
        .threads(64)
        .state(heat, now)
        .ints({5})
        .check();
    auto life = make<uint8_t>(256, [](int i) { return i * i % 7 < 3; });
    Corpus("stencil", "game_of_life")
        .blocks(16)
        .threads(16)
        .in(life)
        .out(make<uint8_t>(256,
                           [&](int i) {
                             int alive = 0;
                             for (int dr = 15; dr <= 17; ++dr)
                               for (int dc = 15; dc <= 17; ++dc)
                                 if (dr != 16 || dc != 16)
                                   alive +=
                                       life[size_t((i / 16 + dr) % 16 * 16 +
                                                   (i % 16 + dc) % 16)];
                             return alive == 3 ||
                                    (alive == 2 && life[size_t(i)]);
                           }))
        .ints({16})
        .check();
  }

  TEST_CASE("calls: functions, pointers, recursion, local arrays") {
    auto x = make<int>(32, [](int i) { return i * 3; });
    Corpus("calls", "call_struct")
        .threads(32)
        .in(x)
        .out(make<int64_t>(
            32,
            [](int i) { return i % 2 ? i * 3 + 103 + 1500 : i * 3 + 3 + 15; }))
        .check();
    auto depth = make<int>(32, [](int i) { return i % 9; });
    const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21};
    Corpus("calls", "recursion")
        .threads(32)
        .in(depth)
        .out(make<int>(32, [&](int i) { return fibonacci[i % 9]; }))
        .check();
    Corpus("calls", "mutual_recursion")
        .threads(32)
        .out(make<int>(32, [](int i) { return i % 2 == 0; }))
        .check();
    Corpus("calls", "function_pointers")
        .threads(32)
        .in(make<int>(32, [](int i) { return i % 3; }))
        .out(make<int>(32,
                       [](int i) {
                         return i % 3 == 0 ? 2 * i : i % 3 == 1 ? i * i : -i;
                       }))
        .check();
    auto keys = make<int>(512, [](int i) { return i * i / 3; });
    Corpus("calls", "local_array")
        .threads(32)
        .in(keys)
        .out(make<int>(32,
                       [&](int i) {
                         int count[8] = {};
                         for (int k = 0; k < 16; ++k)
                           ++count[keys[size_t(i * 16 + k)] & 7];
                         int best =
                             int(std::max_element(count, count + 8) - count);
                         return best * 100 + count[best];
                       }))
        .check();
    Corpus("calls", "switch_table")
        .threads(32)
        .in(make<int>(32, [](int i) { return i % 10; }))
        .state(std::vector<int>(32, 40),
               make<int>(32,
                         [](int i) {
                           int v = i % 10;
                           const int results[] = {11,     7, -998, 3 ^ 0x55,
                                                  4 << 9, 2, 77,   45,
                                                  -1,     -1};
                           return results[v];
                         }))
        .check();
    std::string printed;
    Corpus("calls", "print")
        .blocks(2)
        .threads(2)
        .in(std::vector<int>{-5})
        .check(&printed);
    CHECK(printed == "block 0 thread 1: -5 text 1.50 123456789abc z%\n"
                     "block 1 thread 1: -5 text 1.50 123456789abc z%\n");
    Corpus("calls", "checked")
        .threads(32)
        .in(x)
        .out(make<int>(32, [](int i) { return i * 3 + 1; }))
        .check();
  }

  TEST_CASE("sync: locks, named barriers, hand-overs") {
    Corpus("sync", "spin_lock")
        .blocks(6)
        .threads(32)
        .state(zeros<int>(1), {21})
        .check();
    Corpus("sync", "lane_lock")
        .threads(32)
        .state(zeros<int>(1), {0})
        .state(zeros<int>(1), {496})
        .check();
    auto x = make<int>(256, mixed);
    Corpus("sync", "grid_barrier")
        .blocks(8)
        .threads(32)
        .in(x)
        .scratch(1024)
        .out(make<int>(256, [&](int i) { return 2 * x[size_t(255 - i)]; }))
        .state(zeros<unsigned>(1), {8u})
        .check();
    Corpus("sync", "release_acquire")
        .blocks(2)
        .scratch(4)
        .state(zeros<int>(1), {1})
        .out(std::vector<int>{42})
        .check();
    Corpus("sync", "producer_consumer")
        .threads(64)
        .in(x)
        .out(make<int>(
            128, [&](int i) { return x[size_t(i / 32 * 32 + 31 - i % 32)]; }))
        .ints({4})
        .check();
    Corpus("sync", "warp_exchange")
        .threads(64)
        .in(x)
        .out(make<int>(64, [&](int i) { return x[size_t(i ^ 3)]; }))
        .check();
  }
}
