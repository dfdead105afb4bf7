//===- NvccHopperTest.cpp - Hopper kernels that nvcc compiled -------------===//
//
// tests/inputs/cuda/hopper.cu: bulk copies, mbarriers, clusters and wgmma by
// hand and by the toolkit's wrappers. Clean, and equal to host formulas.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/device/emulator/Corpus.h"

#include "refops/core/DType.h"

using namespace tandem;
using namespace tandem::test;

namespace {
std::vector<int> count(int n) {
  return make<int>(n, [](int i) { return i * 3 + 1; });
}
std::vector<uint16_t> bfloats(const std::vector<int> &values) {
  std::vector<uint16_t> bits(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    storeDouble(DType::BF16, values[i], &bits[i]);
  return bits;
}
/// c[64][16] = a[64][k] b[16][k]^T.
template <typename T>
std::vector<T> product(const std::vector<int> &a, const std::vector<int> &b,
                       int k) {
  return make<T>(64 * 16, [&](int i) {
    int sum = 0;
    for (int j = 0; j < k; ++j)
      sum += a[static_cast<size_t>(i / 16 * k + j)] *
             b[static_cast<size_t>(i % 16 * k + j)];
    return sum;
  });
}
std::vector<int> small(int n, int seed) {
  return make<int>(n, [=](int i) { return (i * 7 + i / 13 + seed) % 5 - 2; });
}
TensorMapSpec box(MapType type, int64_t columns, int64_t rows, int width,
                  int height, MapSwizzle swizzle) {
  TensorMapSpec map;
  map.type = type;
  map.dims = {IntExpr(columns), IntExpr(rows)};
  map.strides = {IntExpr(columns * mapTypeBytes(type))};
  map.box = {width, height};
  map.swizzle = swizzle;
  return map;
}
} // namespace

TEST_SUITE("nvcc corpus") {
  TEST_CASE("hopper: copies that a barrier counts") {
    auto x = make<float>(256, mixed);
    Corpus("hopper", "scale_by_copies")
        .blocks(2)
        .threads(128)
        .in(x)
        .out(make<float>(256, [](int i) { return 2 * mixed(i); }))
        .check();
    Corpus("hopper", "scale_by_library")
        .blocks(2)
        .threads(128)
        .in(x)
        .out(make<float>(256, [](int i) { return 3 * mixed(i); }))
        .check();
    auto rows = make<int>(7 * 64, mixed);
    Corpus("hopper", "sum_through_ring")
        .threads(96)
        .in(rows)
        .out(make<int>(64,
                       [&](int i) {
                         int sum = 0;
                         for (int t = 0; t < 7; ++t)
                           sum += rows[static_cast<size_t>(t * 64 + i)];
                         return sum;
                       }))
        .ints({7})
        .check();
    auto words = count(256);
    Corpus("hopper", "copies_of_threads")
        .threads(64)
        .in(words)
        .out(std::vector<int>(words.rbegin(), words.rend()))
        .check();
  }

  TEST_CASE("hopper: boxes of a tensor, and sums in global memory") {
    // 64 columns and 40 rows: the second row of boxes is cut.
    auto x = count(64 * 40);
    Corpus("hopper", "transpose_box")
        .blocks(2, 2)
        .threads(64)
        .in(x)
        .out(make<int>(64 * 40,
                       [&](int i) {
                         return x[static_cast<size_t>(i % 40 * 64 + i / 40)];
                       }))
        .map(0, box(MapType::S32, 64, 40, 32, 32, MapSwizzle::None))
        .ints({40})
        .check();
    auto tiles = make<float>(3 * 64, [](int i) { return i % 17; });
    Corpus("hopper", "add_tiles")
        .blocks(3)
        .threads(64)
        .in(tiles)
        .state(make<float>(64, [](int) { return 100; }),
               make<float>(64,
                           [&](int i) {
                             auto at = static_cast<size_t>(i);
                             return 100 + tiles[at] + tiles[at + 64] +
                                    tiles[at + 128];
                           }))
        .check();
  }

  TEST_CASE("hopper: products of warpgroups") {
    auto a = small(64 * 64, 1), b = small(16 * 64, 2);
    Corpus("hopper", "product_of_threads")
        .threads(128)
        .in(bfloats(a))
        .in(bfloats(b))
        .out(product<float>(a, b, 64))
        .check();
    auto deepA = small(64 * 320, 3), deepB = small(16 * 320, 4);
    Corpus("hopper", "product_of_boxes")
        .threads(128)
        .in(bfloats(deepA))
        .in(bfloats(deepB))
        .out(product<float>(deepA, deepB, 320))
        .map(0, box(MapType::BF16, 320, 64, 64, 64, MapSwizzle::B128))
        .map(1, box(MapType::BF16, 320, 16, 64, 16, MapSwizzle::B128))
        .ints({320})
        .check();
    // The same codes as numbers and as e4m3.
    const int codes[] = {0x38, 0x40, 0xb8 - 256, 0, 0x30};
    const double values[] = {1, 2, -1, 0, 0.5};
    auto pick = [](int n, int seed) {
      return make<size_t>(n, [=](int i) { return (i * 7 + i / 3 + seed) % 5; });
    };
    auto pa = pick(64 * 32, 1), pb = pick(16 * 32, 2);
    auto numbersOf = [&](const std::vector<size_t> &picked) {
      std::vector<int> result;
      for (size_t p : picked)
        result.push_back(codes[p]);
      return result;
    };
    auto bytes = [](const std::vector<int> &numbers) {
      return std::vector<int8_t>(numbers.begin(), numbers.end());
    };
    auto na = numbersOf(pa), nb = numbersOf(pb);
    auto floats = make<float>(64 * 16, [&](int i) {
      double sum = 0;
      for (int j = 0; j < 32; ++j)
        sum += values[pa[static_cast<size_t>(i / 16 * 32 + j)]] *
               values[pb[static_cast<size_t>(i % 16 * 32 + j)]];
      return sum;
    });
    Corpus("hopper", "product_of_bytes")
        .threads(128)
        .in(bytes(na))
        .in(bytes(nb))
        .out(product<int>(na, nb, 32))
        .out(floats)
        .check();
  }

  TEST_CASE("hopper: blocks of a cluster") {
    auto x = make<int>(128, [](int i) { return i * i + i / 3; });
    Corpus("hopper", "cluster_histogram")
        .blocks(2)
        .threads(64)
        .cluster(2)
        .in(x)
        .out(make<int>(16,
                       [&](int bin) {
                         return std::count_if(
                             x.begin(), x.end(),
                             [=](int value) { return (value & 15) == bin; });
                       }))
        .check();
    auto swapped = [&](bool isReversed) {
      return make<int>(128, [&, isReversed](int i) {
        int other = i < 64 ? 64 : 0, at = i % 64;
        return x[static_cast<size_t>(other + (isReversed ? 63 - at : at))];
      });
    };
    Corpus("hopper", "swap_tiles")
        .blocks(2)
        .threads(64)
        .cluster(2)
        .in(x)
        .out(swapped(false))
        .check();
    Corpus("hopper", "send_words")
        .blocks(2)
        .threads(64)
        .cluster(2)
        .in(x)
        .out(swapped(true))
        .check();
    Corpus("hopper", "fetch_for_both")
        .blocks(2)
        .threads(64)
        .cluster(2)
        .in(std::vector<int>(x.begin(), x.begin() + 64))
        .out(make<int>(
            128,
            [&](int i) { return x[static_cast<size_t>(i % 64)] + i / 64; }))
        .check();
  }
}
