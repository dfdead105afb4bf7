//===- sweep_erfc.cpp - Error of the Gaussian tail over f32 ---------------===//
//
// Replays the f32 arithmetic of gaussianTail (codegen/ops/Math.cpp) on every
// f32 in [0, 15], with ex2 off by its licensed 2.06 ulp in either direction,
// and the reciprocal off by one, against erfcl: for the Gaussian's tail at x
// and for erfc(x) itself. Prints the largest relative errors where the result
// is at least 2^-126. `sweep_erfc STEP` takes every STEP-th.
//
//===----------------------------------------------------------------------===//
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "codegen/ops/ErfcCoefficients.inc"

static float tail(float a, float z, double scale, double nudge,
                  double reciprocalNudge) {
  float t = static_cast<float>((1 + reciprocalNudge) / double(a + tailK));
  float s = std::fma(t, tailA, tailB);
  constexpr int count = sizeof(tailCoefficients) / sizeof(float);
  float p = tailCoefficients[count - 1];
  for (int i = count - 1; i-- > 0;)
    p = std::fma(p, s, tailCoefficients[i]);
  const float high = static_cast<float>(scale); // and what f32 leaves out
  const float low = static_cast<float>(scale - static_cast<double>(high));
  float h = z * z;
  float rest = std::fma(z, z, -h);
  float y = h * high;
  float e = std::fma(h, high, -y);
  e = std::fma(h, low, e);
  e = std::fma(rest, high, e);
  float power = static_cast<float>(std::exp2(-double(y)) * (1 + nudge));
  power = std::fma(power, e * -0x1.62e43p-1f, power);
  return power * (t * p);
}

/// Of the Gaussian's tail, or of erfc.
static void sweep(bool isErfc, uint32_t step) {
  uint32_t last;
  float end = 15;
  std::memcpy(&last, &end, 4);
  double worst = 0;
  float at = 0;
  for (uint64_t bits = 0; bits <= last; bits += step) {
    float x;
    uint32_t word = static_cast<uint32_t>(bits);
    std::memcpy(&x, &word, 4);
    double exact = static_cast<double>(
        isErfc ? erfcl(x) : erfcl(x * 0.70710678118654752440L) / 2);
    if (exact < 0x1p-126)
      break;
    const double log2e = 0x1.71547652b82fep+0;
    const float rootTwo = 0x1.6a09e667f3bcdp+0;
    for (int signs = 0; signs < 4; ++signs) {
      const double nudge = (signs & 1 ? 2.06 : -2.06) * 0x1p-23;
      const double other = signs & 2 ? 0x1p-23 : -0x1p-23;
      double value = isErfc ? 2 * tail(x * rootTwo, x, log2e, nudge, other)
                            : tail(x, x, log2e / 2, nudge, other);
      double error = std::fabs(value / exact - 1);
      if (error > worst) {
        worst = error;
        at = x;
      }
    }
  }
  std::printf("%s: largest relative error 2^%.2f at %a\n",
              isErfc ? "erfc" : "tail", std::log2(worst), at);
}

int main(int argc, char **argv) {
  const uint32_t step = argc > 1 ? std::atoi(argv[1]) : 1;
  sweep(false, step);
  sweep(true, step);
}
