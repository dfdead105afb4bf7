//===- HostNumbers.cpp - Numbers that the host computes for a kernel ------===//
#include "refops/core/HostNumbers.h"

#include <cmath>

using namespace tandem;

std::vector<float> tandem::ropeFrequencies(float theta, int64_t half) {
  std::vector<float> frequencies(static_cast<size_t>(half));
  for (int64_t i = 0; i < half; ++i)
    frequencies[static_cast<size_t>(i)] = static_cast<float>(
        std::pow(static_cast<double>(theta),
                 -static_cast<double>(i) / static_cast<double>(half)));
  return frequencies;
}

float tandem::inverseRoot(int64_t size) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
}
