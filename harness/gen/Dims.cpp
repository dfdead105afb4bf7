//===- Dims.cpp - Sizes that find bugs ------------------------------------===//
#include "harness/gen/Dims.h"

#include <algorithm>

using namespace tandem::harness;

static bool isPrime(uint64_t n) {
  for (uint64_t d = 2; d * d <= n; ++d)
    if (n % d == 0)
      return false;
  return n >= 2;
}

static uint64_t boundarySize(Random &random, uint64_t max) {
  static constexpr uint64_t real[] = {
      320,   576,   768,   2048,  2880,  3072,   4096,   8192,
      11008, 14336, 32000, 50257, 65536, 128256, 151936, 200000};
  if (max >= 320 && random.below(12) == 0) {
    const auto *end = std::upper_bound(std::begin(real), std::end(real), max);
    return real[random.below(static_cast<uint64_t>(end - std::begin(real)))];
  }
  uint64_t numTiles = 1;
  while (numTiles < 10 && (uint64_t(8) << numTiles) <= max)
    ++numTiles;
  const uint64_t tile = uint64_t(8) << random.below(numTiles);
  switch (random.below(12)) {
  case 0:
    return random.below(3); // 0, 1 or 2
  case 1:
    return tile - 1;
  case 2:
  case 3:
    return tile;
  case 4:
  case 5:
    return tile + 1;
  case 6:
    return 2 * tile - 1;
  case 7:
    return 2 * tile + 1;
  case 8:
  case 9: {
    uint64_t n = 1 + random.below(4 * tile);
    while (!isPrime(n))
      ++n;
    return n;
  }
  case 10:
    return 8 * (1 + random.below(tile));
  default:
    return 1 + 2 * random.below(tile);
  }
}

int64_t tandem::harness::drawDim(Choices &choices, int64_t max,
                                 bool allowZero) {
  const auto limit = static_cast<uint64_t>(std::max<int64_t>(max, 1));
  // With zero allowed 1 and 0 change places, so that 1 is the simplest size.
  auto swap = [](uint64_t v) { return v < 2 ? 1 - v : v; };
  const uint64_t bound = allowZero ? limit + 1 : limit;
  const uint64_t raw = choices.draw(bound, [&](Random &random) {
    uint64_t size = random.below(10) < 7 ? boundarySize(random, limit)
                                         : 1 + random.logBelow(limit);
    if (size > limit)
      size = 1 + random.below(limit);
    if (allowZero)
      return swap(size);
    return std::max<uint64_t>(size, 1) - 1;
  });
  return static_cast<int64_t>(allowZero ? swap(raw) : raw + 1);
}
