//===- FloatTest.cpp - Floating point, conversions, comparisons -----------===//
#include "tests/unit/device/emulator/Harness.h"

#include <cfenv>
#include <cmath>
#include <random>

using namespace tandem;
using namespace tandem::test;

static std::string hexFloat(float value) {
  char text[16];
  std::snprintf(text, sizeof text, "0f%08X", std::bit_cast<uint32_t>(value));
  return text;
}
/// `instruction %f9, a[, b[, c]];`
static uint32_t single(const std::string &instruction, float a,
                       std::initializer_list<float> more = {},
                       LaunchOptions options = {}) {
  std::string text = instruction + " %f9, " + hexFloat(a);
  for (float value : more)
    text += ", " + hexFloat(value);
  return evaluate32(text + "; mov.b32 %r9, %f9;", options);
}
static uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

/// Many pairs at once: one thread an element, `instruction` on %f1 and %f2 (and
/// %f3 = %f1) into %f9.
static std::vector<float> onPairs(const std::string &instruction,
                                  const std::vector<float> &a,
                                  const std::vector<float> &b) {
  Case c;
  c.ptx = kernelWith(
      "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 256, "
      "%r2; mad.wide.u32 %d3, %r1, 4, %d1; mad.wide.u32 %d4, %r1, 8, %d2;\n"
      "ld.global.v2.f32 {%f1, %f2}, [%d4];\n" +
      instruction + "\nst.global.f32 [%d3], %f9;");
  std::vector<float> in(a.size() * 2);
  for (size_t i = 0; i < a.size(); ++i) {
    in[2 * i] = a[i];
    in[2 * i + 1] = b[i];
  }
  c.block = {256, 1, 1};
  c.grid = {static_cast<int64_t>(a.size() / 256), 1, 1};
  c.buffers = {std::vector<uint8_t>(a.size() * 4), bytesOf(in)};
  runClean(c);
  return valuesOf<float>(c.buffers[0]);
}

TEST_SUITE("emulator float") {
  TEST_CASE("every rounding of add, mul, fma, div, sqrt is the processor's") {
    std::mt19937 random(3);
    std::vector<float> a(4096), b(4096);
    for (size_t i = 0; i < a.size(); ++i) {
      // Any bits, with many subnormals, near ties and equal exponents.
      a[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
      b[i] = i % 3 ? std::bit_cast<float>(static_cast<uint32_t>(random()))
                   : a[i] * (1 + float(random() % 64) * 0x1p-23f);
      if (i % 7 == 0)
        a[i] =
            std::bit_cast<float>(static_cast<uint32_t>(random() % (1 << 24)));
    }
    struct Mode {
      const char *name;
      int mode;
    };
    for (Mode mode : {Mode{".rn", FE_TONEAREST}, Mode{".rz", FE_TOWARDZERO},
                      Mode{".rm", FE_DOWNWARD}, Mode{".rp", FE_UPWARD}}) {
      CAPTURE(mode.name);
      std::string m = mode.name;
      auto add = onPairs("add" + m + ".f32 %f9, %f1, %f2;", a, b);
      auto sub = onPairs("sub" + m + ".f32 %f9, %f1, %f2;", a, b);
      auto mul = onPairs("mul" + m + ".f32 %f9, %f1, %f2;", a, b);
      auto div = onPairs("div" + m + ".f32 %f9, %f1, %f2;", a, b);
      auto fma = onPairs("fma" + m + ".f32 %f9, %f1, %f2, %f1;", a, b);
      auto root = onPairs("sqrt" + m + ".f32 %f9, %f1;", a, b);
      auto rcp = onPairs("rcp" + m + ".f32 %f9, %f1;", a, b);
      size_t wrong = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        volatile float x = a[i], y = b[i];
        std::fesetround(mode.mode);
        volatile float expected[] = {x + y,
                                     x - y,
                                     x * y,
                                     x / y,
                                     std::fma(float(x), float(y), float(x)),
                                     std::sqrt(float(x)),
                                     1.0f / x};
        std::fesetround(FE_TONEAREST);
        float got[] = {add[i], sub[i], mul[i], div[i], fma[i], root[i], rcp[i]};
        for (size_t k = 0; k < 7; ++k) {
          float e = expected[k];
          bool same =
              e != e ? bits(got[k]) == 0x7fffffff : bits(got[k]) == bits(e);
          if (!same && ++wrong < 5)
            FAIL_CHECK("operation " << k << " of " << a[i] << ", " << b[i]
                                    << ": " << got[k] << " expected " << e);
        }
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("ftz flushes operands and results, sat clamps") {
    float tiny = 0x1p-140f;
    CHECK(single("add.f32", tiny, {tiny}) == bits(0x1p-139f));
    CHECK(single("add.ftz.f32", tiny, {tiny}) == 0);
    CHECK(single("mul.ftz.f32", -0x1p-100f, {0x1p-40f}) == 0x80000000);
    CHECK(single("add.sat.f32", 3, {4}) == bits(1.0f));
    CHECK(single("add.sat.f32", -3, {1}) == 0);
    CHECK(single("mul.rn.sat.f32", NAN, {1}) == 0);
    CHECK(single("abs.ftz.f32", -tiny) == 0);
    CHECK(single("neg.f32", 0) == 0x80000000);
  }

  TEST_CASE("minimum and maximum treat NaN and signed zeros as PTX says") {
    CHECK(single("min.f32", NAN, {1}) == bits(1.0f));
    CHECK(single("max.f32", 1, {NAN}) == bits(1.0f));
    CHECK(single("min.NaN.f32", NAN, {1}) == 0x7fffffff);
    CHECK(single("max.f32", NAN, {NAN}) == 0x7fffffff);
    CHECK(single("min.f32", 0.0f, {-0.0f}) == 0x80000000);
    CHECK(single("max.f32", -0.0f, {0.0f}) == 0);
    CHECK(single("min.xorsign.abs.f32", -3, {2}) == bits(-2.0f));
    CHECK(single("copysign.f32", -1, {3}) == bits(-3.0f));
  }

  TEST_CASE("approximations keep their special cases and their envelope") {
    for (const char *profile : {"nearest", "low", "high", "random"}) {
      LaunchOptions o;
      o.approximation = profile;
      CHECK(single("ex2.approx.f32", -INFINITY, {}, o) == 0);
      CHECK(single("ex2.approx.f32", 0, {}, o) == bits(1.0f));
      CHECK(single("rcp.approx.ftz.f32", 0x1p-140f, {}, o) == bits(INFINITY));
      CHECK(single("rsqrt.approx.f32", -1, {}, o) == 0x7fffffff);
      CHECK(single("lg2.approx.f32", 0, {}, o) == bits(-INFINITY));
      CHECK(single("tanh.approx.f32", INFINITY, {}, o) == bits(1.0f));
      CHECK(single("sin.approx.f32", INFINITY, {}, o) == 0x7fffffff);
      CHECK(single("div.approx.f32", 1, {0x1p127f}, o) == 0);
      float e = std::bit_cast<float>(single("ex2.approx.f32", 0.3f, {}, o));
      CHECK(std::fabs(e / std::exp2(0.3f) - 1) <= 0x1p-22);
    }
    LaunchOptions low, high;
    low.approximation = "low";
    high.approximation = "high";
    CHECK(single("ex2.approx.f32", 0.3f, {}, low) <
          single("ex2.approx.f32", 0.3f, {}, high));
    LaunchOptions wrong;
    wrong.approximation = "exact";
    Case c;
    c.ptx = kernelWith("");
    c.buffers = {{0}, {0}};
    c.options = wrong;
    auto refused = run(c);
    REQUIRE(!refused);
    CHECK(refused.error().text() == "emulator: approximation 'exact' is not "
                                    "one of nearest, low, high, random, fused");
  }

  TEST_CASE("halves round once") {
    // 1 + 2^-11 is a tie in f16: to even.
    CHECK(evaluate32("mov.b32 %r1, 0x3c003c01; mov.b32 %r2, 0x10001000; "
                     "add.rn.f16x2 %r9, %r1, %r2;") == 0x3c003c02);
    CHECK(
        evaluate32("fma.rn.bf16x2 %r9, 0x3f803f80, 0x40004000, 0x3f803f80;") ==
        0x40404040);
    CHECK(evaluate32("mul.bf16x2 %r9, 0x7f7f3f80, 0x7f7f3f80;") == 0x7f803f80);
    CHECK(evaluate32("max.NaN.f16x2 %r9, 0x7e003c00, 0x3c004000;") ==
          0x7fff4000);
    CHECK(evaluate32("fma.rn.relu.f16x2 %r9, 0xbc003c00, 0x3c003c00, 0;") ==
          0x00003c00);
    CHECK(evaluate32("neg.bf16x2 %r9, 0x3f80bf80;") == 0xbf803f80);
    CHECK(evaluate32("add.f16x2 %r9, 0x00010001, 0x00010001;") == 0x00020002);
    CHECK(evaluate32("add.ftz.f16x2 %r9, 0x00010001, 0x00013c00;") ==
          0x00003c00);
  }

  TEST_CASE("conversions between integers extend, truncate and saturate") {
    CHECK(evaluate("mov.b32 %r1, 0x80; cvt.s64.s8 %d9, %r1;") ==
          0xffffffffffffff80);
    CHECK(evaluate32("mov.b32 %r1, 0x1ff; cvt.u32.u8 %r9, %r1;") == 0xff);
    CHECK(evaluate32("mov.b32 %r1, 300; cvt.sat.u8.s32 %r9, %r1;") == 255);
    CHECK(evaluate32("mov.b32 %r1, -5; cvt.sat.u16.s32 %h1, %r1; "
                     "cvt.u32.u16 %r9, %h1;") == 0);
    CHECK(evaluate32("mov.b64 %d3, -1; cvt.sat.s32.u64 %r9, %d3;") ==
          0x7fffffff);
  }

  TEST_CASE("conversions from float clamp, and NaN has its value") {
    auto toS32 = [](float v) {
      return evaluate32("cvt.rzi.s32.f32 %r9, " + hexFloat(v) + ";");
    };
    CHECK(toS32(-2.7f) == uint32_t(-2));
    CHECK(toS32(1e20f) == 0x7fffffff);
    CHECK(toS32(-INFINITY) == 0x80000000);
    CHECK(toS32(NAN) == 0);
    CHECK(evaluate32("cvt.rni.s32.f32 %r9, 0f40200000;") == 2); // 2.5
    CHECK(evaluate32("cvt.rpi.s32.f32 %r9, 0f40200000;") == 3);
    CHECK(evaluate32("cvt.rmi.u32.f32 %r9, 0fC0200000;") == 0);
    CHECK(evaluate("cvt.rzi.s64.f32 %d9, 0f7FC00000;") == uint64_t(1) << 63);
    CHECK(evaluate32("cvt.rmi.f32.f32 %f1, 0fC0200000; mov.b32 %r9, %f1;") ==
          bits(-3.0f));
  }

  TEST_CASE("conversions to narrower floats round in every mode") {
    CHECK(evaluate32("cvt.rn.f32.s32 %f1, 16777217; mov.b32 %r9, %f1;") ==
          bits(16777216.0f));
    CHECK(evaluate32("cvt.rp.f32.s32 %f1, 16777217; mov.b32 %r9, %f1;") ==
          bits(16777218.0f));
    // 2^63 + 2^39 + 1 is just above a tie: it must not round twice.
    CHECK(evaluate32("mov.b64 %d3, 0x8000008000000001; cvt.rn.f32.u64 %f1, %d3;"
                     "mov.b32 %r9, %f1;") == bits(0x1.000002p63f));
    CHECK(evaluate32("cvt.rn.f16x2.f32 %r9, 0f3F800000, 0f477FF000;") ==
          0x3c007c00); // 65520 is a tie with infinity
    CHECK(evaluate32("cvt.rz.f16x2.f32 %r9, 0f3F800000, 0f477FF000;") ==
          0x3c007bff);
    CHECK(evaluate32("cvt.rn.bf16x2.f32 %r9, 0f3F808000, 0f3F818000;") ==
          0x3f803f82);
    CHECK(evaluate32("cvt.rn.relu.bf16x2.f32 %r9, 0fBF800000, 0f3F800000;") ==
          0x00003f80);
    CHECK(evaluate32("cvt.rna.tf32.f32 %r9, 0f3F801000;") == 0x3f802000);
    CHECK(evaluate32("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f44000000, 0fBF800000;"
                     "cvt.u32.u16 %r9, %h1;") == 0x7eb8);
    CHECK(evaluate32("cvt.rn.satfinite.e5m2x2.f32 %h1, 0f7F800000, 0f3F800000;"
                     "cvt.u32.u16 %r9, %h1;") == 0x7b3c);
    CHECK(evaluate32("mov.b16 %h1, 0x7e38; cvt.rn.f16x2.e4m3x2 %r9, %h1;") ==
          0x5f003c00);
    // Subnormal of e4m3: 2^-9 is its least.
    CHECK(evaluate32("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f3B000000, 0f3A800000;"
                     "cvt.u32.u16 %r9, %h1;") == 0x0100);
  }

  TEST_CASE("every f16 and bf16 survives widening and narrowing") {
    // One thread a value: f16 -> f32 -> f16 gives the same bits but for NaN.
    for (std::string type : {"f16", "bf16"}) {
      Case c;
      c.ptx = kernelWith(
          "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; "
          "mad.lo.u32 %r1, %r1, 1024, %r2; mad.wide.u32 %d3, %r1, 2, %d1;\n"
          "cvt.u16.u32 %h1, %r1; cvt.f32." +
          type +
          " %f1, %h1;\n"
          "cvt.rn." +
          type + ".f32 %h2, %f1; st.global.u16 [%d3], %h2;");
      c.block = {1024, 1, 1};
      c.grid = {64, 1, 1};
      c.buffers = {std::vector<uint8_t>(131072), {0}};
      runClean(c);
      auto back = valuesOf<uint16_t>(c.buffers[0]);
      uint32_t infinity = type == "f16" ? 0x7c00 : 0x7f80;
      size_t wrong = 0;
      for (uint32_t i = 0; i < 65536; ++i)
        wrong += back[i] != ((i & 0x7fff) > infinity ? 0x7fff : i);
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("comparisons with NaN are ordered or not, as named") {
    auto test = [](const char *comparison, float a, float b) {
      return evaluate32("setp." + std::string(comparison) + ".f32 %p1, " +
                        hexFloat(a) + ", " + hexFloat(b) +
                        "; selp.u32 %r9, 1, 0, %p1;");
    };
    CHECK(test("lt", 1, 2) == 1);
    CHECK(test("lt", NAN, 2) == 0);
    CHECK(test("ltu", NAN, 2) == 1);
    CHECK(test("ne", NAN, 2) == 0);
    CHECK(test("neu", NAN, 2) == 1);
    CHECK(test("equ", NAN, 2) == 1);
    CHECK(test("num", NAN, 2) == 0);
    CHECK(test("nan", NAN, 2) == 1);
    CHECK(test("eq", 0.0f, -0.0f) == 1);
    CHECK(evaluate32("setp.gt.u32 %p1, 1, 2; "
                     "setp.lt.or.s32 %p2|%p3, 5, 1, !%p1;"
                     "selp.u32 %r1, 2, 0, %p2; selp.u32 %r2, 1, 0, %p3; "
                     "add.u32 %r9, %r1, %r2;") == 3);
    CHECK(evaluate32("set.gt.u32.s32 %r9, 3, -1;") == ~0u);
    CHECK(evaluate32("slct.u32.s32 %r9, 7, 8, -1;") == 8);
  }

  TEST_CASE("doubles") {
    CHECK(evaluate("fma.rn.f64 %g1, 0d3FF0000000000001, 0d3FF0000000000001, "
                   "0dBFF0000000000002; mov.b64 %d9, %g1;") ==
          std::bit_cast<uint64_t>(0x1p-104));
    CHECK(evaluate("add.rp.f64 %g1, 0d3FF0000000000000, 0d0000000000000001; "
                   "mov.b64 %d9, %g1;") == 0x3ff0000000000001);
    CHECK(evaluate("div.rn.f64 %g1, 1.0, 3.0; mov.b64 %d9, %g1;") ==
          std::bit_cast<uint64_t>(1.0 / 3.0));
  }
}
