//===- NvccMathTest.cpp - nvcc's matrix products and number formats ------===//
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
  TEST_CASE("matmul: transposes and products") {
    auto x = make<float>(40 * 70, [](int i) { return i; });
    Corpus("matmul", "transpose_padded")
        .blocks(3, 2)
        .threads(32, 8)
        .in(x)
        .out(make<float>(70 * 40, [](int i) { return i % 40 * 70 + i / 40; }))
        .ints({40, 70})
        .check();
    auto h = make<uint16_t>(256, [](int i) { return i * 3; });
    Corpus("matmul", "transpose_half")
        .threads(16, 16)
        .in(h)
        .out(make<uint16_t>(256,
                            [](int i) { return (i % 16 * 16 + i / 16) * 3; }))
        .check();
    Corpus("matmul", "copy_vectors")
        .blocks(2)
        .threads(64)
        .in(make<float>(400, [](int i) { return i; }))
        .out(make<float>(400, [](int i) { return i + (i % 4 == 0); }))
        .ints({100})
        .check();
    const int n = 32;
    auto a = make<float>(n * n, [](int i) { return mixed(i) % 17; });
    auto b = make<float>(n * n, [](int i) { return mixed(i + 5) % 13; });
    auto product = make<float>(n * n, [&](int i) {
      float sum = 0;
      for (int k = 0; k < n; ++k)
        sum += a[size_t(i / n * n + k)] * b[size_t(k * n + i % n)];
      return sum;
    });
    for (const char *name : {"matmul_tiled", "matmul_cp_async"})
      Corpus("matmul", name)
          .blocks(2, 2)
          .threads(16, 16)
          .in(a)
          .in(b)
          .out(product)
          .ints({n})
          .check();
    // Small integers are exact in half and bfloat16.
    auto small = [](int i) { return (i * 5 + i / 7) % 9 - 4; };
    auto mma = [&](const char *name, int k, bool isHalf) {
      auto bits = [&](int v) {
        uint32_t word = std::bit_cast<uint32_t>(float(v));
        if (!isHalf)
          return uint16_t(word >> 16);
        int e = int(word >> 23 & 255);
        return e ? uint16_t((word >> 16 & 0x8000) | uint32_t(e - 112) << 10 |
                            (word >> 13 & 0x3ff))
                 : uint16_t(0);
      };
      Corpus("matmul", name)
          .threads(32)
          .in(make<uint16_t>(16 * k, [&](int i) { return bits(small(i)); }))
          .in(make<uint16_t>(8 * k, [&](int i) { return bits(small(i + 3)); }))
          .out(make<float>(16 * 8,
                           [&](int i) {
                             int sum = 0;
                             for (int j = 0; j < k; ++j)
                               sum += small(i / 8 * k + j) *
                                      small(i % 8 * k + j + 3);
                             return sum;
                           }))
          .check();
    };
    mma("mma_half", 16, true);
    mma("mma_ldmatrix", 64, false);
    auto byte = [](int i) { return int8_t(i * 37 % 255 - 127); };
    Corpus("matmul", "matmul_dp4a")
        .threads(8, 8)
        .in(make<int8_t>(8 * 16, byte))
        .in(make<int8_t>(8 * 16, [&](int i) { return byte(i + 9); }))
        .out(make<int>(64,
                       [&](int i) {
                         int sum = 0;
                         for (int k = 0; k < 16; ++k)
                           sum +=
                               byte(i / 8 * 16 + k) * byte(i % 8 * 16 + k + 9);
                         return sum;
                       }))
        .ints({4})
        .check();
  }

  TEST_CASE("numbers: bits and wide integers") {
    auto u = make<unsigned>(32, [](int i) { return i * 0x9e3779b9u + 1; });
    auto perByte = [](unsigned a, unsigned b) {
      unsigned r = 0;
      for (int k = 0; k < 32; k += 8)
        r |= (((a >> k) + (b >> k)) & 255u) << k;
      return r;
    };
    auto perHalf = [](unsigned a, unsigned b) {
      unsigned r = 0;
      for (int k = 0; k < 32; k += 16)
        r |= unsigned(uint16_t(std::max(int16_t(a >> k), int16_t(b >> k))))
             << k;
      return r;
    };
    std::vector<unsigned> bits;
    for (unsigned v : u) {
      unsigned reversed = 0;
      for (int k = 0; k < 32; ++k)
        reversed |= (v >> k & 1) << (31 - k);
      auto byteOf = [&](int k) {
        return k < 4 ? v >> (8 * k) & 255 : 0x01234567u >> (8 * (k - 4)) & 255;
      };
      bits.insert(
          bits.end(),
          {unsigned(std::popcount(v)), unsigned(std::countl_zero(v)), reversed,
           unsigned(std::countr_zero(v) + 1),
           byteOf(1) | byteOf(3) << 8 | byteOf(5) << 16 | byteOf(7) << 24,
           ~v << 7 | v >> 25, unsigned(uint64_t(v) * 0x9e3779b9u >> 32),
           (v ^ v >> 3) & ~(v << 5), v >> 4 & 0xfff,
           5 + (v > 1000 ? v - 1000 : 1000 - v), perByte(v, 0x01ff7f80),
           perHalf(v, 0x00018000)});
    }
    Corpus("numbers", "bits").threads(32).in(u).out(bits).check();
    auto w = make<uint64_t>(
        32, [](int i) { return (uint64_t(i) + 1) * 0x9e3779b97f4a7c15u; });
    std::vector<uint64_t> wide;
    for (uint64_t v : w) {
      unsigned __int128 square = static_cast<unsigned __int128>(v) * v + v;
      wide.insert(wide.end(),
                  {uint64_t(square), uint64_t(square >> 64), v / 1000003,
                   v % ((v >> 40) + 3), uint64_t(int64_t(v) / -7),
                   uint64_t(std::popcount(v) + std::countl_zero(v) * 100)});
    }
    Corpus("numbers", "wide_integers").threads(32).in(w).out(wide).check();
    auto x = make<int>(32, [](int i) { return mixed(i) * 7; });
    std::vector<int> divided;
    for (int v : x)
      divided.insert(divided.end(),
                     {v / 7, v % 10, short(v * 3) / short((v & 15) + 1),
                      int(unsigned(v) / (unsigned(v) % 13 + 1))});
    Corpus("numbers", "small_division").threads(32).in(x).out(divided).check();
  }

  TEST_CASE("numbers: halves, bytes and roundings") {
    // Pairs of small integers as halves: 2 x + y, at most 100 where the first
    // of x is the larger one.
    auto half = [](int v) {
      float f = float(v);
      uint32_t word = std::bit_cast<uint32_t>(f);
      return v ? (word >> 16 & 0x8000) | ((word >> 23 & 255) - 112) << 10 |
                     (word >> 13 & 0x3ff)
               : 0u;
    };
    auto low = [](int i) { return i * 5 % 67 - 20; };
    auto high = [](int i) { return i * 3 % 41; };
    auto z = [&](int i, int v) {
      int sum = 2 * v + i;
      return low(i) > high(i) ? std::min(sum, 100) : sum;
    };
    Corpus("numbers", "half2_axpy")
        .threads(32)
        .in(make<uint32_t>(
            32, [&](int i) { return half(low(i)) | half(high(i)) << 16; }))
        .in(make<uint32_t>(32, [&](int i) { return half(i) | half(i) << 16; }))
        .out(make<uint32_t>(32,
                            [&](int i) {
                              return half(z(i, low(i))) | half(z(i, high(i)))
                                                              << 16;
                            }))
        .check();
    auto bfloat = [](float v) { return std::bit_cast<uint32_t>(v) >> 16; };
    Corpus("numbers", "bf16_mix")
        .threads(32)
        .in(make<uint32_t>(
            32,
            [&](int i) { return bfloat(float(i)) | bfloat(2.0f * i) << 16; }))
        .out(make<float>(64,
                         [](int i) {
                           return i % 2 ? 6.0f * (i / 2)
                                        : 0.0f - 0.5f * (i / 2);
                         }))
        .check();
    // Exact in both formats: 1.5 * 2^k.
    auto exact = make<float>(
        16, [](int i) { return std::ldexp(i % 2 ? 1.5 : 1.0, i % 8 - 3); });
    auto code = [&](int fraction, int bias) {
      return make<uint8_t>(16, [&](int i) {
        uint32_t word = std::bit_cast<uint32_t>(exact[size_t(i)]);
        return ((word >> 23) - 127 + uint32_t(bias)) << fraction |
               (word & 0x7fffff) >> (23 - fraction);
      });
    };
    Corpus("numbers", "fp8_round")
        .threads(16)
        .in(exact)
        .out(code(3, 7))
        .out(code(2, 15))
        .out(make<float>(16, [&](int i) { return 2 * exact[size_t(i)]; }))
        .check();
    auto v = make<float>(32, [](int i) { return i * 0.37 - 5.5; });
    std::vector<float> rounded;
    std::vector<int> integers;
    for (float f : v) {
      double sum = double(f) + double(0.1f);
      float nearest = float(sum);
      if (std::fabs(double(nearest)) > std::fabs(sum))
        nearest = std::nextafter(nearest, 0.0f);
      double product = double(f) * double(1.1f);
      float up = float(product);
      if (double(up) < product)
        up = std::nextafter(up, INFINITY);
      rounded.insert(
          rounded.end(),
          {nearest, up, f / 3.0f, std::sqrt(std::fabs(f)),
           std::nearbyint(f) + std::trunc(f) + std::floor(f) + std::ceil(f)});
      integers.insert(integers.end(), {int(std::nearbyint(f)), int(f),
                                       int(std::floor(f)), int(std::ceil(f))});
    }
    Corpus("numbers", "roundings")
        .threads(32)
        .in(v)
        .out(rounded)
        .out(integers)
        .check();
    auto d = make<double>(32, [](int i) { return i * 1.1 + 0.3; });
    std::vector<double> doubles;
    for (double f : d)
      doubles.insert(doubles.end(), {f / 3, std::sqrt(f), std::fma(f, f, -1.0),
                                     std::nearbyint(f) + double(float(f))});
    Corpus("numbers", "doubles").threads(32).in(d).out(doubles).check();
  }

  TEST_CASE("numbers: nvcc's expf, sinf and others within their errors") {
    auto x = make<float>(32, [](int i) { return i * 0.4 - 6; });
    std::vector<float> expected;
    for (float v : x)
      for (double f :
           {std::exp(double(v)), std::log(v + 20.0), std::sin(double(v)),
            std::tanh(double(v)), std::pow(v + 20.0, 1.5), std::erf(double(v))})
        expected.push_back(float(f));
    // CUDA promises 1 to 4 ulp for these (CUDA C++ programming guide,
    // mathematical functions); sinf 2 ulp, powf 4.
    Corpus("numbers", "transcendental")
        .threads(32)
        .in(x)
        .near<float>(expected,
                     [](float a, float b) {
                       float ulp = std::nextafter(std::fabs(b), INFINITY) -
                                   std::fabs(b);
                       return std::fabs(a - b) <= 5 * ulp;
                     })
        .check();
  }
}
