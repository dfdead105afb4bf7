//===- Random.h - Reproducible random numbers -------------------*- C++ -*-===//
//
// SplitMix64 (Steele, Lea and Flood 2014): equal seeds give equal numbers on
// every machine and standard library, which std distributions do not promise.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_CASE_RANDOM_H
#define TANDEM_HARNESS_CASE_RANDOM_H

#include <cmath>
#include <cstdint>

namespace tandem::harness {

/// One step of SplitMix64's output function: a good hash of 64 bits.
constexpr uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

class Random {
public:
  explicit constexpr Random(uint64_t seed) : state(seed) {}

  constexpr uint64_t next() { return mix64(state += 0x9e3779b97f4a7c15); }
  /// Uniform in [0, bound); \p bound > 0. The bias of 2^-64 bound is harmless.
  constexpr uint64_t below(uint64_t bound) {
    return bound <= 1 ? 0 : next() % bound;
  }
  /// Uniform in [0, 1) with 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Uniform in [0, bound) on a logarithmic scale of \p bound + 1.
  uint64_t logBelow(uint64_t bound) {
    const double top = std::log2(static_cast<double>(bound) + 1);
    const auto value =
        static_cast<uint64_t>(std::exp2(uniform() * top) - 1 + 0x1p-20);
    return value < bound ? value : bound - 1;
  }

private:
  uint64_t state;
};

} // namespace tandem::harness

#endif // TANDEM_HARNESS_CASE_RANDOM_H
