//===- Heads.h - Values and comparisons for attention and recurrence ------===//
#ifndef TANDEM_TESTS_UNIT_CODEGEN_HEADS_H
#define TANDEM_TESTS_UNIT_CODEGEN_HEADS_H

#include "Bench.h"

#include <cmath>
#include <limits>

namespace tandem::tests {

inline constexpr double inf = std::numeric_limits<double>::infinity();

/// Values in [-1, 1] that bf16 holds exactly.
inline std::function<double(int64_t)> wave(int64_t seed) {
  return [seed](int64_t i) {
    uint64_t x = static_cast<uint64_t>(i + 1) * 0x9E3779B97F4A7C15ull +
                 static_cast<uint64_t>(seed) * 0xBF58476D1CE4E5B9ull;
    x ^= x >> 31;
    x *= 0x94D049BB133111EBull;
    return static_cast<double>((x >> 40) % 129) / 64 - 1;
  };
}

inline Params with(std::map<std::string, ParamValue, std::less<>> values) {
  Params params;
  params.values = std::move(values);
  return params;
}

inline void checkClose(const std::vector<double> &got,
                       const std::vector<double> &expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    if (std::isnan(expected[i]) || std::isinf(expected[i]))
      REQUIRE((std::isnan(got[i]) ? std::isnan(expected[i])
                                  : got[i] == expected[i]));
    else
      REQUIRE(std::abs(got[i] - expected[i]) <= tolerance);
  }
}

} // namespace tandem::tests

#endif // TANDEM_TESTS_UNIT_CODEGEN_HEADS_H
