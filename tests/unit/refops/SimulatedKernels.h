//===- SimulatedKernels.h - f32 kernels in several orders -------*- C++ -*-===//
//
// Plain f32 implementations of the reducing and approximate ops, as correct
// kernels may compute them, with approximations drawn from their envelopes.
// Soundness tests compare them with the computed bound.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_TESTS_UNIT_REFOPS_SIMULATEDKERNELS_H
#define TANDEM_TESTS_UNIT_REFOPS_SIMULATEDKERNELS_H

#include "refops/Numerics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace tandem::refops::test {

using Row = std::vector<float>;

/// An order of additions and the depth that a contract states for it.
struct Order {
  std::string name;
  std::string depth;
  float (*sum)(std::span<const float>);
  float (*dot)(std::span<const float>, std::span<const float>);
};

inline float sumSequential(std::span<const float> x) {
  float s = 0;
  for (float v : x)
    s += v;
  return s;
}

inline float sumPairwise(std::span<const float> x) {
  if (x.size() <= 1)
    return x.empty() ? 0 : x[0];
  size_t half = 1;
  while (half * 2 < x.size())
    half *= 2;
  return sumPairwise(x.first(half)) + sumPairwise(x.subspan(half));
}

/// 32 lanes with strided accumulators, then a tree.
inline float sumLanes(std::span<const float> x) {
  float lane[32] = {};
  for (size_t i = 0; i < x.size(); ++i)
    lane[i % 32] += x[i];
  return sumPairwise(lane);
}

inline float dotSequential(std::span<const float> a, std::span<const float> b) {
  float s = 0;
  for (size_t i = 0; i < a.size(); ++i)
    s = std::fma(a[i], b[i], s);
  return s;
}

inline float dotLanes(std::span<const float> a, std::span<const float> b) {
  float lane[32] = {};
  for (size_t i = 0; i < a.size(); ++i)
    lane[i % 32] = std::fma(a[i], b[i], lane[i % 32]);
  return sumPairwise(lane);
}

inline const std::vector<Order> &orders() {
  static const std::vector<Order> all = {
      {"sequential", "n", sumSequential, dotSequential},
      {"pairwise", "log2(pow2(n))", sumPairwise, nullptr},
      {"lanes", "ceildiv(n, 32) + 5", sumLanes, dotLanes}};
  return all;
}

/// One tensor-core instruction for each \p chunk of k, as measured: addends
/// truncated to \p addendBits below the largest exponent, result truncated to
/// \p resultBits.
inline float dotTensorCore(std::span<const float> a, std::span<const float> b,
                           size_t chunk = 16, int addendBits = dotAddendBits,
                           int resultBits = dotResultBits) {
  double sum = 0;
  for (size_t begin = 0; begin < a.size(); begin += chunk) {
    const size_t end = std::min(a.size(), begin + chunk);
    // An infinity or NaN has no exponent: it is what the plain sum is.
    double plain = sum;
    for (size_t i = begin; i < end; ++i)
      plain += double(a[i]) * b[i];
    if (!std::isfinite(plain)) {
      sum = plain;
      continue;
    }
    int exponent = sum == 0 ? -10000 : std::ilogb(sum);
    for (size_t i = begin; i < end; ++i)
      if (a[i] != 0 && b[i] != 0)
        exponent = std::max(exponent, std::ilogb(a[i]) + std::ilogb(b[i]));
    if (exponent == -10000)
      continue;
    const auto aligned = [&](double addend) {
      return std::trunc(std::ldexp(addend, addendBits - exponent));
    };
    double total = aligned(sum);
    for (size_t i = begin; i < end; ++i)
      total += aligned(double(a[i]) * b[i]);
    sum = std::ldexp(total, exponent - addendBits);
    if (sum != 0) {
      const int spacing = std::max(std::ilogb(sum) - resultBits, -149);
      sum = std::ldexp(std::trunc(std::ldexp(sum, -spacing)), spacing);
    }
  }
  return static_cast<float>(sum);
}

/// Approximations anywhere in their envelopes.
class Approximations {
public:
  explicit Approximations(uint32_t seed) : random(seed) {}

  float exp2(float x) { return near(std::exp2(double(x)), 1.5 * 0x1p-23); }
  float rsqrt(float x) { return near(1 / std::sqrt(double(x)), 0x1p-23); }
  float erfc(float x) { return near(std::erfc(double(x)), 0.9 * 0x1p-20); }
  /// Two units: one and a half, then the rounding.
  float sin(float x) { return near(std::sin(double(x)), 0.75 * 0x1p-23); }
  float cos(float x) { return near(std::cos(double(x)), 0.75 * 0x1p-23); }
  float exp(float x) { return exp2(x * 1.44269504f); }
  float sigmoid(float x) {
    if (x >= 0)
      return 1 / (1 + exp(-x));
    const float e = exp(x);
    return e / (1 + e);
  }

private:
  /// Within \p relative, then rounded to f32 (half a unit more).
  float near(double x, double relative) {
    const double r = std::uniform_real_distribution<double>(-1, 1)(random);
    return static_cast<float>(x * (1 + r * relative));
  }
  std::mt19937 random;
};

inline Row softmax(const Row &x, const Order &order, Approximations &approx) {
  float m = -INFINITY;
  for (float v : x)
    m = std::isnan(v) || std::isnan(m) ? NAN : std::max(m, v);
  Row e(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    e[i] = approx.exp(x[i] - m);
  const float inverse = 1 / order.sum(e);
  for (float &v : e)
    v *= inverse;
  return e;
}

inline Row rmsnorm(const Row &x, const Row &w, float eps, const Order &order,
                   Approximations &approx) {
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * x[i];
  const float mean = order.sum(y) / static_cast<float>(x.size());
  const float r = approx.rsqrt(mean + eps);
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * r * w[i];
  return y;
}

inline Row layernorm(const Row &x, const Row &w, const Row &b, float eps,
                     const Order &order, Approximations &approx) {
  const float count = static_cast<float>(x.size());
  const float mean = order.sum(x) / count;
  Row squares(x.size()), y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    squares[i] = (x[i] - mean) * (x[i] - mean);
  const float r = approx.rsqrt(order.sum(squares) / count + eps);
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = (x[i] - mean) * r * w[i] + b[i];
  return y;
}

inline Row siluMul(const Row &g, const Row &u, Approximations &approx) {
  Row y(g.size());
  for (size_t i = 0; i < g.size(); ++i)
    y[i] = g[i] * approx.sigmoid(g[i]) * u[i];
  return y;
}

inline Row gelu(const Row &x, Approximations &approx) {
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = 0.5f * x[i] * approx.erfc(-x[i] * 0.707106781f);
  return y;
}

} // namespace tandem::refops::test

#endif // TANDEM_TESTS_UNIT_REFOPS_SIMULATEDKERNELS_H
