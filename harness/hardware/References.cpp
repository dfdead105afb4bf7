//===- References.cpp - Functions to compare approximations with ----------===//
#include "harness/hardware/References.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

using namespace tandem::hardware;

static std::string literal(double value) {
  std::array<char, 24> text;
  std::snprintf(
      text.data(), text.size(), "0d%016llx",
      static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
  return text.data();
}

/// result = (...(c[n-1] z + c[n-2]) z + ...) z + c[0].
static std::string horner(const std::string &result, const std::string &z,
                          std::span<const double> coefficients) {
  std::string text =
      "mov.f64 " + result + ", " + literal(coefficients.back()) + ";\n";
  for (size_t i = coefficients.size() - 1; i-- > 0;)
    text += "fma.rn.f64 " + result + ", " + result + ", " + z + ", " +
            literal(coefficients[i]) + ";\n";
  return text;
}

/// %g0 = 2^\p x for |x| up to 1000: 2^n e^(f ln 2), |f| <= 1/2.
static std::string power(const std::string &x) {
  std::vector<double> inverseFactorials = {1};
  for (int i = 1; i <= 14; ++i)
    inverseFactorials.push_back(inverseFactorials.back() / i);
  return "min.f64 %g1, " + x + ", " + literal(1000) + ";\nmax.f64 %g1, %g1, " +
         literal(-1000) +
         ";\ncvt.rni.f64.f64 %g2, %g1;\nsub.rn.f64 %g3, %g1, %g2;\n"
         "mul.rn.f64 %g3, %g3, " +
         literal(0.69314718055994530942) + ";\n" +
         horner("%g0", "%g3", inverseFactorials) +
         "cvt.rzi.s64.f64 %gi0, %g2;\nshl.b64 %gi0, %gi0, 52;\n"
         "mov.b64 %gi1, %g0;\nadd.s64 %gi1, %gi1, %gi0;\n"
         "mov.b64 %g0, %gi1;\n";
}

/// e + log2(m), m in [1/sqrt 2, sqrt 2), by the series of atanh.
static std::string logarithm() {
  std::vector<double> series;
  for (int i = 0; i <= 12; ++i)
    series.push_back(2 / 0.69314718055994530942 / (2 * i + 1));
  return "mov.b64 %gi0, %w0;\nshr.s64 %gi1, %gi0, 52;\n"
         "sub.s64 %gi1, %gi1, 1023;\n"
         "and.b64 %gi0, %gi0, 0x000fffffffffffff;\n"
         "or.b64 %gi0, %gi0, 0x3ff0000000000000;\nmov.b64 %g0, %gi0;\n"
         "setp.gt.f64 %gp0, %g0, " +
         literal(1.4142135623730951) + ";\n@%gp0 mul.rn.f64 %g0, %g0, " +
         literal(0.5) +
         ";\n@%gp0 add.s64 %gi1, %gi1, 1;\n"
         "cvt.rn.f64.s64 %g1, %gi1;\n"
         "sub.rn.f64 %g2, %g0, " +
         literal(1) + ";\nadd.rn.f64 %g3, %g0, " + literal(1) +
         ";\ndiv.rn.f64 %g2, %g2, %g3;\nmul.rn.f64 %g3, %g2, %g2;\n" +
         horner("%g0", "%g3", series) +
         "fma.rn.f64 %ref, %g0, %g2, %g1;\n"
         "setp.gt.f64 %gp0, %w0, " +
         literal(0) + ";\nselp.f64 %ref, %ref, " + literal(NAN) + ", %gp0;\n";
}

/// sin(2 pi t), t = x / (2 pi) as the instruction rounds it, plus a quarter for
/// the cosine.
static std::string turn(bool isCosine) {
  std::vector<double> series = {1};
  for (int i = 1; i <= 11; ++i)
    series.push_back(-series.back() / (2 * i * (2 * i + 1)));
  std::string text = "cvt.rn.f32.f64 %gs0, %w0;\n"
                     "mul.rz.f32 %gs0, %gs0, 0f3e22f983;\n"
                     "cvt.f64.f32 %g0, %gs0;\n";
  const std::string reduce =
      "cvt.rni.f64.f64 %g1, %g0;\nsub.rn.f64 %g0, %g0, %g1;\n";
  text += reduce;
  if (isCosine)
    text += "add.rn.f64 %g0, %g0, " + literal(0.25) + ";\n" + reduce;
  // |t| <= 1/2; sin(2 pi t) = sin(2 pi (1/2 - t)).
  text += "abs.f64 %g1, %g0;\nsub.rn.f64 %g2, " + literal(0.5) +
          ", %g1;\nmin.f64 %g1, %g1, %g2;\ncopysign.f64 %g1, %g0, %g1;\n"
          "mul.rn.f64 %g1, %g1, " +
          literal(6.28318530717958647693) + ";\nmul.rn.f64 %g2, %g1, %g1;\n" +
          horner("%g0", "%g2", series) + "mul.rn.f64 %ref, %g0, %g1;\n";
  return text;
}

/// 1 - 2 / (e^(2 |x|) + 1), and a series where that cancels.
static std::string hyperbolicTangent() {
  const double series[] = {1, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835};
  return "abs.f64 %g4, %w0;\nmin.f64 %g5, %g4, " + literal(40) +
         ";\nmul.rn.f64 %g5, %g5, " + literal(2 * 1.44269504088896340736) +
         ";\n" + power("%g5") + "add.rn.f64 %g0, %g0, " + literal(1) +
         ";\ndiv.rn.f64 %g0, " + literal(-2) + ", %g0;\nadd.rn.f64 %g0, %g0, " +
         literal(1) + ";\nmul.rn.f64 %g2, %g4, %g4;\n" +
         horner("%g1", "%g2", series) +
         "mul.rn.f64 %g1, %g1, %g4;\nsetp.lt.f64 %gp0, %g4, " + literal(0.01) +
         ";\nselp.f64 %g0, %g1, %g0, %gp0;\ncopysign.f64 %ref, %w0, %g0;\n";
}

std::string tandem::hardware::referenceText(const std::string &function) {
  if (function == "ex2")
    return power("%w0") + "mov.f64 %ref, %g0;\n";
  if (function == "lg2")
    return logarithm();
  if (function == "sin" || function == "cos")
    return turn(function == "cos");
  if (function == "tanh")
    return hyperbolicTangent();
  if (function == "rsqrt")
    return "sqrt.rn.f64 %g0, %w0;\nrcp.rn.f64 %ref, %g0;\n";
  if (function == "div")
    return "div.rn.f64 %ref, %w0, %w1;\n";
  return function + ".rn.f64 %ref, %w0;\n"; // rcp, sqrt
}

std::string tandem::hardware::referenceRegisters() {
  return ".reg .f64 %g<6>, %w<2>, %ref;\n.reg .b64 %gi<2>;\n"
         ".reg .f32 %gs<1>;\n.reg .pred %gp<1>;\n";
}
