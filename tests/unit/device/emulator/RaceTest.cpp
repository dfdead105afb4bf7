//===- RaceTest.cpp - What orders accesses, and what does not -------------===//
//
// Each case is a pair: the idiom that orders two accesses, and the same kernel
// with one part of it taken away, which must be a race.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

using Kinds = std::vector<std::string>;
static const Kinds race = {"race"};

/// `out` has 4 KB: word 0 is data, word 64 a flag.
static Case blocks(int grid, int block, const std::string &body) {
  Case c;
  c.ptx = kernelWith("mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n" + body,
                     ".shared .align 16 .b8 s[1024];\n");
  c.buffers = {std::vector<uint8_t>(4096), std::vector<uint8_t>(64)};
  c.grid = {grid, 1, 1};
  c.block = {block, 1, 1};
  return c;
}

/// Block 0 writes data and raises the flag; block 1 waits for the flag and
/// reads the data.
static Case handOver(const std::string &raise, const std::string &wait) {
  return blocks(2, 1,
                "setp.eq.u32 %p1, %r2, 1;\n@%p1 bra READ;\n"
                "st.global.u32 [%d1], 7;\n" +
                    raise + "\nbra END;\nREAD:\n" + wait +
                    "\nld.global.u32 %r5, [%d1];\n"
                    "st.global.u32 [%d1+128], %r5;\nEND:\n");
}

static const char *spinAcquire = "L: ld.acquire.gpu.global.u32 %r4, [%d1+256]; "
                                 "setp.eq.u32 %p2, %r4, 0; @%p2 bra L;";
static const char *spinRelaxed = "L: ld.relaxed.gpu.global.u32 %r4, [%d1+256]; "
                                 "setp.eq.u32 %p2, %r4, 0; @%p2 bra L;";

static void expectClean(Case c) {
  std::string text;
  CHECK(kindsOf(c, &text).empty());
  CHECK_MESSAGE(text.empty(), text);
}
static void expectRace(Case c) {
  // What a racing read finds need not have been written yet.
  c.options.checkInit = false;
  CHECK(kindsOf(c) == race);
}

TEST_SUITE("emulator races") {
  TEST_CASE("a release that an acquire sees orders blocks") {
    Case good =
        handOver("st.release.gpu.global.u32 [%d1+256], 1;", spinAcquire);
    expectClean(good);
    good.options.scheduleSeed = 3;
    expectClean(good);
    kindsOf(good);
    CHECK(valuesOf<uint32_t>(good.buffers[0])[32] == 7);
    expectRace(
        handOver("st.relaxed.gpu.global.u32 [%d1+256], 1;", spinAcquire));
    expectRace(
        handOver("st.release.gpu.global.u32 [%d1+256], 1;", spinRelaxed));
  }

  TEST_CASE("a scope that is too small orders nothing") {
    expectRace(
        handOver("st.release.cta.global.u32 [%d1+256], 1;", spinAcquire));
    expectRace(handOver("st.release.gpu.global.u32 [%d1+256], 1;",
                        "L: ld.acquire.cta.global.u32 %r4, [%d1+256]; "
                        "setp.eq.u32 %p2, %r4, 0; @%p2 bra L;"));
    expectRace(handOver("fence.acq_rel.cta; "
                        "st.relaxed.gpu.global.u32 [%d1+256], 1;",
                        spinAcquire));
  }

  TEST_CASE("fences make relaxed accesses a hand-over") {
    expectClean(handOver("membar.gl; st.volatile.global.u32 [%d1+256], 1;",
                         "L: ld.volatile.global.u32 %r4, [%d1+256]; "
                         "setp.eq.u32 %p2, %r4, 0; @%p2 bra L; membar.gl;"));
    expectRace(handOver("membar.gl; st.volatile.global.u32 [%d1+256], 1;",
                        "L: ld.volatile.global.u32 %r4, [%d1+256]; "
                        "setp.eq.u32 %p2, %r4, 0; @%p2 bra L;"));
    expectRace(handOver("st.volatile.global.u32 [%d1+256], 1; membar.gl;",
                        "L: ld.volatile.global.u32 %r4, [%d1+256]; "
                        "setp.eq.u32 %p2, %r4, 0; @%p2 bra L; membar.gl;"));
  }

  TEST_CASE("atomics carry a release on, a plain write ends it") {
    // Three blocks pass a counter on; the last one reads the first one's data.
    const std::string body =
        "setp.eq.u32 %p1, %r2, 0; @%p1 st.global.u32 [%d1], 7;\n"
        "FENCE\n"
        "atom.global.add.u32 %r4, [%d1+256], 1;\n"
        "FENCE\n"
        "setp.eq.u32 %p2, %r4, 2; @!%p2 bra END;\n"
        "ld.global.u32 %r5, [%d1]; st.global.u32 [%d1+128], %r5;\nEND:\n";
    auto with = [&](const std::string &fence) {
      std::string text = body;
      for (size_t at; (at = text.find("FENCE")) != std::string::npos;)
        text.replace(at, 5, fence);
      return blocks(3, 1, text);
    };
    expectClean(with("fence.acq_rel.gpu;"));
    expectRace(with(""));
    expectRace(with("fence.acq_rel.cta;"));
  }

  TEST_CASE("strong accesses may race when their scopes include both") {
    expectClean(blocks(2, 1, "st.relaxed.gpu.global.u32 [%d1], 1;"));
    expectClean(blocks(2, 1, "red.global.add.u32 [%d1], 1;"));
    expectRace(blocks(2, 1, "st.relaxed.cta.global.u32 [%d1], 1;"));
    expectRace(blocks(2, 1, "red.cta.global.add.u32 [%d1], 1;"));
    expectClean(blocks(1, 64, "red.cta.global.add.u32 [%d1], 1;"));
    // One weak side is enough for a race.
    expectRace(blocks(2, 1,
                      "setp.eq.u32 %p1, %r2, 0;\n"
                      "@%p1 st.global.u32 [%d1], 1;\n"
                      "@!%p1 ld.relaxed.gpu.global.u32 %r3, [%d1];"));
  }

  TEST_CASE("one thread's acquire orders the block only after a barrier") {
    const std::string body =
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra READ;\n"
        "mad.wide.u32 %d3, %r1, 4, %d1; st.global.u32 [%d3+1024], %r1;\n"
        "bar.sync 0;\n"
        "setp.eq.u32 %p3, %r1, 0;\n"
        "@%p3 st.release.gpu.global.u32 [%d1+256], 1;\nbra END;\n"
        "READ: setp.ne.u32 %p3, %r1, 0; @%p3 bra JOIN;\n"
        "L: ld.acquire.gpu.global.u32 %r4, [%d1+256]; "
        "setp.eq.u32 %p2, %r4, 0; @%p2 bra L;\n"
        "JOIN: BARRIER\n"
        "mad.wide.u32 %d3, %r1, 4, %d1; ld.global.u32 %r5, [%d3+1024];\n"
        "END:\n";
    auto with = [&](const std::string &barrier, int threads) {
      std::string text = body;
      text.replace(text.find("BARRIER"), 7, barrier);
      return blocks(2, threads, text);
    };
    expectClean(with("bar.sync 0;", 64));
    expectClean(with("bar.warp.sync 0xffffffff;", 32));
    // The other lanes of the warp were not ordered by lane 0's acquire.
    expectRace(with("", 32));
    // Nor are other warps by a warp's barrier.
    expectRace(with("bar.warp.sync 0xffffffff;", 64));
  }

  TEST_CASE("a flag in shared memory orders warps") {
    const std::string body =
        "mov.u32 %r3, s; setp.eq.u32 %p3, %r1, 0;\n"
        "@%p3 st.shared.u32 [%r3+64], 0; bar.sync 0;\n"
        "setp.ge.u32 %p1, %r1, 32; @%p1 bra READ;\n"
        "@%p3 st.shared.u32 [%r3], 7;\n"
        "@%p3 st.STORE.cta.shared.u32 [%r3+64], 1;\nbra END;\n"
        "READ: setp.ne.u32 %p3, %r1, 32; @%p3 bra END;\n"
        "L: ld.acquire.cta.shared.u32 %r4, [%r3+64]; "
        "setp.eq.u32 %p2, %r4, 0; @%p2 bra L;\n"
        "ld.shared.u32 %r5, [%r3];\nEND:\n";
    auto with = [&](const std::string &store) {
      std::string text = body;
      text.replace(text.find("STORE"), 5, store);
      return blocks(1, 64, text);
    };
    expectClean(with("release"));
    expectRace(with("relaxed"));
  }

  TEST_CASE("bar.warp.sync orders its members only") {
    const std::string write = "mov.u32 %r3, s; mad.lo.u32 %r4, %r1, 4, %r3; "
                              "st.shared.u32 [%r4], %r1;\n";
    auto read = [](int distance) {
      return "xor.b32 %r5, %r1, " + std::to_string(distance) +
             "; mad.lo.u32 %r5, %r5, 4, %r3; ld.shared.u32 %r6, [%r5];\n";
    };
    // Each half synchronises by itself.
    const std::string halves = "setp.lt.u32 %p1, %r1, 16; "
                               "selp.b32 %r7, 0xffff, 0xffff0000, %p1; "
                               "bar.warp.sync %r7;\n";
    expectClean(blocks(1, 32, write + halves + read(8)));
    expectRace(blocks(1, 32, write + halves + read(16)));
    // Two half barriers across form a whole one.
    const std::string even = "and.b32 %r8, %r1, 1; setp.eq.u32 %p1, %r8, 0; "
                             "selp.b32 %r7, 0x55555555, 0xaaaaaaaa, %p1; "
                             "bar.warp.sync %r7;\n";
    expectClean(blocks(1, 32, write + halves + even + read(18)));
    expectRace(blocks(1, 32, write + even + read(17)));
  }

  TEST_CASE("shuffles and votes order no memory") {
    const std::string write = "mov.u32 %r3, s; mad.lo.u32 %r4, %r1, 4, %r3; "
                              "st.shared.u32 [%r4], %r1;\n";
    const std::string read = "xor.b32 %r5, %r1, 1; mad.lo.u32 %r5, %r5, 4, "
                             "%r3; ld.shared.u32 %r6, [%r5];\n";
    expectRace(blocks(1, 32,
                      write +
                          "shfl.sync.idx.b32 %r7, %r1, 0, 31, "
                          "0xffffffff;\n" +
                          read));
    expectRace(blocks(
        1, 32, write + "vote.sync.any.pred %p1, %p0, 0xffffffff;\n" + read));
  }

  TEST_CASE("bar.arrive releases and does not acquire") {
    // Warp 1 produces and arrives; warp 0 waits and reads.
    const std::string body =
        "mov.u32 %r3, s; setp.lt.u32 %p1, %r1, 32; @%p1 bra WAIT;\n"
        "mad.lo.u32 %r4, %r1, 4, %r3; st.shared.u32 [%r4], %r1;\n"
        "bar.arrive 1, 64;\nAFTER\nbra END;\n"
        "WAIT: bar.sync 1, 64;\n"
        "mad.lo.u32 %r4, %r1, 4, %r3; ld.shared.u32 %r5, [%r4+128];\n"
        "st.shared.u32 [%r4], %r1;\nEND:\n";
    auto with = [&](const std::string &after) {
      std::string text = body;
      text.replace(text.find("AFTER"), 5, after);
      return blocks(1, 64, text);
    };
    expectClean(with(""));
    expectRace(with("st.shared.u32 [%r4], 9;"));
    expectRace(with("ld.shared.u32 %r5, [%r4+-128];"));
  }
}
