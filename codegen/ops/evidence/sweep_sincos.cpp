//===- sweep_sincos.cpp - The error of sinCos over f32 --------------------===//
//
// Repeats the arithmetic of codegen/ops/SinCos.cpp, operation by operation, for
// every STEP-th f32 (1: all of them) and prints the largest error in units in
// the last place against the C library's double functions, which are right to
// less than one unit in the last place of a double. `--points` prints x, sin
// and cos for the f32 patterns on standard input, for check_sincos.py.
//
//   c++ -O2 -ffp-contract=off sweep_sincos.cpp -o sweep && ./sweep 1
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

static const uint32_t twoOverPi[] = {0,          0xa2f9836e, 0x4e441529,
                                     0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                     0x3c439041, 0xfe5163ab};

static void sinCos(float a, float &sinOut, float &cosOut) {
  const uint32_t bits = std::bit_cast<uint32_t>(a);
  const uint32_t exponent = bits >> 23 & 255;
  double r = std::fabs(a);
  uint32_t q = 0;
  if (exponent == 255) {
    r = std::nan("");
  } else if (exponent >= 126) {
    const uint32_t place = exponent - 120, digit = place >> 5;
    const uint64_t shift = place & 31;
    auto pair = [](uint32_t i) {
      return uint64_t(twoOverPi[i]) << 32 | twoOverPi[i + 1];
    };
    uint64_t high = pair(digit), low = pair(digit + 2);
    high = high << shift | low >> 1 >> (63 - shift);
    low = low << shift >> 32;
    const uint64_t m = (bits & 0x7fffff) | 0x800000, mask = 0xffffffff;
    const uint64_t middle = m * (high & mask) + (m * low >> 32);
    const uint64_t top = m * (high >> 32) + (middle >> 32);
    const uint64_t g = top << 32 | (middle & mask);
    const uint64_t quarter = (g + (uint64_t(1) << 61)) >> 62;
    r = double(int64_t(g - (quarter << 62))) * 0x1.921fb54442d18p-62;
    q = uint32_t(quarter);
  }
  const double s = r * r;
  double p = 1.0 / 6227020800;
  for (double c :
       {-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6})
    p = std::fma(p, s, c);
  const float sine = float(std::fma(p * s, r, r));
  double c = 1.0 / 479001600;
  for (double term :
       {-1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -1.0 / 2, 1.0})
    c = std::fma(c, s, term);
  const float cosine = float(c);
  auto flip = [](float x, uint32_t sign) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(x) ^ sign);
  };
  sinOut = flip(q & 1 ? cosine : sine, (q & 2) << 30 ^ (bits & 0x80000000));
  cosOut = flip(q & 1 ? sine : cosine, ((q + 1) & 2) << 30);
}

static double ulps(float got, double exact) {
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(got - exact) /
         std::ldexp(1.0, std::max(exponent, -125) - 24);
}

int main(int argc, char **argv) {
  if (argc > 1 && !std::strcmp(argv[1], "--points")) {
    uint32_t bits;
    while (std::scanf("%x", &bits) == 1) {
      float s, c;
      sinCos(std::bit_cast<float>(bits), s, c);
      std::printf("%08x %a %a\n", bits, s, c);
    }
    return 0;
  }
  const uint64_t step = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  double worstSin = 0, worstCos = 0, nearest = 1;
  uint64_t count = 0;
  for (uint64_t bits = 0; bits < 0x7f800000; bits += step, ++count) {
    const float a = std::bit_cast<float>(uint32_t(bits));
    float s, c;
    sinCos(a, s, c);
    const double sine = std::sin(double(a)), cosine = std::cos(double(a));
    worstSin = std::max(worstSin, ulps(s, sine));
    worstCos = std::max(worstCos, ulps(c, cosine));
    if (a > 0.5f)
      nearest =
          std::fmin(nearest, std::fmin(std::fabs(sine), std::fabs(cosine)));
  }
  std::printf("%llu angles: sin %.4f ulp, cos %.4f ulp; smallest |sin| or "
              "|cos| above 1/2: 2^%.2f\n",
              static_cast<unsigned long long>(count), worstSin, worstCos,
              std::log2(nearest));
  return 0;
}
