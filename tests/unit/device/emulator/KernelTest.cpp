//===- KernelTest.cpp - Whole kernels compiled by nvcc --------------------===//
#include "tests/unit/device/emulator/Harness.h"

#include <cmath>
#include <numeric>

using namespace tandem;
using namespace tandem::test;

static Case kernel(const std::string &name) {
  Case c;
  c.ptx = readFile(TANDEM_TEST_INPUTS "/ptx/nvcc/kernels.ptx");
  c.name = name;
  return c;
}

static std::vector<float> ramp(size_t n, float step) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = step * static_cast<float>(i % 64);
  return values;
}

/// Runs under several schedules: no finding, and the same bytes.
static void runEveryWay(const Case &c, Case &result) {
  result = c;
  runClean(result);
  for (uint64_t seed : {1, 7, 99}) {
    Case seeded = c;
    seeded.options.scheduleSeed = seed;
    runClean(seeded);
    CHECK(seeded.buffers == result.buffers);
  }
  Case parallel = c;
  parallel.options.jobs = 2;
  runClean(parallel);
  CHECK(parallel.buffers == result.buffers);
}

TEST_SUITE("emulator kernels from nvcc") {
  TEST_CASE("vector addition leaves what lies beyond n alone") {
    Case c = kernel("vector_add");
    c.block = {128, 1, 1};
    c.grid = {3, 1, 1};
    c.buffers = {bytesOf(ramp(300, 0.5f)), bytesOf(ramp(300, 2.0f)),
                 bytesOf(std::vector<float>(384, -1))};
    c.integers = {300};
    Case r;
    runEveryWay(c, r);
    auto sum = valuesOf<float>(r.buffers[2]);
    for (size_t i = 0; i < 384; ++i)
      CHECK(sum[i] == (i < 300 ? 2.5f * float(i % 64) : -1.0f));
  }

  TEST_CASE("a sum over shuffles and shared memory") {
    Case c = kernel("reduce_sum");
    c.block = {256, 1, 1};
    c.buffers = {bytesOf(ramp(1000, 1.0f)), std::vector<uint8_t>(4)};
    c.integers = {1000};
    Case r;
    runEveryWay(c, r);
    float expected = 0;
    for (float v : ramp(1000, 1.0f))
      expected += v;
    CHECK(valuesOf<float>(r.buffers[1])[0] == expected);
  }

  TEST_CASE("a transpose through a padded tile") {
    Case c = kernel("transpose");
    c.block = {32, 8, 1};
    c.grid = {3, 2, 1};
    std::vector<float> in(50 * 70);
    std::iota(in.begin(), in.end(), 0.0f);
    c.buffers = {bytesOf(in), std::vector<uint8_t>(in.size() * 4)};
    c.integers = {50, 70};
    Case r;
    runEveryWay(c, r);
    auto out = valuesOf<float>(r.buffers[1]);
    for (size_t row = 0; row < 50; ++row)
      for (size_t column = 0; column < 70; ++column)
        REQUIRE(out[column * 50 + row] == in[row * 70 + column]);
  }

  TEST_CASE("a tiled matrix product on integers is exact") {
    Case c = kernel("matmul");
    c.block = {16, 16, 1};
    c.grid = {2, 3, 1};
    size_t m = 48, n = 32, k = 64;
    std::vector<float> a = ramp(m * k, 1), b = ramp(k * n, 1);
    c.buffers = {bytesOf(a), bytesOf(b), std::vector<uint8_t>(m * n * 4)};
    c.integers = {int(n), int(k)};
    Case r;
    runEveryWay(c, r);
    auto out = valuesOf<float>(r.buffers[2]);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        float sum = 0;
        for (size_t l = 0; l < k; ++l)
          sum += a[i * k + l] * b[l * n + j];
        REQUIRE(out[i * n + j] == sum);
      }
  }

  TEST_CASE("a matrix product without its barriers is a race") {
    Case c = kernel("matmul");
    for (size_t at; (at = c.ptx.find("bar.sync")) != std::string::npos;)
      c.ptx.replace(at, 8, "//ar.sync");
    c.block = {16, 16, 1};
    c.buffers = {bytesOf(ramp(256, 1)), bytesOf(ramp(256, 1)),
                 std::vector<uint8_t>(1024)};
    c.integers = {16, 16};
    auto report = run(c);
    REQUIRE(bool(report));
    REQUIRE(!report->ok());
    bool hasRace = false;
    for (const Finding &finding : report->findings)
      hasRace |= finding.kind == "race";
    CHECK(hasRace);
  }

  TEST_CASE("a histogram with atomics in shared and global memory") {
    Case c = kernel("histogram");
    c.block = {64, 1, 1};
    c.grid = {4, 1, 1};
    std::vector<uint8_t> data(5000);
    std::vector<uint32_t> expected(256);
    for (size_t i = 0; i < data.size(); ++i)
      ++expected[data[i] = static_cast<uint8_t>(i * i >> 3)];
    c.buffers = {data, std::vector<uint8_t>(1024)};
    c.integers = {int(data.size())};
    Case r;
    runEveryWay(c, r);
    CHECK(valuesOf<uint32_t>(r.buffers[1]) == expected);
  }

  TEST_CASE("a scan by warps") {
    Case c = kernel("scan");
    c.block = {512, 1, 1};
    std::vector<int> in(500), expected(500);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<int>(i * 37 % 101);
    std::partial_sum(in.begin(), in.end(), expected.begin());
    c.buffers = {bytesOf(in), std::vector<uint8_t>(2000)};
    c.integers = {500};
    Case r;
    runEveryWay(c, r);
    CHECK(valuesOf<int>(r.buffers[1]) == expected);
  }

  TEST_CASE("jump tables, local memory and halves") {
    Case c = kernel("mixed");
    c.block = {64, 1, 1};
    std::vector<int> op(60);
    std::vector<float> x(60);
    for (size_t i = 0; i < op.size(); ++i) {
      op[i] = static_cast<int>(i % 8);
      x[i] = 1.1f * static_cast<float>(i + 1);
    }
    c.buffers = {bytesOf(op), bytesOf(x), std::vector<uint8_t>(240)};
    c.integers = {60};
    Case r;
    runEveryWay(c, r);
    auto y = valuesOf<float>(r.buffers[2]);
    for (size_t i = 0; i < op.size(); ++i) {
      CAPTURE(i);
      switch (op[i]) {
      case 0:
        CHECK(y[i] == x[i] * 2);
        break;
      case 1:
        CHECK(y[i] == std::sqrt(x[i]));
        break;
      case 2:
        CHECK(y[i] == x[i] / 3);
        break;
      case 3:
        CHECK(std::fabs(y[i] - x[i] - 1) <= std::ldexp(x[i] + 1, -10));
        break;
      case 4:
        CHECK(std::fabs(y[i] - x[i]) <= std::ldexp(x[i], -8));
        break;
      case 5: // 5 j + 5 = 5 mod 8 has j = 0 and j = 8: the first.
        CHECK(y[i] == x[i]);
        break;
      case 6:
        CHECK(y[i] == float(int(x[i]) % 7));
        break;
      default:
        CHECK(y[i] == -x[i]);
      }
    }
  }
}
