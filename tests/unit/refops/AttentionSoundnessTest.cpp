//===- AttentionSoundnessTest.cpp - Soundness of ops with a cache ---------===//
#include "SimulatedAttention.h"
#include "Soundness.h"
#include "refops/core/HostNumbers.h"

using namespace tandem;
using namespace tandem::refops;
using namespace tandem::refops::test;

namespace {

/// Rounds \p x in place to \p dtype and gives it as a tensor.
HostTensor roundedTensor(DType dtype, const Dims &shape,
                         std::vector<float> &x) {
  HostTensor tensor = HostTensor::filled(dtype, shape, 0);
  for (size_t i = 0; i < x.size(); ++i) {
    storeDouble(dtype, x[i], tensor.bytes.data() + i * dtypeSize(dtype));
    x[i] = static_cast<float>(tensor.at(static_cast<int64_t>(i)));
  }
  return tensor;
}

template <size_t N>
int64_t anyOf(const int64_t (&sizes)[N], std::mt19937 &random) {
  return sizes[random() % N];
}

Row joined(Row row, float m, float l) {
  row.push_back(m);
  row.push_back(l);
  return row;
}

/// Depth and rescalings of a walk with a given order of additions.
StepContract attentionContract(const Order &order, const Walk &walk) {
  StepContract step = contractOf(Opcode::ATTENTION_TILE, "n");
  const std::string tile = std::to_string(walk.tile),
                    splits = std::to_string(walk.splits);
  // From tile to tile, then from split to split.
  step.rescales =
      "ceildiv(ceildiv(n, " + splits + "), " + tile + ") - 1 + " + splits;
  if (order.name == "lanes")
    step.depth = "ceildiv(n, 32) + 5 + " + step.rescales;
  step.dot = "fma";
  return step;
}

/// Random heads over one cache head, in walks of several kinds.
void checkAttention(const std::string &name, DType cacheType, bool isPartial,
                    double leastMedian = 0.05) {
  static constexpr int64_t widths[] = {1, 4, 16, 64};
  static constexpr int64_t lengths[] = {1, 2, 31, 33, 64, 127, 260};
  static const Walk walks[] = {
      {1000, 1, false}, {32, 1, false}, {16, 4, true}, {1, 1, true}};
  std::mt19937 random(seed);
  Approximations approx(seed);
  Tally tally;
  for (int call = 0; call < 240; ++call) {
    const Order &order = orders()[call % 2 ? 2 : 0]; // with dot products
    const Walk &walk = walks[call / 2 % 4];
    const int64_t width = anyOf(widths, random), heads = 4;
    const int64_t keys = anyOf(lengths, random);
    // No longer chains than are licensed.
    const bool isTypical =
        call % 3 == 0 && order.name == "lanes" && walk.tile > 1;
    auto q = values(random, size_t(heads * width), isTypical ? 0 : call % 4);
    auto k = values(random, size_t(keys * width), isTypical ? 0 : call / 5);
    auto v = values(random, size_t(keys * width), isTypical ? 0 : call / 7 % 6);
    std::vector<HostTensor> inputs = {
        tensorOf({heads, width}, q),
        roundedTensor(cacheType, {keys, 1, width}, k),
        roundedTensor(cacheType, {keys, 1, width}, v)};
    Params params;
    if (isPartial)
      params.values["flags"] = int64_t(2);
    AttentionKernel kernel(walk, order, cacheType, approx);
    std::vector<Row> got;
    for (int64_t h = 0; h < heads; ++h) {
      const Partial p =
          kernel.run(rowOf(q, h, width), k, v, inverseRoot(width));
      got.push_back(isPartial ? joined(p.acc, p.m, p.l) : kernel.normalised(p));
    }
    tally.add(expect(Opcode::ATTENTION_TILE, inputs,
                     attentionContract(order, walk), params),
              got, isTypical);
  }
  tally.report(name, leastMedian);
}

} // namespace

TEST_SUITE("soundness") {
  TEST_CASE("attention in several walks stays within the bound") {
    // Errors of the scores count twice, in the sum of weights and in the sum of
    // weighted values, though a kernel uses the same weights in both; with
    // 16-bit values their rounding hides that.
    checkAttention("attention_tile, float32", DType::F32, false, 0.01);
    checkAttention("attention_tile, float16", DType::F16, false);
    checkAttention("attention_tile, bfloat16", DType::BF16, false);
    checkAttention("attention_tile, partial", DType::F32, true);
    checkAttention("attention_tile, partial, bfloat16", DType::BF16, true);
  }

  TEST_CASE("merged shards stay within the bound") {
    std::mt19937 random(seed);
    Approximations approx(seed);
    Tally tally;
    for (int call = 0; call < 200; ++call) {
      static constexpr int64_t widths[] = {1, 8, 64};
      const int64_t width = anyOf(widths, random), heads = 8;
      const size_t numShards = 1 + random() % 9;
      std::vector<HostTensor> inputs;
      std::vector<std::vector<Row>> shards(static_cast<size_t>(heads));
      for (size_t p = 0; p < numShards; ++p) {
        auto x = values(random, size_t(heads * (width + 2)), call % 7);
        for (int64_t h = 0; h < heads; ++h) {
          float *row = x.data() + h * (width + 2);
          row[width + 1] = std::fabs(row[width + 1]);
          if (random() % 5 == 0) // an empty shard, with rubbish
            row[width] = NAN, row[width + 1] = 0;
        }
        inputs.push_back(tensorOf({heads, width + 2}, x));
        for (int64_t h = 0; h < heads; ++h)
          shards[size_t(h)].push_back(rowOf(x, h, width + 2));
      }
      std::vector<Row> got;
      for (const std::vector<Row> &head : shards)
        got.push_back(combine(head, approx));
      tally.add(expect(Opcode::ATTENTION_COMBINE, inputs,
                       contractOf(Opcode::ATTENTION_COMBINE, "n")),
                got);
    }
    tally.report("attention_combine");
  }

  TEST_CASE("the gated delta rule stays within the bound") {
    std::mt19937 random(seed);
    Approximations approx(seed);
    Tally outputs, states;
    for (int call = 0; call < 200; ++call) {
      static constexpr int64_t sizes[] = {1, 3, 32, 33, 128};
      const Order &order = orders()[call % 2 ? 2 : 0];
      const int64_t dk = anyOf(sizes, random), dv = 4, heads = 2;
      const auto q = values(random, size_t(dk), call % 5);
      const auto k = values(random, size_t(dk), call / 2 % 5);
      const auto v = values(random, size_t(heads * dv), call / 3 % 6);
      auto g = values(random, size_t(heads), 0);
      const auto beta = values(random, size_t(heads), 0);
      auto state = values(random, size_t(heads * dk * dv), call / 4 % 5);
      for (float &x : g)
        x = -std::fabs(x);
      std::vector<HostTensor> inputs = {
          tensorOf({1, dk}, q),     tensorOf({1, dk}, k),
          tensorOf({heads, dv}, v), tensorOf({heads}, g),
          tensorOf({heads}, beta),  tensorOf({heads, dk, dv}, state)};
      const bool normalises = call % 4 < 2;
      std::vector<Row> o, s;
      for (int64_t h = 0; h < heads; ++h) {
        Row own = rowOf(state, h, dk * dv);
        o.push_back(deltaStep(q, k, rowOf(v, h, dv), g[size_t(h)],
                              beta[size_t(h)], own, inverseRoot(dk), normalises,
                              order, approx));
        s.push_back(own);
      }
      StepContract step = contractOf(Opcode::GDN_STEP, order.depth);
      step.dot = "fma";
      const std::vector<Expected> expected = expectAll(
          Opcode::GDN_STEP, inputs, step, Params{{{"qk_l2norm", normalises}}});
      outputs.add(expected[0], o);
      states.add(expected[1], s);
    }
    outputs.report("gdn_step");
    states.report("gdn_step, state");
  }

  TEST_CASE("rotations stay within the bound at any position") {
    std::mt19937 random(seed);
    Approximations approx(seed);
    Tally tally;
    for (int call = 0; call < 200; ++call) {
      static constexpr int64_t halves[] = {1, 4, 64};
      const int64_t half = anyOf(halves, random), width = 2 * half, heads = 8;
      const auto x = values(random, size_t(heads * width), call % 8);
      const int64_t position = int64_t(random() >> random() % 32);
      HostTensor positions(DType::I64, {1}, {double(position)});
      std::vector<HostTensor> inputs = {tensorOf({heads, width}, x), positions};
      const std::vector<float> table = ropeFrequencies(10000, half);
      std::vector<Row> got;
      for (int64_t h = 0; h < heads; ++h) {
        Row y = rowOf(x, h, width);
        for (int64_t i = 0; i < half; ++i) {
          const float angle = float(position) * table[size_t(i)];
          const float c = approx.cos(angle), s = approx.sin(angle);
          const float a = y[size_t(i)], b = y[size_t(i + half)];
          y[size_t(i)] = std::fma(a, c, -(b * s));
          y[size_t(i + half)] = b * c + a * s;
        }
        got.push_back(y);
      }
      StepContract step = contractOf(Opcode::ROPE, "");
      step.approx = {"cos", "sin"};
      tally.add(expect(Opcode::ROPE, inputs, step), got);
    }
    tally.report("rope");
  }
}
