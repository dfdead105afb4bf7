//===- MbarrierTest.cpp - Barriers in shared memory -----------------------===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

using Kinds = std::vector<std::string>;

/// 64 threads; %r1 = tid, %r3 = &bar, %r4 = &s, %d3 = &out[tid]. Thread 0 makes
/// an mbarrier for \p count arrivals.
static Case withBarrier(int count, const std::string &body,
                        bool isOrdered = true) {
  Case c;
  c.ptx = kernelWith(
      "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 4, %d1;\n"
      "mov.u32 %r3, bar; mov.u32 %r4, s; setp.eq.u32 %p1, %r1, 0;\n"
      "setp.lt.u32 %p2, %r1, 32;\n"
      "@%p1 mbarrier.init.shared.b64 [%r3], " +
          std::to_string(count) + ";\n" + (isOrdered ? "bar.sync 0;\n" : "\n") +
          body,
      ".shared .align 8 .b8 bar[16]; .shared .align 16 .b8 s[256];\n");
  c.block = {64, 1, 1};
  c.buffers = {std::vector<uint8_t>(256), std::vector<uint8_t>(64)};
  return c;
}

// Threads 0 to 31 write, the others read.
static const std::string produce =
    "@!%p2 bra C;\nmad.lo.u32 %r5, %r1, 4, %r4; st.shared.u32 [%r5], %r1;\n";
static const std::string arrive = "mbarrier.arrive.shared.b64 %d9, [%r3];\n";
static const std::string consume = "bra E;\nC:\n";
static const std::string spin =
    "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra W;\n";
static const std::string readOut =
    "sub.u32 %r5, %r1, 32; mad.lo.u32 %r5, %r5, 4, %r4;\n"
    "ld.shared.u32 %r6, [%r5]; st.global.u32 [%d3], %r6;\nE:";

TEST_SUITE("emulator mbarrier") {
  TEST_CASE("an arrival and a wait order a write and a read") {
    for (uint64_t seed : {0, 1, 2, 3}) {
      Case c = withBarrier(32, produce + arrive + consume + spin + readOut);
      c.options.scheduleSeed = seed;
      runClean(c);
      CHECK(valuesOf<uint32_t>(c.buffers[0])[32 + 7] == 7);
    }
    Case noWait = withBarrier(32, produce + arrive + consume + readOut);
    noWait.options.checkInit = false;
    CHECK(kindsOf(noWait) == Kinds{"race"});
    // Relaxed on one side orders nothing.
    Case relaxed = withBarrier(
        32, produce + "mbarrier.arrive.relaxed.cta.shared.b64 %d9, [%r3];\n" +
                consume + spin + readOut);
    CHECK(kindsOf(relaxed) == Kinds{"race"});
  }

  TEST_CASE("a lost arrival is a deadlock that names barrier and line") {
    Case c = withBarrier(33, produce + arrive + consume + spin + readOut);
    std::string text;
    CHECK(kindsOf(c, &text) == Kinds{"deadlock"});
    CHECK(text.find("32 threads wait at line 19 for the mbarrier at byte 0 of "
                    "shared memory (phase 0 misses 1 of 33 arrivals)") !=
          std::string::npos);
    // One thread arrives twice: none is missing.
    Case twice = withBarrier(33, produce + arrive +
                                     "@%p1 mbarrier.arrive.shared.b64 %d9, "
                                     "[%r3];\n" +
                                     consume + spin + readOut);
    CHECK(kindsOf(twice).empty());
  }

  TEST_CASE("more arrivals than expected are reported") {
    Case c = withBarrier(2, "@%p1 mbarrier.arrive.shared.b64 %d9, [%r3], 3;");
    std::string text;
    CHECK(kindsOf(c, &text) == Kinds{"barrier"});
    CHECK(text.find("arrives 3 times") != std::string::npos);
    Case exact =
        withBarrier(2, "@%p1 mbarrier.arrive.shared.b64 %d9, [%r3], 2;");
    CHECK(kindsOf(exact).empty());
  }

  TEST_CASE("an mbarrier is initialised, once, and known to be") {
    Case before =
        withBarrier(2, "@%p1 mbarrier.arrive.shared.b64 %d9, [%r3+8];");
    std::string text;
    CHECK(kindsOf(before, &text) == Kinds{"barrier"});
    CHECK(text.find("no initialised mbarrier at byte 8") != std::string::npos);
    Case again = withBarrier(2, "@%p1 mbarrier.init.shared.b64 [%r3], 1;");
    CHECK(kindsOf(again) == Kinds{"barrier"});
    Case invalid = withBarrier(2, "@%p1 mbarrier.inval.shared.b64 [%r3];\n"
                                  "@%p1 mbarrier.init.shared.b64 [%r3], 1;");
    CHECK(kindsOf(invalid).empty());
    Case unordered =
        withBarrier(64, "mbarrier.arrive.shared.b64 %d9, [%r3];", false);
    CHECK(kindsOf(unordered) == Kinds{"race"});
  }

  TEST_CASE("a write over an mbarrier is reported, one beside it is not") {
    Case over = withBarrier(2, "@%p1 st.shared.u32 [%r3+4], 0;");
    std::string text;
    CHECK(kindsOf(over, &text) == Kinds{"barrier"});
    CHECK(text.find("k:14: barrier: writes over the mbarrier at byte 0") == 0);
    Case beside = withBarrier(2, "@%p1 st.shared.u32 [%r3+8], 0;");
    CHECK(kindsOf(beside).empty());
    Case after = withBarrier(2, "@%p1 mbarrier.inval.shared.b64 [%r3];\n"
                                "@%p1 st.shared.u32 [%r3], 0;");
    CHECK(kindsOf(after).empty());
  }

  TEST_CASE("states name phases") {
    // Phase 0 completes with the first arrival, phase 1 with the second.
    std::string twice = "@!%p1 bra E;\n"
                        "mbarrier.arrive.shared.b64 %d8, [%r3];\n"
                        "mbarrier.pending_count.b64 %r7, %d8;\n"
                        "mbarrier.arrive.shared.b64 %d9, [%r3];\n";
    Case c = withBarrier(1, twice + "mbarrier.test_wait.shared.b64 %p3, [%r3], "
                                    "%d9;\nselp.u32 %r6, 1, 0, %p3;\n"
                                    "add.u32 %r6, %r6, %r7;\n"
                                    "st.global.u32 [%d3], %r6;\nE:");
    runClean(c);
    CHECK(valuesOf<uint32_t>(c.buffers[0])[0] == 2);
    Case old = withBarrier(1, twice + "mbarrier.test_wait.shared.b64 %p3, "
                                      "[%r3], %d8;\nE:");
    CHECK(kindsOf(old) == Kinds{"barrier"});
    Case parity = withBarrier(
        1, "@%p1 mbarrier.test_wait.parity.shared.b64 %p3, [%r3], 2;");
    CHECK(kindsOf(parity) == Kinds{"barrier"});
  }

  TEST_CASE("transaction counts complete a phase, and overflow") {
    Case c =
        withBarrier(1, "@!%p1 bra E;\n"
                       "mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 64;\n"
                       "mbarrier.test_wait.shared.b64 %p3, [%r3], %d9;\n"
                       "selp.u32 %r6, 10, 20, %p3;\n"
                       "mbarrier.complete_tx.shared.b64 [%r3], 64;\n"
                       "mbarrier.test_wait.shared.b64 %p3, [%r3], %d9;\n"
                       "selp.u32 %r7, 1, 2, %p3; add.u32 %r6, %r6, %r7;\n"
                       "st.global.u32 [%d3], %r6;\nE:");
    runClean(c);
    CHECK(valuesOf<uint32_t>(c.buffers[0])[0] == 21);
    Case overflow = withBarrier(
        1, "@%p1 mbarrier.expect_tx.relaxed.cta.shared.b64 [%r3], 1048575;\n"
           "@%p1 mbarrier.expect_tx.relaxed.cta.shared.b64 [%r3], 1;");
    std::string text;
    CHECK(kindsOf(overflow, &text) == Kinds{"barrier"});
    CHECK(text.find("k:15: barrier: the transaction count") == 0);
  }
}
