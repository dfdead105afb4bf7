//===- ClusterTest.cpp - CTAs that run together ---------------------------===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

using Kinds = std::vector<std::string>;

/// Clusters of \p size blocks of 32 threads; %r1 = tid, %r2 = rank, %r3 = &s,
/// %d3 = &out[global thread].
static Case clusters(int size, int count, const std::string &body) {
  Case c;
  c.ptx = kernelWith("mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank;\n"
                     "mov.u32 %r4, %ctaid.x; mad.lo.u32 %r5, %r4, 32, %r1;\n"
                     "mad.wide.u32 %d3, %r5, 4, %d1; mov.u32 %r3, s;\n" +
                         body,
                     ".shared .align 16 .b8 s[256];\n");
  c.block = {32, 1, 1};
  c.grid = {size * count, 1, 1};
  c.cluster = {size, 1, 1};
  c.buffers = {std::vector<uint8_t>(static_cast<size_t>(size * count) * 128),
               std::vector<uint8_t>(64)};
  return c;
}

static const char *meet =
    "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";

TEST_SUITE("emulator clusters") {
  TEST_CASE("special registers tell the place in the cluster") {
    // out[i] = what one special register is for block i of a 4x2 grid in 2x2.
    auto valuesOfSpecial = [](const std::string &special) {
      Case c;
      c.ptx = kernelWith("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y;\n"
                         "mad.lo.u32 %r3, %r2, 4, %r1; mov.u32 %r4, " +
                         special +
                         ";\nmad.wide.u32 %d3, %r3, 4, %d1;\n"
                         "st.global.u32 [%d3], %r4;");
      c.grid = {4, 2, 1};
      c.cluster = {2, 2, 1};
      c.buffers = {std::vector<uint8_t>(32), std::vector<uint8_t>(4)};
      runClean(c);
      return valuesOf<uint32_t>(c.buffers[0]);
    };
    using Values = std::vector<uint32_t>;
    CHECK(valuesOfSpecial("%cluster_ctarank") ==
          Values{0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(valuesOfSpecial("%clusterid.x") == Values{0, 0, 1, 1, 0, 0, 1, 1});
    CHECK(valuesOfSpecial("%cluster_ctaid.y") ==
          Values{0, 0, 0, 0, 1, 1, 1, 1});
    CHECK(valuesOfSpecial("%nclusterid.x") == Values(8, 2));
    CHECK(valuesOfSpecial("%cluster_nctarank") == Values(8, 4));
  }

  // Each block writes its rank + tid, and reads the next block's.
  const std::string exchange =
      "add.u32 %r6, %r1, 4; mad.lo.u32 %r7, %r1, 4, %r3;\n"
      "mad.lo.u32 %r6, %r2, 100, %r1; st.shared.u32 [%r7], %r6;\n";
  const std::string readNext =
      "add.u32 %r8, %r2, 1; rem.u32 %r8, %r8, 4;\n"
      "mapa.shared::cluster.u32 %r9, %r7, %r8;\n"
      "ld.shared::cluster.u32 %r10, [%r9]; st.global.u32 [%d3], %r10;\n";

  TEST_CASE("blocks of a cluster read each other's shared memory") {
    for (uint64_t seed : {0, 1, 2, 3}) {
      Case c = clusters(4, 3, exchange + meet + readNext + meet);
      c.options.scheduleSeed = seed;
      runClean(c);
      auto out = valuesOf<uint32_t>(c.buffers[0]);
      for (uint32_t i = 0; i < 12; ++i)
        for (uint32_t t = 0; t < 32; ++t)
          CHECK(out[i * 32 + t] == (i + 1) % 4 * 100 + t);
    }
  }

  TEST_CASE("generic addresses and atomics reach other blocks") {
    // All blocks add into block 2's word.
    Case c = clusters(
        4, 1,
        "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r3], 0;\n" +
            std::string(meet) +
            "cvt.u64.u32 %d4, %r3; cvta.shared.u64 %d4, %d4;\n"
            "mapa.u64 %d5, %d4, 2; getctarank.u64 %r8, %d5;\n"
            "atom.add.u32 %r9, [%d5], %r8;\n" +
            meet + "ld.shared.u32 %r10, [%r3]; st.global.u32 [%d3], %r10;\n");
    runClean(c);
    auto out = valuesOf<uint32_t>(c.buffers[0]);
    CHECK(out[0] == 0);
    CHECK(out[2 * 32 + 5] == 2 * 128);
  }

  TEST_CASE("a block that has exited has no shared memory any more") {
    // Block 1 leaves at once; without the last barrier block 0 comes too late.
    std::string reads = "setp.eq.u32 %p1, %r2, 1; @%p1 bra L;\n"
                        "mapa.shared::cluster.u32 %r9, %r7, 1;\n"
                        "ld.shared::cluster.u32 %r10, [%r9];\n"
                        "st.global.u32 [%d3], %r10;\nL:\n";
    Case waits = clusters(2, 1, exchange + meet + reads + meet);
    CHECK(kindsOf(waits).empty());
    Case leaves = clusters(2, 1, exchange + meet + reads);
    std::string text;
    CHECK(kindsOf(leaves, &text) == Kinds{"use-after-free"});
    CHECK(text.find("the shared memory of block 1 of the cluster, which has "
                    "exited") != std::string::npos);
  }

  TEST_CASE("ranks and windows are checked") {
    Case outside =
        clusters(2, 1, "mapa.shared::cluster.u32 %r9, %r3, 2;" + std::string());
    CHECK(kindsOf(outside) == Kinds{"out-of-bounds"});
    // A shared::cluster address of a peer means nothing in shared::cta.
    Case wrong = clusters(2, 1,
                          exchange + meet +
                              "mapa.shared::cluster.u32 %r9, %r7, 1;\n"
                              "ld.shared::cta.u32 %r10, [%r9];\n" +
                              meet);
    CHECK(kindsOf(wrong) == Kinds{"out-of-bounds"});
  }

  TEST_CASE("a thread that misses the cluster's barrier is a deadlock") {
    Case c = clusters(2, 1,
                      "setp.eq.u32 %p1, %r2, 1; @%p1 bra L;\n"
                      "barrier.cluster.arrive.aligned;\n"
                      "barrier.cluster.wait.aligned;\nL: bar.sync 0;\n"
                      "setp.eq.u32 %p1, %r2, 0; @%p1 bra M;\n"
                      "barrier.cluster.arrive.aligned;\n"
                      "barrier.cluster.wait.aligned;\n"
                      "barrier.cluster.arrive.aligned;\n"
                      "barrier.cluster.wait.aligned;\nM:");
    // Block 0 arrives once and exits: exited threads are not waited for.
    CHECK(kindsOf(c).empty());
    Case stuck = clusters(2, 1,
                          "setp.eq.u32 %p1, %r2, 1; @%p1 bra L;\n"
                          "barrier.cluster.arrive.aligned;\n"
                          "barrier.cluster.wait.aligned;\nbra M;\n"
                          "L: bar.sync 1, 64;\nM:");
    std::string text;
    CHECK(kindsOf(stuck, &text) == Kinds{"deadlock"});
    CHECK(text.find("for the cluster's barrier") != std::string::npos);
  }

  TEST_CASE("a wait without an arrival is reported, and an arrival twice") {
    Case wait = clusters(2, 1, "barrier.cluster.wait;");
    CHECK(kindsOf(wait) == Kinds{"barrier"});
    Case twice = clusters(2, 1,
                          "barrier.cluster.arrive; barrier.cluster.arrive;\n"
                          "barrier.cluster.wait;");
    CHECK(kindsOf(twice) == Kinds{"barrier"});
  }

  TEST_CASE("a cluster's barrier orders a block's accesses, a relaxed one "
            "does not") {
    std::string body = "mad.lo.u32 %r7, %r1, 4, %r3; st.shared.u32 [%r7], "
                       "%r1;\n";
    std::string read = "xor.b32 %r8, %r1, 32; mad.lo.u32 %r8, %r8, 4, %r3;\n"
                       "ld.shared.u32 %r9, [%r8];\n";
    auto twoWarps = [&](const std::string &barrier) {
      Case c = clusters(1, 1, body + barrier + read);
      c.block = {64, 1, 1};
      c.buffers[0].resize(256);
      return c;
    };
    Case ordered = twoWarps(meet);
    CHECK(kindsOf(ordered).empty());
    Case relaxed = twoWarps("barrier.cluster.arrive.relaxed.aligned;\n"
                            "barrier.cluster.wait.aligned;\n");
    CHECK(kindsOf(relaxed) == Kinds{"race"});
  }

  TEST_CASE("the launch has the cluster that the PTX requires") {
    Case c = clusters(2, 1, "");
    size_t brace = c.ptx.find(") {");
    c.ptx.insert(brace + 1, " .reqnctapercluster 4, 1, 1 ");
    auto report = run(c);
    REQUIRE(!report);
    CHECK(report.error().text() ==
          "k: the PTX requires clusters of 4 CTAs in dimension 0, the launch "
          "record gives 2");
  }
}
