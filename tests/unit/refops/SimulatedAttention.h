//===- SimulatedAttention.h - f32 kernels for one token ---------*- C++ -*-===//
//
// Attention with a running maximum over tiles and splits, the merge of shards,
// and the gated delta rule, as correct kernels may compute them.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_TESTS_UNIT_REFOPS_SIMULATEDATTENTION_H
#define TANDEM_TESTS_UNIT_REFOPS_SIMULATEDATTENTION_H

#include "SimulatedKernels.h"
#include "refops/core/DType.h"

namespace tandem::refops::test {

/// How a kernel walks over the keys.
struct Walk {
  size_t tile, splits;
  /// Scores in units of log(2): one product with a rounded scale * log2(e).
  bool inLog2;
};

inline float largerOrNan(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}

/// acc, m and l of some keys.
struct Partial {
  Row acc;
  float m = -INFINITY, l = 0;
};

class AttentionKernel {
public:
  AttentionKernel(const Walk &walk, const Order &order, DType valueType,
                  Approximations &approx)
      : walk(walk), order(order), valueType(valueType), approx(approx) {}

  /// k and v hold rows of q.size() numbers.
  Partial run(const Row &q, const Row &k, const Row &v, float scale) {
    const size_t keys = q.empty() ? 0 : k.size() / q.size();
    const float factor = walk.inLog2 ? scale * 1.44269504f : scale;
    Partial whole{Row(q.size())};
    const size_t share = (keys + walk.splits - 1) / walk.splits;
    for (size_t first = 0; first < keys; first += share) {
      Partial own{Row(q.size())};
      for (size_t t = first; t < std::min(keys, first + share); t += walk.tile)
        addTile(own, q, k, v, factor, t,
                std::min({keys, first + share, t + walk.tile}));
      merge(whole, own);
    }
    // Only -inf, or a NaN, or +inf.
    if (keys && !std::isfinite(whole.m)) {
      whole.l = NAN;
      whole.acc.assign(q.size(), NAN);
    }
    if (walk.inLog2)
      whole.m *= 0.693147180559945f;
    return whole;
  }

  Row normalised(Partial partial) {
    if (partial.l == 0)
      return Row(partial.acc.size());
    for (float &x : partial.acc)
      x /= partial.l;
    return partial.acc;
  }

private:
  float exponential(float x) {
    return walk.inLog2 ? approx.exp2(x) : approx.exp(x);
  }

  float rescaling(float from, float to) {
    return from == -INFINITY ? 0 : exponential(from - to);
  }

  void addTile(Partial &p, const Row &q, const Row &k, const Row &v,
               float factor, size_t begin, size_t end) {
    const size_t width = q.size();
    Row weights;
    float m = p.m;
    for (size_t j = begin; j < end; ++j) {
      const std::span<const float> key(k.data() + j * width, width);
      weights.push_back(order.dot(q, key) * factor);
      m = largerOrNan(m, weights.back());
    }
    if (m == -INFINITY)
      return;
    for (float &s : weights)
      s = exponential(s - m);
    const float r = rescaling(p.m, m);
    p.l = p.l * r + order.sum(weights);
    for (float &w : weights)
      w = valueType == DType::F32
              ? w
              : static_cast<float>(tandem::roundTo(valueType, w));
    for (size_t d = 0; d < width; ++d) {
      Row column;
      for (size_t j = begin; j < end; ++j)
        column.push_back(v[j * width + d]);
      p.acc[d] = std::fma(p.acc[d], r, order.dot(weights, column));
    }
    p.m = m;
  }

  void merge(Partial &whole, const Partial &own) {
    if (own.m == -INFINITY)
      return;
    const float m = largerOrNan(whole.m, own.m);
    const float a = rescaling(whole.m, m), b = rescaling(own.m, m);
    whole.l = whole.l * a + own.l * b;
    for (size_t d = 0; d < own.acc.size(); ++d)
      whole.acc[d] = whole.acc[d] * a + own.acc[d] * b;
    whole.m = m;
  }

  Walk walk;
  Order order;
  DType valueType;
  Approximations &approx;
};

/// Shards [acc, m, l] of one head.
inline Row combine(const std::vector<Row> &shards, Approximations &approx) {
  const size_t width = shards[0].size() - 2;
  float m = -INFINITY, l = 0;
  Row y(width);
  for (const Row &s : shards)
    if (s[width + 1] > 0)
      m = largerOrNan(m, s[width]);
  for (const Row &s : shards) {
    if (s[width + 1] == 0)
      continue;
    const float w = approx.exp(s[width] - m);
    l = std::fma(s[width + 1], w, l);
    for (size_t d = 0; d < width; ++d)
      y[d] = std::fma(s[d], w, y[d]);
  }
  for (float &x : y)
    x /= std::max(l, 1e-20f);
  return y;
}

/// One head of the gated delta rule; \p state is updated.
inline Row deltaStep(Row q, Row k, const Row &v, float g, float beta,
                     Row &state, float scale, bool normalises,
                     const Order &order, Approximations &approx) {
  if (normalises)
    for (Row *x : {&q, &k}) {
      const float r = approx.rsqrt(order.dot(*x, *x) + 1e-6f);
      for (float &e : *x)
        e *= r;
    }
  const float decay = approx.exp(g);
  Row o;
  for (size_t e = 0; e < v.size(); ++e) {
    Row column;
    for (size_t d = 0; d < k.size(); ++d)
      column.push_back(state[d * v.size() + e] * decay);
    const float u = beta * (v[e] - order.dot(column, k));
    for (size_t d = 0; d < k.size(); ++d)
      state[d * v.size() + e] = column[d] = std::fma(k[d], u, column[d]);
    Row scaled = q;
    for (float &x : scaled)
      x *= scale;
    o.push_back(order.dot(column, scaled));
  }
  return o;
}

} // namespace tandem::refops::test

#endif // TANDEM_TESTS_UNIT_REFOPS_SIMULATEDATTENTION_H
