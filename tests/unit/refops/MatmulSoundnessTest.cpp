//===- MatmulSoundnessTest.cpp - Soundness of small weights ---------------===//
#include "Soundness.h"

#include <cstring>

using namespace tandem;
using namespace tandem::refops;
using namespace tandem::refops::test;

namespace {

/// Quantised weights [n, k] and what they stand for.
struct Weights {
  int64_t n, k, group, groups;
  HostTensor q, scales, zeros;
  std::vector<float> integers; // q - zero
  std::vector<float> factors;  // one a group

  Weights(std::mt19937 &random, int64_t n, int64_t k, int64_t group)
      : n(n), k(k), group(group), groups((k + group - 1) / group),
        q(HostTensor::filled(DType::I8, {n, k}, 0)) {
    std::vector<double> zero(static_cast<size_t>(n * groups));
    for (double &z : zero)
      z = static_cast<double>(random() % 24) - 8;
    for (size_t i = 0; i < zero.size(); ++i)
      factors.push_back(std::ldexp(1 + 0.001f * float(random() % 1000), -7));
    for (int64_t i = 0; i < n * k; ++i) {
      const int value = static_cast<int>(random() % 256) - 128;
      storeInteger(DType::I8, value, q.bytes.data() + i);
      integers.push_back(
          static_cast<float>(value - zero[groupAt(i / k, i % k)]));
    }
    scales = tensorOf({n, groups}, factors);
    zeros = HostTensor(DType::F32, {n, groups}, zero);
  }

  size_t groupAt(int64_t row, int64_t column) const {
    return static_cast<size_t>(row * groups + column / group);
  }
};

/// Each weight as an f32 product.
float dotDequantised(const Row &x, const Weights &w, int64_t row,
                     const Order &order) {
  Row numbers;
  for (int64_t i = 0; i < w.k; ++i)
    numbers.push_back(w.integers[size_t(row * w.k + i)] *
                      w.factors[w.groupAt(row, i)]);
  return order.dot(x, numbers);
}

/// Each group's sum of integers, scaled; \p product multiplies one group.
template <typename Product>
float dotByGroups(const Row &x, const Weights &w, int64_t row,
                  Product product) {
  float sum = 0;
  for (int64_t first = 0; first < w.k; first += w.group) {
    const size_t count = size_t(std::min(w.k - first, w.group));
    const std::span<const float> a(x.data() + first, count);
    const std::span<const float> b(w.integers.data() + row * w.k + first,
                                   count);
    sum += product(a, b) * w.factors[w.groupAt(row, first)];
  }
  return sum;
}

/// \p dot multiplies row r of x with row c of the weights.
template <typename Dot>
void checkQuantised(const std::string &name, const StepContract &step,
                    DType type, Dot dot) {
  std::mt19937 random(seed);
  Tally tally;
  for (int call = 0; call < 140; ++call) {
    static constexpr int64_t groups[] = {32, 64, 1000};
    const int64_t k = 1 + int64_t(random() % 200), n = 16;
    const Weights w(random, n, k, groups[random() % 3]);
    auto x = values(random, size_t(rowsPerCall * k), call % 7);
    HostTensor xs = HostTensor::filled(type, {rowsPerCall, k}, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      // Subnormal products are not normalised: normal numbers only.
      const float kept = std::fabs(x[i]) < 0x1p-14f ? 0 : x[i];
      storeDouble(type, kept, xs.bytes.data() + i * dtypeSize(type));
      x[i] = static_cast<float>(xs.at(static_cast<int64_t>(i)));
    }
    std::vector<HostTensor> inputs = {xs, w.q, w.scales, w.zeros};
    std::vector<Row> got;
    for (int64_t r = 0; r < rowsPerCall; ++r) {
      got.emplace_back();
      for (int64_t c = 0; c < n; ++c)
        got.back().push_back(dot(rowOf(x, r, k), w, c));
    }
    tally.add(
        expect(Opcode::GEMM_TILE, inputs, step, Params{{{"group", w.group}}}),
        got, call % 7 == 0 && k <= 48);
  }
  tally.report(name);
}

StepContract matmulContract(const std::string &dot, int chunk) {
  StepContract step = contractOf(Opcode::GEMM_TILE, "ceildiv(n, 32) + 6");
  step.dot = dot;
  step.dotChunk = chunk;
  return step;
}

float dotFloat8(std::span<const float> a, std::span<const float> b) {
  return dotTensorCore(a, b, 32, dotFloat8Bits, dotFloat8Bits);
}

} // namespace

TEST_SUITE("soundness") {
  TEST_CASE("quantised products stay within the bound") {
    const Order &lanes = orders()[2];
    checkQuantised("gemm, int8, each weight scaled", matmulContract("fma", 0),
                   DType::F32, [&](const Row &x, const Weights &w, int64_t c) {
                     return dotDequantised(x, w, c, lanes);
                   });
    checkQuantised("gemm, int8, each group scaled", matmulContract("fma", 0),
                   DType::F32, [&](const Row &x, const Weights &w, int64_t c) {
                     return dotByGroups(x, w, c, lanes.dot);
                   });
    checkQuantised("gemm, int8, tensor core",
                   matmulContract("mma.m16n8k16.f16", 16), DType::F16,
                   [&](const Row &x, const Weights &w, int64_t c) {
                     return dotByGroups(x, w, c, [](auto a, auto b) {
                       return dotTensorCore(a, b);
                     });
                   });
  }

  TEST_CASE("float8 sums stay within the bound, promoted and fast") {
    for (const bool isPromoted : {true, false}) {
      std::mt19937 random(seed);
      Tally tally;
      for (int call = 0; call < 60; ++call) {
        const int64_t k = 1 + int64_t(random() % (call % 2 ? 600 : 64)), n = 8;
        auto x = values(random, size_t(rowsPerCall * k), call % 4 / 2);
        auto w = values(random, size_t(n * k), call / 4 % 2);
        std::vector<HostTensor> inputs;
        for (auto *v : {&x, &w}) {
          const int64_t rows = v == &x ? rowsPerCall : n;
          HostTensor tensor = HostTensor::filled(DType::F8E4M3, {rows, k}, 0);
          for (size_t i = 0; i < v->size(); ++i) {
            const float kept = std::fabs((*v)[i]) < 0x1p-6f ? 0 : (*v)[i];
            storeDouble(DType::F8E4M3, kept, tensor.bytes.data() + i);
            (*v)[i] = static_cast<float>(tensor.at(static_cast<int64_t>(i)));
          }
          inputs.push_back(tensor);
        }
        std::vector<Row> got;
        for (int64_t r = 0; r < rowsPerCall; ++r) {
          got.emplace_back();
          for (int64_t c = 0; c < n; ++c) {
            const Row a = rowOf(x, r, k), b = rowOf(w, c, k);
            float sum = 0;
            const size_t step = isPromoted ? 128 : a.size();
            for (size_t i = 0; i < a.size(); i += step) {
              const size_t count = std::min(step, a.size() - i);
              sum += dotFloat8(std::span(a).subspan(i, count),
                               std::span(b).subspan(i, count));
            }
            got.back().push_back(sum);
          }
        }
        Params params;
        params.values["accumulate"] =
            std::string(isPromoted ? "promoted" : "fast");
        tally.add(expect(Opcode::GEMM_TILE, inputs,
                         matmulContract("wgmma.m64n8k32.e4m3", 32), params),
                  got, k <= 64);
      }
      // 33 addends lose at most a unit each; random ones lose half of it, and
      // their signs cancel.
      tally.report(std::string("gemm, float8_e4m3fn, ") +
                       (isPromoted ? "promoted" : "fast"),
                   0.03);
    }
  }
}
