//===- sweep_erfc.cpp - Error of the Gaussian tail over f32 ---------------===//
//
// Replays the f32 arithmetic of gaussianTail (codegen/ops/Math.cpp) on every
// f32 in [0, 15], with ex2 off by its licensed 2.06 ulp in either direction,
// against erfcl. Prints the largest relative error where the result is at least
// 2^-126. `sweep_erfc STEP` takes every STEP-th.
//
//===----------------------------------------------------------------------===//
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "codegen/ops/ErfcCoefficients.inc"

static float tail(float a, double nudge) {
  float t = 1.0f / (a + tailK);
  float s = std::fma(t, tailA, tailB);
  constexpr int count = sizeof(tailCoefficients) / sizeof(float);
  float p = tailCoefficients[count - 1];
  for (int i = count - 1; i-- > 0;)
    p = std::fma(p, s, tailCoefficients[i]);
  const float high = 0x1.715476p-1f; // log2(e) / 2 and what f32 leaves out
  const float low = static_cast<float>(0x1.71547652b82fep-1 - 0x1.715476p-1);
  float h = a * a;
  float rest = std::fma(a, a, -h);
  float y = h * high;
  float e = std::fma(h, high, -y);
  e = std::fma(h, low, e);
  e = std::fma(rest, high, e);
  float power = static_cast<float>(std::exp2(-double(y)) * (1 + nudge));
  power = std::fma(power, e * -0x1.62e43p-1f, power);
  return power * (t * p);
}

int main(int argc, char **argv) {
  uint32_t step = argc > 1 ? std::atoi(argv[1]) : 1, last;
  float end = 15;
  std::memcpy(&last, &end, 4);
  double worst = 0;
  float at = 0;
  for (uint64_t bits = 0; bits <= last; bits += step) {
    float a;
    uint32_t word = static_cast<uint32_t>(bits);
    std::memcpy(&a, &word, 4);
    double exact = static_cast<double>(erfcl(a * 0.70710678118654752440L) / 2);
    if (exact < 0x1p-126)
      break;
    for (double nudge : {-2.06 * 0x1p-23, 2.06 * 0x1p-23}) {
      double error = std::fabs(tail(a, nudge) / exact - 1);
      if (error > worst) {
        worst = error;
        at = a;
      }
    }
  }
  std::printf("largest relative error 2^%.2f at %a\n", std::log2(worst), at);
}
