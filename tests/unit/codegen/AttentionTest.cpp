//===- AttentionTest.cpp - Attention on the emulator ----------------------===//
//
// Against the formula in double, written out here; the harness compares with
// the references.
//
//===----------------------------------------------------------------------===//
#include "Heads.h"

using namespace tandem;
using namespace tandem::tests;

namespace {
/// Shapes of a call: batch 0 means none.
struct Heads {
  int64_t batch = 0, heads = 4, kvHeads = 2, slots = 40, size = 64;

  Dims with(std::initializer_list<int64_t> dims) const {
    Dims shape(dims);
    if (batch)
      shape.insert(shape.begin(), batch);
    return shape;
  }
  Dims query() const { return with({heads, size}); }
  Dims cache() const { return with({slots, kvHeads, size}); }
  int64_t sequences() const { return std::max<int64_t>(batch, 1); }
};

struct Attended {
  std::vector<double> acc, max, sum; // not divided
};

/// The window [start, start + length) of one sequence.
Attended attend(const Heads &shape, const std::vector<double> &q,
                const std::vector<double> &k, const std::vector<double> &v,
                int64_t sequence, int64_t start, int64_t length) {
  Attended all;
  for (int64_t h = 0; h < shape.heads; ++h) {
    int64_t kvHead = h / (shape.heads / shape.kvHeads);
    const double *query =
        &q[static_cast<size_t>((sequence * shape.heads + h) * shape.size)];
    auto row = [&](const std::vector<double> &cache, int64_t slot) {
      return &cache[static_cast<size_t>(
          ((sequence * shape.slots + slot) * shape.kvHeads + kvHead) *
          shape.size)];
    };
    std::vector<double> scores;
    double max = -inf;
    for (int64_t j = start; j < start + length; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < shape.size; ++d)
        dot += query[d] * row(k, j)[d];
      scores.push_back(dot / std::sqrt(static_cast<double>(shape.size)));
      max = std::max(max, scores.back());
    }
    std::vector<double> acc(static_cast<size_t>(shape.size));
    double sum = 0;
    for (int64_t j = 0; j < length; ++j) {
      double weight = std::exp(scores[static_cast<size_t>(j)] - max);
      sum += weight;
      for (int64_t d = 0; d < shape.size; ++d)
        acc[static_cast<size_t>(d)] += weight * row(v, start + j)[d];
    }
    all.acc.insert(all.acc.end(), acc.begin(), acc.end());
    all.max.push_back(max);
    all.sum.push_back(sum);
  }
  return all;
}

/// attention_tile over a window against attend().
void checkWindow(const Heads &shape, DType dtype, int64_t start, int64_t length,
                 const std::map<std::string, std::string> &set = {}) {
  Bench bench;
  bench.set = set;
  Operand q = bench.tensor(dtype, shape.query(), wave(1));
  Operand k = bench.tensor(dtype, shape.cache(), wave(2));
  Operand v = bench.tensor(dtype, shape.cache(), wave(3));
  CAPTURE(shape.size);
  CAPTURE(shape.heads);
  CAPTURE(start);
  CAPTURE(length);
  auto got = bench.run(single(Opcode::ATTENTION_TILE, {q, k, v},
                              with({{"kv_start", start}, {"kv_len", length}})),
                       {q, k, v}, bench.output(dtype, shape.query()));
  CHECK(bench.indexErrors.empty());
  std::vector<double> expected;
  for (int64_t b = 0; b < shape.sequences(); ++b) {
    Attended all = attend(shape, bench.values(q), bench.values(k),
                          bench.values(v), b, start, length);
    for (size_t i = 0; i < all.acc.size(); ++i)
      expected.push_back(
          length ? all.acc[i] / all.sum[i / static_cast<size_t>(shape.size)]
                 : 0);
  }
  checkClose(got, expected, dtype == DType::F32 ? 1e-5 : 1e-2);
}
} // namespace

TEST_SUITE("codegen/heads") {
  TEST_CASE("attention follows the formula over windows around a tile") {
    // 16 positions a tile, 32 a round.
    for (int64_t length : {0, 1, 2, 15, 16, 17, 31, 32, 33, 40})
      checkWindow({0, 4, 2, 40, 64}, DType::F32, 40 - length, length);
    checkWindow({3, 4, 1, 9, 64}, DType::BF16, 2, 5);
  }

  TEST_CASE("a window in parts follows the formula, short ones too") {
    // A part has whole rounds of 32: none is left for the last ones.
    for (const char *splits : {"2", "4", "8"})
      for (int64_t length : {0, 1, 32, 33, 65, 128, 129, 257, 300})
        checkWindow({0, 4, 2, 300, 64}, DType::F32, 300 - length, length,
                    {{"splits", splits}});
    for (int64_t size : {1, 33, 128, 256, 520})
      checkWindow({2, 6, 2, 90, size}, DType::BF16, 1, 80, {{"splits", "4"}});
    // Windows of this length are cut without being asked.
    checkWindow({0, 2, 1, 1100, 16}, DType::F32, 0, 1100);
  }

  TEST_CASE("threads of more columns, longer rounds, fewer heads a CTA") {
    for (const char *columns : {"16", "32"})
      for (int64_t size : {8, 64, 128})
        checkWindow({2, 8, 2, 90, size}, DType::BF16, 1, 80,
                    {{"columns", columns}, {"splits", "2"}, {"heads", "2"}});
    checkWindow({2, 8, 2, 90, 128}, DType::F32, 1, 80, {{"tiles", "8"}});
  }

  TEST_CASE("attention on the tensor core: warps, rounds, groups of heads") {
    checkWindow({2, 8, 2, 290, 40}, DType::F16, 1, 271, {{"warps", "8"}});
    for (const char *warps : {"2", "4"})
      for (const char *tiles : {"1", "2"})
        for (int64_t size : {32, 72, 128})
          checkWindow({2, 8, 2, 290, size}, DType::BF16, 1, 271,
                      {{"warps", warps}, {"tiles", tiles}, {"splits", "2"}});
    for (int64_t length : {0, 1, 15, 16, 17, 63, 64, 65, 127, 129})
      checkWindow({0, 4, 2, 129, 64}, DType::F16, 129 - length, length);
    // Up to 8 query heads a CTA.
    for (int64_t heads : {1, 7, 8, 9, 20})
      checkWindow({1, heads, 1, 70, 256}, DType::F16, 0, 70);
  }

  TEST_CASE("a sequence has the same bits in any batch, in parts too") {
    for (const char *splits : {"1", "4"}) {
      std::vector<double> alone;
      for (int64_t batch : {1, 3}) {
        Bench bench;
        bench.set = {{"splits", splits}};
        Heads shape{batch, 4, 2, 150, 64};
        Operand q = bench.tensor(DType::F32, shape.query(), wave(1));
        Operand k = bench.tensor(DType::F32, shape.cache(), wave(2));
        Operand v = bench.tensor(DType::F32, shape.cache(), wave(3));
        auto got =
            bench.run(single(Opcode::ATTENTION_TILE, {q, k, v}), {q, k, v},
                      bench.output(DType::F32, shape.query()));
        got.resize(4 * 64);
        if (alone.empty())
          alone = got;
        CHECK(got == alone);
      }
    }
  }

  TEST_CASE("attention takes any head size and any number of query heads") {
    for (int64_t size : {1, 7, 8, 33, 80, 96, 128, 256, 520})
      checkWindow({2, 6, 2, 21, size}, DType::F16, 1, 19);
    checkWindow({0, 28, 4, 12, 32}, DType::BF16, 0, 12);
    checkWindow({0, 10, 1, 12, 32}, DType::F32, 0, 12);
  }

  TEST_CASE("heads of the values' 16 bits keep a softmax that sums to one") {
    // Equal values: any error of the weights beyond their rounding shows.
    Bench bench;
    Heads shape{0, 2, 1, 200, 64};
    Operand q = bench.tensor(DType::F16, shape.query(), wave(1));
    Operand k = bench.tensor(DType::F16, shape.cache(), wave(2));
    Operand v =
        bench.tensor(DType::F16, shape.cache(), [](auto) { return 1.; });
    for (double y : bench.run(single(Opcode::ATTENTION_TILE, {q, k, v}),
                              {q, k, v}, bench.output(DType::F16, {2, 64})))
      CHECK(std::abs(y - 1) <= 1e-3);
  }

  TEST_CASE("logits near -1e5 weigh as their differences do") {
    Bench bench;
    Heads shape{0, 1, 1, 50, 8};
    Operand q = bench.tensor(DType::F32, shape.query(),
                             [](int64_t i) { return i ? 0 : 1.; });
    // Scores -1e5 - j, exact in f32.
    Operand k = bench.tensor(DType::F32, shape.cache(), [](int64_t i) {
      return i % 8 ? 0 : -100000. - static_cast<double>(i / 8);
    });
    Operand v = bench.tensor(DType::F32, shape.cache(), [](int64_t i) {
      return static_cast<double>(i / 8);
    });
    double sum = 0, acc = 0;
    for (int j = 0; j < 50; ++j) {
      sum += std::exp(-j);
      acc += j * std::exp(-j);
    }
    for (double y : bench.run(
             single(Opcode::ATTENTION_TILE, {q, k, v}, with({{"scale", 1.0}})),
             {q, k, v}, bench.output(DType::F32, {1, 8})))
      CHECK(y == doctest::Approx(acc / sum).epsilon(1e-5));
  }

  TEST_CASE("-inf scores: a whole first tile is skipped, all of them are NaN") {
    for (auto [finite, splits] :
         {std::pair{0, "1"}, {1, "1"}, {0, "2"}, {1, "2"}, {1, "8"}}) {
      Bench bench;
      bench.set = {{"splits", splits}};
      const int last = finite;
      Heads shape{0, 2, 1, 70, 8};
      Operand q =
          bench.tensor(DType::F32, shape.query(), [](auto) { return 1.; });
      Operand k = bench.tensor(DType::F32, shape.cache(), [&](int64_t i) {
        return i / 8 < 70 - last ? -inf : 0.5;
      });
      Operand v = bench.tensor(DType::F32, shape.cache(), [](int64_t i) {
        return static_cast<double>(i / 8);
      });
      for (double y : bench.run(single(Opcode::ATTENTION_TILE, {q, k, v}),
                                {q, k, v}, bench.output(DType::F32, {2, 8})))
        CHECK((finite ? y == 69 : std::isnan(y)));
    }
  }

  TEST_CASE("partials of shards, one empty, combine to the whole window") {
    Bench bench;
    Heads shape{2, 4, 2, 60, 40};
    Operand q = bench.tensor(DType::F32, shape.query(), wave(1));
    Operand k = bench.tensor(DType::F32, shape.cache(), wave(2));
    Operand v = bench.tensor(DType::F32, shape.cache(), wave(3));
    std::vector<Operand> partials;
    for (auto [start, length] : {std::pair{0, 20}, {20, 0}, {20, 40}}) {
      Operand partial = bench.output(DType::F32, {2, 4, 42});
      auto got = bench.run(single(Opcode::ATTENTION_TILE, {q, k, v},
                                  with({{"kv_start", int64_t{start}},
                                        {"kv_len", int64_t{length}},
                                        {"flags", int64_t{2}}})),
                           {q, k, v}, partial);
      for (int64_t b = 0; b < 2; ++b) {
        Attended all = attend(shape, bench.values(q), bench.values(k),
                              bench.values(v), b, start, length);
        for (size_t h = 0; h < 4; ++h) {
          const double *row = &got[(static_cast<size_t>(b) * 4 + h) * 42];
          for (size_t d = 0; d < 40; ++d)
            CHECK(row[d] == doctest::Approx(all.acc[h * 40 + d]).epsilon(1e-4));
          CHECK((length ? row[40] == doctest::Approx(all.max[h]).epsilon(1e-5)
                        : row[40] == -inf));
          CHECK(row[41] == doctest::Approx(all.sum[h]).epsilon(1e-5));
        }
      }
      partials.push_back(partial);
    }
    auto got = bench.run(single(Opcode::ATTENTION_COMBINE, partials), partials,
                         bench.output(DType::F32, {2, 4, 40}));
    std::vector<double> expected;
    for (int64_t b = 0; b < 2; ++b) {
      Attended all = attend(shape, bench.values(q), bench.values(k),
                            bench.values(v), b, 0, 60);
      for (size_t i = 0; i < all.acc.size(); ++i)
        expected.push_back(all.acc[i] / all.sum[i / 40]);
    }
    checkClose(got, expected, 1e-5);
  }

  TEST_CASE("a shard without a sum is not read") {
    Bench bench;
    auto partial = [&](double acc, double max, double sum) {
      return bench.tensor(DType::F32, {1, 6}, [=](int64_t i) {
        return i < 4 ? acc : i == 4 ? max : sum;
      });
    };
    const double nan = std::nan("");
    Operand empty = partial(nan, inf, 0), one = partial(6, -3, 2);
    for (double y :
         bench.run(single(Opcode::ATTENTION_COMBINE, {empty, one, empty}),
                   {empty, one, empty}, bench.output(DType::F32, {1, 4})))
      CHECK(y == 3);
    for (double y : bench.run(single(Opcode::ATTENTION_COMBINE, {empty}),
                              {empty}, bench.output(DType::F32, {1, 4})))
      CHECK(y == 0);
  }

  TEST_CASE("windows on the device: each sequence its own, a bad one refused") {
    for (const char *splits : {"1", "4"}) {
      Bench bench;
      bench.set = {{"splits", splits}};
      Heads shape{4, 4, 2, 20, 64};
      Operand q = bench.tensor(DType::BF16, shape.query(), wave(1));
      Operand k = bench.tensor(DType::BF16, shape.cache(), wave(2));
      Operand v = bench.tensor(DType::BF16, shape.cache(), wave(3));
      const std::vector<int64_t> lengths = {20, 0, 21, 7};
      Operand length = bench.tensor(DType::I32, {4}, [&](int64_t i) {
        return static_cast<double>(lengths[static_cast<size_t>(i)]);
      });
      Operand out =
          bench.tensor(DType::BF16, shape.query(), [](auto) { return 99.; });
      auto got = bench.run(single(Opcode::ATTENTION_TILE, {q, k, v, length},
                                  with({{"kv_len", OperandParam{3}}})),
                           {q, k, v, length}, out);
      REQUIRE(bench.indexErrors.size() == 1);
      CHECK(bench.indexErrors[0].step == 0);
      CHECK(bench.indexErrors[0].row == 8);
      std::vector<double> expected;
      for (int64_t b = 0; b < 4; ++b) {
        int64_t n = lengths[static_cast<size_t>(b)];
        bool isGood = n <= 20;
        Attended all = attend(shape, bench.values(q), bench.values(k),
                              bench.values(v), b, 0, isGood ? n : 0);
        for (size_t i = 0; i < all.acc.size(); ++i)
          expected.push_back(!isGood ? 99
                             : n     ? all.acc[i] / all.sum[i / 64]
                                     : 0);
      }
      checkClose(got, expected, 1e-2);
    }
  }

  TEST_CASE("attn_step appends, then attends; a bad slot leaves all alone") {
    for (auto [joined, splits] :
         {std::pair{false, "1"}, {true, "1"}, {false, "4"}, {true, "2"}}) {
      Bench bench;
      bench.set = {{"splits", splits}};
      Heads shape{4, 4, 2, 20, 64};
      Operand q = bench.tensor(DType::F32, shape.query(), wave(1));
      Dims fresh = joined ? Dims{4, 128} : Dims{4, 2, 64};
      Operand newKey = bench.tensor(DType::F32, fresh, wave(4));
      Operand newValue = bench.tensor(DType::F32, fresh, wave(5));
      // Slots last, longer than a row, and neither in order of sequences.
      Dims strides = {20 * 2 * 80 + 16, 80 * 2, 80, 1};
      Operand k = bench.tensor(DType::BF16, shape.cache(), strides, wave(2));
      Operand v = bench.tensor(DType::BF16, shape.cache(), strides, wave(3));
      const std::vector<int64_t> at = {0, 19, 20, 16};
      Operand pos = bench.tensor(DType::I32, {4}, [&](int64_t i) {
        return static_cast<double>(at[static_cast<size_t>(i)]);
      });
      Operand out =
          bench.tensor(DType::F32, shape.query(), [](auto) { return 99.; });
      std::vector<double> keys = bench.values(k), values = bench.values(v);
      auto got =
          bench.run(single(Opcode::ATTN_STEP, {q, newKey, newValue, k, v, pos},
                           with({{"pos", OperandParam{5}}})),
                    {q, newKey, newValue, k, v, pos}, out);
      REQUIRE(bench.indexErrors.size() == 1);
      CHECK(bench.indexErrors[0].row == 8);
      std::vector<double> expected;
      for (size_t b = 0; b < 4; ++b) {
        bool isGood = at[b] < 20;
        if (isGood)
          for (size_t i = 0; i < 128; ++i) {
            size_t to = (b * 20 + static_cast<size_t>(at[b])) * 128 + i;
            keys[to] = bench.values(newKey)[b * 128 + i];
            values[to] = bench.values(newValue)[b * 128 + i];
          }
        Attended all =
            attend(shape, bench.values(q), keys, values,
                   static_cast<int64_t>(b), 0, isGood ? at[b] + 1 : 0);
        for (size_t i = 0; i < all.acc.size(); ++i)
          expected.push_back(isGood ? all.acc[i] / all.sum[i / 64] : 99);
      }
      checkClose(got, expected, 1e-2);
      CHECK(bench.values(k) == keys);
      CHECK(bench.values(v) == values);
    }
  }

  TEST_CASE("attn_step of one sequence with a slot from the host") {
    Bench bench;
    Heads shape{0, 8, 2, 33, 16};
    Operand q = bench.tensor(DType::F32, {8, 16}, wave(1));
    Operand newKey = bench.tensor(DType::F32, {1, 32}, wave(4));
    Operand newValue = bench.tensor(DType::F32, {1, 32}, wave(5));
    Operand k = bench.tensor(DType::F32, {33, 2, 16}, wave(2));
    Operand v = bench.tensor(DType::F32, {33, 2, 16}, wave(3));
    Operand out = bench.output(DType::F32, {8, 16});
    auto got = bench.run(single(Opcode::ATTN_STEP, {q, newKey, newValue, k, v},
                                with({{"pos", int64_t{32}}})),
                         {q, newKey, newValue, k, v}, out);
    CHECK(bench.indexErrors.empty());
    auto keys = bench.values(k);
    CHECK(std::vector<double>(keys.end() - 32, keys.end()) ==
          bench.values(newKey));
    Attended all =
        attend(shape, bench.values(q), keys, bench.values(v), 0, 0, 33);
    std::vector<double> expected;
    for (size_t i = 0; i < all.acc.size(); ++i)
      expected.push_back(all.acc[i] / all.sum[i / 16]);
    checkClose(got, expected, 1e-5);
  }

  TEST_CASE("one slot past the cache is refused, and the cache untouched") {
    for (const char *splits : {"1", "2"}) {
      Bench bench;
      bench.set = {{"splits", splits}};
      Operand q = bench.tensor(DType::F32, {4, 16}, wave(1));
      Operand fresh = bench.tensor(DType::F32, {2, 16}, wave(4));
      Operand k = bench.tensor(DType::F16, {9, 2, 16}, wave(2));
      Operand v = bench.tensor(DType::F16, {9, 2, 16}, wave(3));
      Operand out = bench.tensor(DType::F32, {4, 16}, [](auto) { return 99.; });
      auto keys = bench.values(k), values = bench.values(v);
      auto at = [&](double slot) {
        return bench.tensor(DType::I32, {1}, [=](auto) { return slot; });
      };
      auto step = [&](Operand pos) {
        return bench.run(single(Opcode::ATTN_STEP, {q, fresh, fresh, k, v, pos},
                                with({{"pos", OperandParam{5}}})),
                         {q, fresh, fresh, k, v, pos}, out);
      };
      for (double slot : {9., -1., 2147483647.}) {
        for (double y : step(at(slot)))
          CHECK(y == 99);
        REQUIRE(bench.indexErrors.size() == 1);
        CHECK(bench.indexErrors[0].row == 0);
        CHECK(bench.values(k) == keys);
        CHECK(bench.values(v) == values);
      }
      // The last one is none too far.
      CHECK(step(at(8))[0] != 99);
      CHECK(bench.indexErrors.empty());
      CHECK(bench.values(k) != keys);
    }
  }

  TEST_CASE("a partial of nothing but -inf scores says so") {
    for (const char *splits : {"1", "4"}) {
      Bench bench;
      bench.set = {{"splits", splits}};
      Operand q = bench.tensor(DType::F32, {1, 4}, [](auto) { return 1.; });
      Operand k =
          bench.tensor(DType::F32, {5, 1, 4}, [](auto) { return -inf; });
      Operand v = bench.tensor(DType::F32, {5, 1, 4}, wave(3));
      auto got = bench.run(single(Opcode::ATTENTION_TILE, {q, k, v},
                                  with({{"flags", int64_t{2}}})),
                           {q, k, v}, bench.output(DType::F32, {1, 6}));
      // exp(-inf + inf) is NaN, in the sum and in what it multiplies.
      for (size_t i : {0, 1, 2, 3, 5})
        CHECK(std::isnan(got[i]));
      CHECK(got[4] == -inf);
    }
  }
}
