//===- FindingTest.cpp - Each kind of finding, and its near miss ----------===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

using Kinds = std::vector<std::string>;

/// One thread, buffers of 64 bytes.
static Case caseOf(const std::string &body, const std::string &variables = "") {
  Case c;
  c.ptx = kernelWith(body, variables);
  c.buffers = {std::vector<uint8_t>(64), std::vector<uint8_t>(64)};
  return c;
}
/// A warp or more.
static Case threads(int n, const std::string &body,
                    const std::string &variables = "") {
  Case c = caseOf(body, variables);
  c.block = {n, 1, 1};
  c.buffers[0].resize(static_cast<size_t>(n) * 4);
  return c;
}

static const char *sharedArray = ".shared .align 16 .b8 s[1024];\n";

/// %r1 = tid, %d3 = &out[tid], %r2 = &s[tid].
static const char *perThread =
    "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 4, %d1;\n"
    "mov.u32 %r3, s; mad.lo.u32 %r2, %r1, 4, %r3;\n";

TEST_SUITE("emulator findings") {
  TEST_CASE("the last byte of a buffer is inside, the next one is not") {
    Case inside = caseOf("st.global.u32 [%d1+60], 1;");
    CHECK(kindsOf(inside).empty());
    CHECK(valuesOf<uint32_t>(inside.buffers[0])[15] == 1);
    Case outside = caseOf("st.global.u32 [%d1+64], 1;");
    std::string text;
    CHECK(kindsOf(outside, &text) == Kinds{"out-of-bounds"});
    CHECK(text.find("k:8: out-of-bounds: write of 4 bytes") == 0);
    CHECK(text.find("0 bytes after 'b0' (64 bytes)") != std::string::npos);
    Case before = caseOf("ld.global.u32 %r1, [%d1+-4];");
    CHECK(kindsOf(before, &text) == Kinds{"out-of-bounds"});
    CHECK(text.find("4 bytes before 'b0'") != std::string::npos);
    // The end of a vector counts.
    Case vector = caseOf("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%d1+56];");
    CHECK(kindsOf(vector) == Kinds{"out-of-bounds"});
  }

  TEST_CASE("a load that is refused gives 0 and the kernel goes on") {
    Case c = caseOf("ld.global.u32 %r1, [%d1+64]; add.u32 %r1, %r1, 7; "
                    "st.global.u32 [%d1], %r1;");
    CHECK(kindsOf(c) == Kinds{"out-of-bounds"});
    CHECK(valuesOf<uint32_t>(c.buffers[0])[0] == 7);
  }

  TEST_CASE("shared and local memory have bounds of their own") {
    Case inside =
        caseOf("mov.u32 %r1, s; st.shared.u32 [%r1+1020], 1;", sharedArray);
    CHECK(kindsOf(inside).empty());
    Case outside =
        caseOf("mov.u32 %r1, s; st.shared.u32 [%r1+1024], 1;", sharedArray);
    CHECK(kindsOf(outside) == Kinds{"out-of-bounds"});
    Case local = caseOf(".local .align 4 .b8 l[16]; mov.u64 %d3, l; "
                        "st.local.u32 [%d3+12], 5; ld.local.u32 %r1, [%d3+12];"
                        "st.global.u32 [%d1], %r1;");
    CHECK(kindsOf(local).empty());
    CHECK(valuesOf<uint32_t>(local.buffers[0])[0] == 5);
    Case far = caseOf(".local .align 4 .b8 l[16]; mov.u64 %d3, l; "
                      "st.local.u32 [%d3+16], 5;");
    CHECK(kindsOf(far) == Kinds{"out-of-bounds"});
  }

  TEST_CASE("a freed allocation is named") {
    auto device = makeEmulator();
    uint64_t gone = *device->allocate(64, "gone");
    REQUIRE(bool(device->release(gone)));
    Case c = caseOf("mov.u64 %d3, " + std::to_string(gone) +
                    "; ld.global.u32 %r1, [%d3+8];");
    auto report = run(c, device.get());
    REQUIRE(bool(report));
    REQUIRE(report->findings.size() == 1);
    CHECK(report->findings[0].kind == "use-after-free");
    CHECK(report->findings[0].allocation == "byte 8 of 'gone' (64 bytes)");
  }

  TEST_CASE("alignment is that of the whole access") {
    Case aligned = caseOf("st.global.v2.u32 [%d1+8], {1, 2};");
    CHECK(kindsOf(aligned).empty());
    Case vector = caseOf("st.global.v2.u32 [%d1+4], {1, 2};");
    CHECK(kindsOf(vector) == Kinds{"misaligned"});
    Case scalar = caseOf("st.global.u16 [%d1+1], 1;");
    CHECK(kindsOf(scalar) == Kinds{"misaligned"});
  }

  TEST_CASE("bytes that were never written are reported when loaded") {
    Case c = caseOf("ld.global.u32 %r1, [%d2]; st.global.u32 [%d1], %r1;");
    c.uninitialised = {false, true};
    std::string text;
    CHECK(kindsOf(c, &text) == Kinds{"uninitialised"});
    CHECK(text.find("byte 0 of 'b1'") != std::string::npos);
    Case written = caseOf("st.global.u32 [%d2], 3; ld.global.u32 %r1, [%d2];"
                          "st.global.u32 [%d1], %r1;");
    written.uninitialised = {false, true};
    CHECK(kindsOf(written).empty());
    // Three of four bytes written is not enough.
    Case partly = caseOf("st.global.u16 [%d2], 3; st.global.u8 [%d2+2], 1; "
                         "ld.global.u32 %r1, [%d2];");
    partly.uninitialised = {false, true};
    CHECK(kindsOf(partly, &text) == Kinds{"uninitialised"});
    CHECK(text.find("byte 3 of which") != std::string::npos);
    Case shared =
        caseOf("mov.u32 %r1, s; ld.shared.u32 %r2, [%r1];", sharedArray);
    CHECK(kindsOf(shared) == Kinds{"uninitialised"});
    Case off = caseOf("ld.global.u32 %r1, [%d2];");
    off.uninitialised = {false, true};
    off.options.checkInit = false;
    CHECK(kindsOf(off).empty());
  }

  TEST_CASE("a register that was never given must decide nothing") {
    Case stored = caseOf("st.global.u32 [%d1], %r5;");
    CHECK(kindsOf(stored) == Kinds{"uninitialised"});
    Case branch = caseOf("@%p1 bra L; st.global.u32 [%d1], 1; L:");
    CHECK(kindsOf(branch) == Kinds{"uninitialised"});
    // Written on the path that reads it; a join without a use is fine.
    Case given = caseOf("setp.eq.u32 %p1, 1, 1; @%p1 mov.u32 %r5, 4; "
                        "@%p1 st.global.u32 [%d1], %r5;");
    CHECK(kindsOf(given).empty());
    Case unused = caseOf("add.u32 %r6, %r5, 1; st.global.u32 [%d1], 1;");
    CHECK(kindsOf(unused).empty());
  }

  TEST_CASE("two warps race on shared memory unless a barrier orders them") {
    // Each thread writes its word and reads the one 32 threads on.
    std::string write = std::string(perThread) + "st.shared.u32 [%r2], %r1;\n";
    std::string read = "xor.b32 %r4, %r1, 32; mad.lo.u32 %r4, %r4, 4, %r3;\n"
                       "ld.shared.u32 %r5, [%r4]; st.global.u32 [%d3], %r5;";
    Case ordered = threads(64, write + "bar.sync 0;\n" + read, sharedArray);
    CHECK(kindsOf(ordered).empty());
    CHECK(valuesOf<uint32_t>(ordered.buffers[0])[0] == 32);
    for (uint64_t seed : {0, 1, 2, 3}) {
      Case racing = threads(64, write + read, sharedArray);
      racing.options.scheduleSeed = seed;
      racing.options.checkInit = false;
      std::string text;
      CHECK(kindsOf(racing, &text) == Kinds{"race"});
      CHECK(text.find("nothing orders the two") != std::string::npos);
    }
    Case off = threads(64, write + read, sharedArray);
    off.options.checkRaces = off.options.checkInit = false;
    CHECK(kindsOf(off).empty());
  }

  TEST_CASE("a read may not overtake the next write") {
    // Read a neighbour's word, then overwrite: needs a second barrier.
    std::string before = std::string(perThread) +
                         "st.shared.u32 [%r2], %r1; bar.sync 0;\n"
                         "xor.b32 %r4, %r1, 32; mad.lo.u32 %r4, %r4, 4, %r3;\n"
                         "ld.shared.u32 %r5, [%r4];\n";
    std::string after = "st.shared.u32 [%r2], 9; st.global.u32 [%d3], %r5;";
    Case racing = threads(64, before + after, sharedArray);
    CHECK(kindsOf(racing) == Kinds{"race"});
    Case ordered = threads(64, before + "bar.sync 0;\n" + after, sharedArray);
    CHECK(kindsOf(ordered).empty());
  }

  TEST_CASE("lanes of one warp are ordered by bar.warp.sync only") {
    std::string write = std::string(perThread) + "st.shared.u32 [%r2], %r1;\n";
    std::string read = "xor.b32 %r4, %r1, 1; mad.lo.u32 %r4, %r4, 4, %r3;\n"
                       "ld.shared.u32 %r5, [%r4]; st.global.u32 [%d3], %r5;";
    Case racing = threads(32, write + read, sharedArray);
    CHECK(kindsOf(racing) == Kinds{"race"});
    Case ordered =
        threads(32, write + "bar.warp.sync 0xffffffff;\n" + read, sharedArray);
    CHECK(kindsOf(ordered).empty());
  }

  TEST_CASE("lanes that write one word in one instruction race") {
    Case same =
        threads(32, "mov.u32 %r1, s; st.shared.u32 [%r1], 1;", sharedArray);
    CHECK(kindsOf(same) == Kinds{"race"});
    Case own = threads(32, std::string(perThread) + "st.shared.u32 [%r2], 1;",
                       sharedArray);
    CHECK(kindsOf(own).empty());
    Case atomic = threads(32,
                          "mov.u32 %r1, s; mov.u32 %r2, %tid.x; "
                          "setp.eq.u32 %p1, %r2, 0; "
                          "@%p1 st.shared.u32 [%r1], 0; bar.sync 0; "
                          "red.shared.add.u32 [%r1], 1;",
                          sharedArray);
    CHECK(kindsOf(atomic).empty());
  }

  TEST_CASE("neighbouring halves and bytes do not race") {
    Case halves = threads(64, "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 2, "
                              "%d1; st.global.u16 [%d3], 1;");
    CHECK(kindsOf(halves).empty());
    Case bytes = threads(64, "mov.u32 %r1, %tid.x; cvt.u64.u32 %d3, %r1; "
                             "add.s64 %d3, %d3, %d1; st.global.u8 [%d3], 1;");
    CHECK(kindsOf(bytes).empty());
    Case mixed = threads(64, "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 2, "
                             "%d1; st.global.u16 [%d3], 1; "
                             "st.global.u32 [%d1], 1;");
    CHECK(kindsOf(mixed) == Kinds{"race"});
  }

  TEST_CASE("blocks race on global memory") {
    Case c = caseOf("st.global.u32 [%d1], 1;");
    c.grid = {2, 1, 1};
    auto report = run(c);
    REQUIRE(bool(report));
    REQUIRE(report->findings.size() == 1);
    CHECK(report->findings[0].kind == "race");
    CHECK(report->findings[0].block == std::array<int64_t, 3>{1, 0, 0});
    CHECK(report->findings[0].other == "line 8 block 0,0,0 thread 0,0,0");
    Case own = caseOf("mov.u32 %r1, %ctaid.x; mad.wide.u32 %d3, %r1, 4, %d1; "
                      "st.global.u32 [%d3], 1;");
    own.grid = {16, 1, 1};
    CHECK(kindsOf(own).empty());
    own.options.jobs = 2;
    CHECK(kindsOf(own).empty());
    // A second launch is ordered after the first.
    auto device = makeEmulator();
    for (int i = 0; i < 2; ++i) {
      Case again = caseOf("st.global.u32 [%d1], 1;");
      auto second = run(again, device.get());
      REQUIRE(bool(second));
      CHECK(second->ok());
    }
  }

  TEST_CASE("a barrier that some threads never reach") {
    // Warp 1 waits for barrier 1, warp 0 for barrier 0.
    Case c = threads(64, "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;\n"
                         "@%p1 bra A;\nbar.sync 1;\nbra B;\nA: bar.sync 0;\n"
                         "B:");
    std::string text;
    CHECK(kindsOf(c, &text) == Kinds{"deadlock"});
    CHECK(text.find("32 threads wait at line 12 for barrier 0") !=
          std::string::npos);
    CHECK(text.find("32 threads wait at line 10 for barrier 1") !=
          std::string::npos);
    // A count that the exited warp was needed for.
    Case exited = threads(64, "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;\n"
                              "@%p1 ret;\nbar.sync 0, 64;");
    CHECK(kindsOf(exited, &text) == Kinds{"deadlock"});
    CHECK(text.find("32 threads exited") != std::string::npos);
    // Half of the block may use a barrier of its own.
    Case named = threads(64, "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;\n"
                             "@%p1 bra A;\nbar.sync 1, 32;\nA:\nbar.sync 0;");
    CHECK(kindsOf(named).empty());
  }

  TEST_CASE("a barrier inside a warp that has split") {
    Case c = threads(32, "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16;\n"
                         "@%p1 bra A;\nbar.sync 0;\nbra B;\nA: bar.sync 0;\n"
                         "B:");
    CHECK(kindsOf(c) == Kinds{"divergent"});
    Case shuffle =
        threads(32, "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16;\n"
                    "@%p1 shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffffffff;");
    CHECK(kindsOf(shuffle) == Kinds{"divergent"});
    Case masked =
        threads(32, "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16;\n"
                    "@%p1 shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffff;");
    CHECK(kindsOf(masked).empty());
  }

  TEST_CASE("a copy is not there before it is waited for") {
    std::string copy = "mov.u32 %r1, s;\n"
                       "cp.async.ca.shared.global [%r1], [%d2], 16;\n"
                       "cp.async.commit_group;\n";
    std::string use = "ld.shared.u32 %r2, [%r1+4]; st.global.u32 [%d1], %r2;";
    Case early = caseOf(copy + use, sharedArray);
    std::string text;
    CHECK(kindsOf(early, &text) == Kinds{"async"});
    CHECK(text.find("cp.async at line") != std::string::npos);
    Case waited = caseOf(copy + "cp.async.wait_group 0;\n" + use, sharedArray);
    waited.buffers[1] = bytesOf<uint32_t>({1, 2, 3, 4});
    CHECK(kindsOf(waited).empty());
    CHECK(valuesOf<uint32_t>(waited.buffers[0])[0] == 2);
    // One group may still be under way: the older one has arrived.
    Case older = caseOf(copy +
                            "cp.async.ca.shared.global [%r1+16], [%d2], 16;\n"
                            "cp.async.commit_group; cp.async.wait_group 1;\n" +
                            use,
                        sharedArray);
    CHECK(kindsOf(older).empty());
    // The source size fills the rest with zeros.
    Case zeros = caseOf("mov.u32 %r1, s;\n"
                        "cp.async.ca.shared.global [%r1], [%d2], 16, 4;\n"
                        "cp.async.wait_all;\n" +
                            use,
                        sharedArray);
    zeros.buffers[1] = bytesOf<uint32_t>({1, 2, 3, 4});
    CHECK(kindsOf(zeros).empty());
    CHECK(valuesOf<uint32_t>(zeros.buffers[0])[0] == 0);
  }

  TEST_CASE("a loop without end is stopped by the budget") {
    Case c = caseOf("L: bra L;");
    c.options.budget = 1000000;
    std::string text;
    CHECK(kindsOf(c, &text) == Kinds{"budget"});
    CHECK(text.find("1000000 thread-instructions") != std::string::npos);
  }

  TEST_CASE("a trap ends the block") {
    Case c = caseOf("trap; st.global.u32 [%d1], 1;");
    CHECK(kindsOf(c) == Kinds{"trap"});
    CHECK(valuesOf<uint32_t>(c.buffers[0])[0] == 0);
  }

  TEST_CASE("findings are capped and one a line and kind") {
    std::string body;
    for (int i = 0; i < 30; ++i)
      body += "st.global.u32 [%d1+" + std::to_string(64 + 4 * i) + "], 1;\n";
    Case c = threads(1, body);
    c.grid = {4, 1, 1};
    auto report = run(c);
    REQUIRE(bool(report));
    CHECK(report->findings.size() == 20);
    CHECK(report->findings[0].ptxLine == 8);
    CHECK(report->findings[19].ptxLine == 27);
  }
}
