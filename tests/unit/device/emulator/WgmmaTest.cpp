//===- WgmmaTest.cpp - Warpgroup matrix products --------------------------===//
#include "tests/unit/device/emulator/Harness.h"

#include "refops/core/DType.h"

#include <functional>

using namespace tandem;
using namespace tandem::test;

using Kinds = std::vector<std::string>;

namespace {
/// 128 threads copy `in` (3072 bytes: A, then B at 2048) to shared memory and
/// run \p body; %r1 = tid, %d5 and %d6 are descriptors of A and B without a
/// swizzle, %d3 = &out[4 tid].
Case withOperands(const std::string &body, std::vector<uint8_t> in,
                  const std::string &order = "fence.proxy.async; bar.sync 0;") {
  Case c;
  c.ptx = kernelWith(
      "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 16, %d1;\n"
      "mov.u32 %r3, s; mov.u32 %r4, 0; cvta.to.global.u64 %d2, %d2;\n"
      "L: mad.lo.u32 %r5, %r4, 128, %r1; mad.wide.u32 %d4, %r5, 4, %d2;\n"
      "mad.lo.u32 %r5, %r5, 4, %r3; ld.global.u32 %r6, [%d4];\n"
      "st.shared.u32 [%r5], %r6; add.u32 %r4, %r4, 1;\n"
      "setp.lt.u32 %p1, %r4, 6; @%p1 bra L;\n" +
          order +
          "\nshr.u32 %r4, %r3, 4; cvt.u64.u32 %d5, %r4;\n"
          // LBO 128, SBO 256 bytes.
          "or.b64 %d5, %d5, 0x0000001000080000; add.u64 %d6, %d5, 128;\n" +
          body,
      ".shared .align 1024 .b8 s[3072];\n");
  c.block = {128, 1, 1};
  in.resize(3072);
  c.buffers = {std::vector<uint8_t>(2048), std::move(in)};
  return c;
}

// Four accumulators %f1 to %f4.
const std::string begin = "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; "
                          "mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
                          "wgmma.fence.sync.aligned;\n";
const std::string product =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, "
    "%d5, %d6, 1, 1, 1, 0, 0;\n";
const std::string end = "wgmma.commit_group.sync.aligned;\n"
                        "wgmma.wait_group.sync.aligned 0;\n";
const std::string result = "st.global.v4.f32 [%d3], {%f1, %f2, %f3, %f4};";

void putHalf(std::vector<uint8_t> &bytes, size_t at, double value) {
  storeDouble(DType::F16, value, &bytes[at]);
}

int aValue(int m, int k) { return (m * 3 + k) % 7 - 3; }
int bValue(int n, int k) { return (n + 2 * k) % 5 - 2; }

/// Operands in 8 x 16-byte core matrices, as the descriptors say.
std::vector<uint8_t> operands() {
  std::vector<uint8_t> bytes(3072);
  for (int m = 0; m < 64; ++m)
    for (int k = 0; k < 16; ++k)
      putHalf(bytes,
              static_cast<size_t>(((m / 8) * 2 + k / 8) * 128 + m % 8 * 16 +
                                  k % 8 * 2),
              aValue(m, k));
  for (int n = 0; n < 8; ++n)
    for (int k = 0; k < 16; ++k)
      putHalf(bytes,
              static_cast<size_t>(2048 + k / 8 * 128 + n * 16 + k % 8 * 2),
              bValue(n, k));
  return bytes;
}

/// What accumulator \p i of thread \p t is.
float expected(int t, int i, const std::function<int(int, int)> &a = aValue) {
  int m = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2), n = t % 4 * 2 + i % 2;
  int sum = 0;
  for (int k = 0; k < 16; ++k)
    sum += a(m, k) * bValue(n, k);
  return static_cast<float>(sum);
}
void checkAll(const Case &c, float scale = 1) {
  auto out = valuesOf<float>(c.buffers[0]);
  int wrong = 0;
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 4; ++i)
      wrong += out[static_cast<size_t>(4 * t + i)] != scale * expected(t, i);
  CHECK(wrong == 0);
}
} // namespace

TEST_SUITE("emulator wgmma") {
  TEST_CASE("a product of shared operands") {
    for (uint64_t seed : {0, 1, 2, 3}) {
      Case c = withOperands(begin + product + end + result, operands());
      c.options.scheduleSeed = seed;
      runClean(c);
      checkAll(c);
    }
  }

  TEST_CASE("products accumulate, are scaled, and begin anew") {
    Case twice =
        withOperands(begin + product + product + end + result, operands());
    runClean(twice);
    checkAll(twice, 2);
    std::string negative = product;
    negative.replace(negative.find("1, 1, 1,"), 8, "1, -1, 1,");
    Case minus = withOperands(
        begin + product + negative + negative + end + result, operands());
    runClean(minus);
    checkAll(minus, -1);
    std::string fresh = "setp.ne.b32 %p2, 0, 0;\n" + product;
    fresh.replace(fresh.find("%d6, 1,"), 7, "%d6, %p2,");
    Case anew =
        withOperands(begin + product + fresh + end + result, operands());
    runClean(anew);
    checkAll(anew);
  }

  TEST_CASE("A comes from registers, too") {
    // Lane l holds rows l / 4 and l / 4 + 8 of its warp's 16.
    std::string load;
    for (int r = 0; r < 4; ++r)
      load += "shr.u32 %r10, %r1, 5; and.b32 %r11, %r1, 31; shr.u32 %r12, "
              "%r11, 2; and.b32 %r13, %r11, 3;\n"
              "mad.lo.u32 %r14, %r10, 2, " +
              std::to_string(r % 2) + "; mad.lo.u32 %r14, %r14, 2, " +
              std::to_string(r / 2) +
              ";\nmad.lo.u32 %r15, %r14, 128, %r3; mad.lo.u32 %r15, %r12, 16, "
              "%r15; mad.lo.u32 %r15, %r13, 4, %r15;\n"
              "ld.shared.u32 %r2" +
              std::to_string(r) + ", [%r15];\n";
    std::string registersA = product;
    registersA.replace(registersA.find("%d5"), 3, "{%r20, %r21, %r22, %r23}");
    registersA.replace(registersA.find("1, 1, 1, 0, 0"), 13, "1, 1, 1, 0");
    Case c = withOperands(load + begin + registersA + end + result, operands());
    runClean(c);
    checkAll(c);
    Case early = withOperands(load + begin + registersA + "mov.u32 %r21, 0;\n" +
                                  end + result,
                              operands());
    std::string text;
    CHECK(kindsOf(early, &text) == Kinds{"async"});
    CHECK(
        text.find("register %r21 is written before the wgmma that reads it") !=
        std::string::npos);
  }

  TEST_CASE("accumulators are read after the wait only") {
    Case early = withOperands(begin + product +
                                  "wgmma.commit_group.sync.aligned;\n" + result,
                              operands());
    std::string text;
    CHECK(kindsOf(early, &text) == Kinds{"async"});
    CHECK(text.find("register %f1 is read before the wgmma that writes it") !=
          std::string::npos);
    // Of two groups the first has ended.
    Case first = withOperands(
        begin + product + end + "mov.f32 %f9, %f1;\n" + result, operands());
    CHECK(kindsOf(first).empty());
  }

  TEST_CASE("registers need a fence between other uses and a product") {
    std::string body = begin;
    body.resize(body.find("wgmma.fence"));
    Case never = withOperands(body + product + end + result, operands());
    std::string text;
    CHECK(kindsOf(never, &text) == Kinds{"async"});
    CHECK(text.find("no wgmma.fence before the first") != std::string::npos);
    Case between =
        withOperands(begin + product + end + "mov.f32 %f2, 0f00000000;\n" +
                         product + end + result,
                     operands());
    CHECK(kindsOf(between, &text) == Kinds{"async"});
    CHECK(text.find("register %f2 was used at line") != std::string::npos);
    Case fenced = withOperands(begin + product + end +
                                   "mov.f32 %f2, 0f00000000;\n"
                                   "wgmma.fence.sync.aligned;\n" +
                                   product + end + result,
                               operands());
    CHECK(kindsOf(fenced).empty());
  }

  TEST_CASE("operands are visible, ordered, and kept until they are read") {
    Case proxy =
        withOperands(begin + product + end + result, operands(), "bar.sync 0;");
    CHECK(kindsOf(proxy) == Kinds{"async"});
    Case order = withOperands(begin + product + end + result, operands(),
                              "fence.proxy.async;");
    CHECK(kindsOf(order) == Kinds{"race"});
    std::string over = "st.shared.u32 [%r3], 0;\n";
    Case early = withOperands(
        begin + product + "wgmma.commit_group.sync.aligned;\nbar.sync 0;\n" +
            "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra E;\n" + over +
            "E: wgmma.wait_group.sync.aligned 0;\n",
        operands());
    std::string text;
    CHECK(kindsOf(early, &text)[0] == "async");
    CHECK(text.find("that the wgmma at line") != std::string::npos);
  }

  TEST_CASE("all four warps take part") {
    Case c = withOperands("setp.lt.u32 %p2, %r1, 96; @!%p2 bra E;\n" + begin +
                              product + end + "E:",
                          operands());
    std::string text;
    CHECK(kindsOf(c, &text) == Kinds{"deadlock"});
    CHECK(text.find("which 1 of the four warps of the warpgroup have not "
                    "executed") != std::string::npos);
  }

  TEST_CASE("signed bytes multiply exactly") {
    std::vector<uint8_t> in(3072);
    for (int m = 0; m < 64; ++m)
      for (int k = 0; k < 32; ++k)
        in[static_cast<size_t>(((m / 8) * 2 + k / 16) * 128 + m % 8 * 16 +
                               k % 16)] = static_cast<uint8_t>(m - k);
    for (int n = 0; n < 8; ++n)
      for (int k = 0; k < 32; ++k)
        in[static_cast<size_t>(2048 + k / 16 * 128 + n * 16 + k % 16)] =
            static_cast<uint8_t>(n * 16 + k);
    Case c = withOperands(
        "mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;\n"
        "wgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {%r20, %r21, %r22, "
        "%r23}, %d5, %d6, 1;\n" +
            end + "st.global.v4.u32 [%d3], {%r20, %r21, %r22, %r23};",
        in);
    runClean(c);
    auto out = valuesOf<int32_t>(c.buffers[0]);
    int wrong = 0;
    for (int t = 0; t < 128; ++t)
      for (int i = 0; i < 4; ++i) {
        int m = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2), n = t % 4 * 2 + i % 2,
            sum = 0;
        for (int k = 0; k < 32; ++k)
          sum += (m - k) * (n * 16 + k);
        wrong += out[static_cast<size_t>(4 * t + i)] != sum;
      }
    CHECK(wrong == 0);
  }

  TEST_CASE("the sum of registers may not exceed the launch's") {
    // 256 threads get 256 registers each: all of the processor's.
    auto ofWarpgroups = [](const std::string &first,
                           const std::string &second) {
      Case c;
      c.ptx = kernelWith("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128;\n"
                         "@!%p1 bra B;\n" +
                         first + "\nbra E;\nB: " + second + "\nE:");
      size_t brace = c.ptx.find(") {");
      c.ptx.insert(brace + 1, " .reqntid 256 .maxnreg 128 ");
      c.block = {256, 1, 1};
      c.buffers = {std::vector<uint8_t>(4), std::vector<uint8_t>(4)};
      return c;
    };
    Case fits = ofWarpgroups("setmaxnreg.dec.sync.aligned.u32 40;",
                             "setmaxnreg.inc.sync.aligned.u32 216;");
    CHECK(kindsOf(fits).empty());
    Case tooMany = ofWarpgroups("setmaxnreg.dec.sync.aligned.u32 40;",
                                "setmaxnreg.inc.sync.aligned.u32 224;");
    std::string text;
    CHECK(kindsOf(tooMany, &text) == Kinds{"deadlock"});
    CHECK(text.find("224 registers a thread: the block got 32768") !=
          std::string::npos);
    Case wrongWay = ofWarpgroups("setmaxnreg.dec.sync.aligned.u32 136;", "");
    CHECK(kindsOf(wrongWay) == Kinds{"registers"});
  }
}
