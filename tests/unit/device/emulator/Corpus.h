//===- Corpus.h - Runs a kernel of tests/inputs/ptx/nvcc --------*- C++ -*-===//
#ifndef TANDEM_TESTS_UNIT_DEVICE_EMULATOR_CORPUS_H
#define TANDEM_TESTS_UNIT_DEVICE_EMULATOR_CORPUS_H

#include "tests/unit/device/emulator/Harness.h"

#include <functional>
#include <numeric>

namespace tandem::test {

/// One kernel with its buffers in the order of its parameters:
///
///   Corpus("reduce", "sum").threads(64).in(x).out(expected).check();
class Corpus {
public:
  Corpus(const std::string &file, const std::string &kernel)
      : label(file + ".cu " + kernel) {
    c.ptx = readFile(TANDEM_TEST_INPUTS "/ptx/nvcc/" + file + ".ptx");
    c.name = kernel;
  }
  Corpus &blocks(int x, int y = 1) {
    c.grid = {x, y, 1};
    return *this;
  }
  Corpus &threads(int x, int y = 1) {
    c.block = {x, y, 1};
    return *this;
  }
  Corpus &cluster(int x) {
    c.cluster = {x, 1, 1};
    return *this;
  }
  /// A tensor map of buffer \p index as an argument, after the pointers.
  Corpus &map(int index, TensorMapSpec spec) {
    c.maps.emplace_back(index, std::move(spec));
    return *this;
  }
  Corpus &shared(int64_t bytes) {
    c.sharedBytes = bytes;
    return *this;
  }
  Corpus &ints(std::vector<int> values) {
    c.integers = std::move(values);
    return *this;
  }
  template <typename T>
  Corpus &in(const std::vector<T> &values) {
    return buffer(bytesOf(values), false, bytesOf(values));
  }
  /// Starts as never written.
  template <typename T>
  Corpus &out(const std::vector<T> &expected) {
    std::vector<uint8_t> bytes = bytesOf(expected);
    return buffer(std::vector<uint8_t>(bytes.size()), true, bytes);
  }
  template <typename T>
  Corpus &state(const std::vector<T> &before, const std::vector<T> &after) {
    return buffer(bytesOf(before), false, bytesOf(after));
  }
  /// Starts as never written; what is left in it does not matter.
  Corpus &scratch(size_t bytes) {
    return buffer(std::vector<uint8_t>(bytes), true, {});
  }
  /// Compares elements of type T by \p close instead of byte by byte.
  template <typename T>
  Corpus &near(const std::vector<T> &expected,
               std::function<bool(T, T)> close) {
    out(expected);
    size_t i = c.buffers.size() - 1;
    compare[i] = [=](const std::vector<uint8_t> &found) {
      std::vector<T> values = valuesOf<T>(found);
      for (size_t k = 0; k < values.size(); ++k)
        CHECK_MESSAGE(close(values[k], expected[k]), k, ": ", values[k],
                      ", expected ", expected[k]);
    };
    return *this;
  }

  /// Runs in the plain order and in a shuffled one: clean, and right.
  void check(std::string *printed = nullptr) {
    for (uint64_t seed : {0, 7}) {
      CAPTURE(label);
      CAPTURE(seed);
      Case run = c;
      run.options.scheduleSeed = seed;
      auto report = test::run(run);
      REQUIRE_MESSAGE(bool(report), report.error().text());
      CHECK_MESSAGE(report->ok(), textOf(*report));
      for (size_t i = 0; i < run.buffers.size(); ++i) {
        CAPTURE(i);
        if (compare[i])
          compare[i](run.buffers[i]);
        else if (!expected[i].empty())
          CHECK(run.buffers[i] == expected[i]);
      }
      if (printed)
        *printed = report->output;
    }
  }
  /// The launch as it is, without a comparison.
  Case launch() const { return c; }

private:
  Corpus &buffer(std::vector<uint8_t> before, bool isPoison,
                 std::vector<uint8_t> after) {
    c.buffers.push_back(std::move(before));
    c.uninitialised.push_back(isPoison);
    expected.push_back(std::move(after));
    compare.emplace_back();
    return *this;
  }

  std::string label;
  Case c;
  std::vector<std::vector<uint8_t>> expected;
  std::vector<std::function<void(const std::vector<uint8_t> &)>> compare;
};

/// 0, 1, ... through \p f.
template <typename T, typename F>
std::vector<T> make(int n, F f) {
  std::vector<T> values(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i)
    values[static_cast<size_t>(i)] = static_cast<T>(f(i));
  return values;
}
inline int mixed(int i) { return (i * 7919 + 13) % 1009 - 504; }
template <typename T>
std::vector<T> zeros(int n) {
  return std::vector<T>(static_cast<size_t>(n));
}
template <typename T>
int64_t sumOf(const std::vector<T> &values) {
  return std::accumulate(values.begin(), values.end(), int64_t(0));
}

} // namespace tandem::test

#endif // TANDEM_TESTS_UNIT_DEVICE_EMULATOR_CORPUS_H
