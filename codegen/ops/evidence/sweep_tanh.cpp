//===- sweep_tanh.cpp - Error of tanh over f32 ----------------------------===//
//
// Replays the f32 arithmetic of tanh (codegen/ops/Math.cpp) on every f32 in
// [0, 10], with ex2 off by its licensed 2.06 ulp in either direction, against
// the C library in double. Prints the largest relative error below 0.6 and from
// there on. `sweep_tanh STEP` takes every STEP-th.
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

static float near(float a) {
  const float c[] = {-0x1.555554p-2f, 0x1.110ee0p-3f, -0x1.b955dcp-5f,
                     0x1.59e1c8p-6f, -0x1.9ada60p-8f};
  float z = a * a, p = c[4];
  for (int i = 4; i-- > 0;)
    p = std::fma(p, z, c[i]);
  return std::fma(a * z, p, a);
}

static float far(float a, double nudge) {
  const float scale = static_cast<float>(-2 * 0x1.71547652b82fep+0);
  float y = a * scale;
  float e = static_cast<float>(std::exp2(double(y)) * (1 + nudge));
  return (1 - e) / (1 + e);
}

int main(int argc, char **argv) {
  const uint32_t step = argc > 1 ? std::atoi(argv[1]) : 1;
  uint32_t last;
  float end = 10;
  std::memcpy(&last, &end, 4);
  double worst[2] = {};
  for (uint64_t bits = 1; bits <= last; bits += step) {
    float a;
    uint32_t word = static_cast<uint32_t>(bits);
    std::memcpy(&a, &word, 4);
    const double exact = std::tanh(double(a));
    const bool isFar = !(a < 0.6f);
    for (double nudge : {-2.06 * 0x1p-23, 2.06 * 0x1p-23})
      worst[isFar] =
          std::max(worst[isFar],
                   std::fabs((isFar ? far(a, nudge) : near(a)) / exact - 1));
  }
  std::printf("largest relative error: near 2^%.2f, far 2^%.2f\n",
              std::log2(worst[0]), std::log2(worst[1]));
}
