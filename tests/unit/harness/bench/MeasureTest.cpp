//===- MeasureTest.cpp - Contenders timed side by side --------------------===//
#include "harness/bench/Measure.h"
#include "FakeGpu.h"

#include <doctest/doctest.h>
#include <set>

using namespace tandem;
using namespace tandem::bench;

TEST_CASE("the median of an even number is between the two in the middle") {
  CHECK(median({}) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(quantile({5, 1, 2, 3, 4}, 0) == 1);
  CHECK(quantile({5, 1, 2, 3, 4}, 1) == 5);
}

TEST_CASE("a ratio is the median of ratios in one round") {
  // The clock halves in the second round, for both.
  CHECK(ratioOf({{10, 20, 10}}, {{5, 10, 5}}) == 2);
  CHECK(ratioOf({{10}}, {{0}}) == 0);
}

TEST_CASE("rounds replay every graph once, in changing orders") {
  FakeQueue queue;
  std::vector<uint64_t> graphs;
  for (double us : {4.0, 8.0, 12.0})
    graphs.push_back(
        *queue.capture([&] { return queue.enqueue({us, [] {}}); }));
  const Result<Measured> measured = measure(queue, graphs, 2, 25, 1);
  REQUIRE(measured);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(measured->timings[i].us.size() == 25);
    CHECK(measured->timings[i].medianUs() == 2.0 * double(i + 1));
  }
  CHECK(!measured->sensors.empty());
  REQUIRE(queue.order.size() == 3 * 27);
  std::set<std::vector<uint64_t>> orders;
  for (size_t at = 0; at < queue.order.size(); at += 3) {
    const std::vector<uint64_t> round(queue.order.begin() + long(at),
                                      queue.order.begin() + long(at) + 3);
    CHECK(std::set(round.begin(), round.end()).size() == 3);
    orders.insert(round);
  }
  CHECK(orders.size() > 1);
}

TEST_CASE("buffers exceed twice the cache, and each is used equally often") {
  constexpr uint64_t l2 = 60 << 20;
  for (const int64_t bytes : {int64_t(1) << 12, int64_t(1) << 20,
                              int64_t(30) << 20, int64_t(2) << 30}) {
    const Rotation rotation = rotationFor(bytes, 0, l2);
    CHECK(rotation.launches >= 20);
    CHECK(rotation.launches % rotation.sets == 0);
    if (bytes > int64_t(1) << 12) // 2048 buffers are the most
      CHECK(rotation.sets * bytes > int64_t(2 * l2));
  }
  CHECK(rotationFor(int64_t(2) << 30, 0, l2).sets == 1);
  // 1 us launches fill a graph of 400, 1 ms launches the least.
  CHECK(rotationFor(int64_t(2) << 30, 0, l2).launches == 20);
  CHECK(rotationFor(1 << 20, 0, l2).launches >= 400);
}
