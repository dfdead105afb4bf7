//===- FindingKindsTest.cpp - Every kind has a trigger and a near miss ----===//
//
// A row of the table is a mistake: a kernel of one warp that is reported, and
// one beside it that must not be. Each kind of FindingKinds.h needs a row.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/FindingKinds.h"

#include "tests/unit/device/emulator/Harness.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::test;

namespace {
/// The bodies differ in `$`, which stands for one of two texts.
struct Mistake {
  const char *kind, *what, *body, *wrong, *right;
  bool isCluster = false; // of two blocks
};

const char *variables =
    ".shared .align 8 .b8 bar[16];\n.shared .align 1024 .b8 s[4096];\n"
    ".global .align 1 .b8 text[4] = {114, 117, 110, 0};\n"
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, "
    ".param .b64 d, .param .b64 e);\n"
    ".func (.param .b32 r) deep(.param .b32 n) { .reg .b32 %r<5>; .reg .pred "
    "%p<3>; ld.param.u32 %r1, [n]; mov.u32 %r2, 0;\n"
    "setp.eq.u32 %p1, %r1, 0; @%p1 bra E; sub.u32 %r3, %r1, 1;\n"
    "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r3;\n"
    "call.uni (y), deep, (x); ld.param.b32 %r2, [y]; }\n"
    "E: st.param.b32 [r], %r2; ret; }\n";

// %r1 = tid, %r3 = &bar (one arrival), %r4 = &s, %r5 = &s[tid], %p1: thread 0,
// %p2: never, %d3 = &out[tid]; in[] holds small numbers.
#define WRITE "st.shared.u32 [%r5], %r1; "
#define READ "ld.shared.u32 %r6, [%r5]; st.global.u32 [%d3], %r6; "
#define FENCE "fence.proxy.async.shared::cta; "
#define EXPECT "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 128; "
#define LOAD                                                                   \
  "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "    \
  "[%r4], [%d2], 128, [%r3];\n"
#define STORE                                                                  \
  "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r4], 128; "       \
  "@%p1 cp.async.bulk.commit_group;\n"
#define WAIT_READ "@%p1 cp.async.bulk.wait_group.read 0; "
#define SPIN                                                                   \
  "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra W;\n"

const Mistake mistakes[] = {
    {"out-of-bounds", "a write behind a buffer",
     "@%p1 st.global.u32 [%d1+$], 1;", "4096", "4092"},
    {"out-of-bounds", "a write behind shared memory",
     "@%p1 st.shared.u32 [%r4+$], 1;", "4096", "4092"},
    {"use-after-free", "a freed buffer", "ld.global.u32 %r6, [%d5];", "", ""},
    {"misaligned", "a vector at half its size",
     "@%p1 ld.global.v2.u32 {%r6, %r7}, [%d2+$];", "4", "8"},
    {"misaligned", "a bulk copy from half its unit",
     EXPECT
     "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
     "[%r4], [%d2+$], 128, [%r3];\n" SPIN,
     "8", "16"},
    {"uninitialised", "shared memory that was never written", "$" READ, "",
     WRITE},
    {"uninitialised", "a register that was never given",
     "$ st.global.u32 [%d3], %r6;", "", "mov.u32 %r6, 1;"},
    {"race", "lanes without bar.warp.sync",
     WRITE "xor.b32 %r6, %r1, 1; mad.lo.u32 %r6, %r6, 4, %r4; $\n"
           "ld.shared.u32 %r7, [%r6]; st.global.u32 [%d3], %r7;",
     "", "bar.warp.sync 0xffffffff;"},
    {"async", "a copy's result before its wait", EXPECT LOAD "$", READ SPIN,
     SPIN READ},
    {"async", "an mbarrier that the copy may not see",
     "@%p1 mbarrier.init.shared.b64 [%r3+8], 1;\n$ bar.sync 0;\n"
     "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3+8], 128;\n"
     "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
     "[%r4], [%d2], 128, [%r3+8];\n"
     "V: mbarrier.try_wait.parity.shared.b64 %p3, [%r3+8], 0; @!%p3 bra V;\n",
     "", "fence.mbarrier_init.release.cluster;"},
    {"async", "a source without a proxy fence",
     WRITE "$ bar.sync 0;\n" STORE WAIT_READ, "", FENCE},
    {"async", "a source that is written before it was read",
     WRITE FENCE "bar.sync 0;\n" STORE "$", "bar.sync 0; " WRITE WAIT_READ,
     WAIT_READ "bar.sync 0; " WRITE},
    {"async", "a store that the end of the block overtakes",
     WRITE FENCE "bar.sync 0;\n" STORE "$", "", WAIT_READ},
    {"async", "an older copy's wait",
     "mad.wide.u32 %d4, %r1, 4, %d2;\n"
     "cp.async.ca.shared.global [%r5], [%d4], 4; cp.async.commit_group;\n"
     "cp.async.ca.shared.global [%r5+128], [%d4], 4; cp.async.commit_group;\n"
     "cp.async.wait_group $;\nld.shared.u32 %r6, [%r5+128];",
     "1", "0"},
    {"divergent", "two barriers in the branches of a warp",
     "setp.lt.u32 %p4, %r1, $; @%p4 bra A;\nbar.sync 1;\nbra B;\nA: bar.sync "
     "0;\nB:",
     "16", "32"},
    {"barrier", "more arrivals than expected",
     "@%p1 mbarrier.arrive.shared.b64 %d9, [%r3], $;", "2", "1"},
    {"barrier", "a write over an mbarrier", "@%p1 st.shared.u32 [%r3+$], 0;",
     "4", "8"},
    {"barrier", "an mbarrier that is initialised twice",
     "$ @%p1 mbarrier.init.shared.b64 [%r3], 1;", "",
     "@%p1 mbarrier.inval.shared.b64 [%r3];"},
    {"deadlock", "a barrier that counts a warp too many", "bar.sync 1, $;",
     "64", "32"},
    {"deadlock", "a lost arrival", "$" SPIN, "",
     "@%p1 mbarrier.arrive.shared.b64 %d9, [%r3]; "},
    {"trap", "a trap", "@%$ trap;", "p1", "p2"},
    {"assert", "a failing assertion",
     "@!%$ bra L; { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 "
     "d; .param .b64 e; mov.u64 %d4, text; cvta.global.u64 %d4, %d4;\n"
     "st.param.b64 [a], %d4; st.param.b64 [b], %d4; st.param.b32 [c], 7; "
     "st.param.b64 [d], %d4; st.param.b64 [e], 1;\n"
     "call.uni __assertfail, (a, b, c, d, e); }\nL:",
     "p1", "p2"},
    {"call", "a pointer to no function",
     "mov.u64 %d4, $; { .param .b32 x; .param .b32 y; st.param.b32 [x], 2;\n"
     "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
     "call (y), %d4, (x), P; }",
     "64", "deep"},
    {"stack", "a recursion without end",
     "{ .param .b32 x; .param .b32 y; st.param.b32 [x], $;\n"
     "call.uni (y), deep, (x); }",
     "-1", "3"},
    {"budget", "a loop without end", "L: @%$ bra L;", "p1", "p2"},
    {"registers", "a decrease above what a thread has",
     "setmaxnreg.dec.sync.aligned.u32 $;", "136", "40"},
    {"wrap", "an offset that wraps in 32 bits",
     "mul.lo.s32 %r6, %r7, 4; mad.wide.s32 %d4, %r6, 4, %d1; "
     "@%p1 st.global.u32 [%d4], 1;",
     "0x40000000", "64"},
    // Block 1 sends its tile away; block 0 refills it when told so.
    {"scope", "a remote arrival of a scope too small after a wait",
     "mov.u32 %r10, %cluster_ctarank; setp.eq.u32 %p5, %r10, 1; "
     "mov.u32 %r11, 1; mov.u32 %r12, 0; and.pred %p6, %p1, %p5;\n" WRITE FENCE
     "@%p6 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 128;\n"
     "barrier.cluster.arrive; barrier.cluster.wait;\n"
     "mapa.shared::cluster.u32 %r13, %r3, %r12;\n"
     "mapa.shared::cluster.u32 %r14, %r4, %r11;\n"
     "mapa.shared::cluster.u32 %r15, %r3, %r11;\n"
     "@!%p6 bra S;\n" STORE WAIT_READ "\n$ _, [%r13];\n"
     "S: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r3], "
     "0; @%p5 bra T; @!%p3 bra S;\n"
     "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
     "bytes [%r14], [%r4], 128, [%r15];\n"
     "T: @%p5 mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, "
     "[%r3], 0; @!%p3 bra T;\n"
     "barrier.cluster.arrive; barrier.cluster.wait;",
     "mbarrier.arrive.shared::cluster.b64",
     "mbarrier.arrive.release.cluster.shared::cluster.b64", true},
};

Case caseOf(const Mistake &mistake, bool isWrong) {
  Case c;
  std::string body = mistake.body;
  size_t at = body.find('$');
  const char *text = isWrong ? mistake.wrong : mistake.right;
  if (at != std::string::npos)
    body.replace(at, 1, text);
  else if (mistake.kind == std::string("wrap"))
    body = "mov.u32 %r7, " + std::string(text) + ";\n" + body;
  else
    body += text;
  c.ptx = kernelWith("mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 4, %d1;\n"
                     "mov.u32 %r3, bar; mov.u32 %r4, s; "
                     "mad.lo.u32 %r5, %r1, 4, %r4;\n"
                     "setp.eq.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r1, %r1;\n"
                     "@%p1 mbarrier.init.shared.b64 [%r3], 1;\n"
                     "@%p1 fence.mbarrier_init.release.cluster;\n"
                     "bar.sync 0;\n" +
                         body,
                     variables);
  if (mistake.kind == std::string("registers"))
    c.ptx.insert(c.ptx.find("in) {") + 3, " .reqntid 32 .maxnreg 128 ");
  c.block = {32, 1, 1};
  if (mistake.isCluster)
    c.grid = {2, 1, 1}, c.cluster = {2, 1, 1};
  std::vector<uint32_t> values(1024);
  for (uint32_t i = 0; i < values.size(); ++i)
    values[i] = i;
  c.buffers = {std::vector<uint8_t>(4096), bytesOf(values)};
  c.options.budget = 1000000;
  return c;
}

/// The first finding's kind, else the first note's, else nothing.
std::string kindFound(const Mistake &mistake, bool isWrong, std::string &text) {
  auto device = makeEmulator();
  uint64_t other = *device->allocate(64, "other");
  REQUIRE(bool(device->fill(other, 0, 64, true)));
  if (isWrong && mistake.kind == std::string("use-after-free"))
    REQUIRE(bool(device->release(other)));
  Case c = caseOf(mistake, isWrong);
  c.ptx.insert(c.ptx.find("setp.ne.u32 %p2"),
               "mov.u64 %d5, " + std::to_string(other) + ";\n");
  auto report = run(c, device.get());
  REQUIRE_MESSAGE(bool(report), c.ptx, report.error().text());
  std::string kind;
  for (const auto *list : {&report->findings, &report->notes})
    for (const Finding &finding : *list) {
      kind = kind.empty() ? finding.kind : kind;
      text += finding.text() + "\n";
      CHECK(finding.ptxLine > 0);
    }
  return kind;
}
} // namespace

TEST_SUITE("emulator finding kinds") {
  TEST_CASE("each mistake is reported, and its near miss is not") {
    for (const Mistake &mistake : mistakes) {
      CAPTURE(std::string(mistake.what));
      std::string text;
      CHECK_MESSAGE(kindFound(mistake, true, text) == mistake.kind, text);
      text.clear();
      CHECK_MESSAGE(kindFound(mistake, false, text) == "", text);
    }
  }

  TEST_CASE("no kind lacks a mistake, or a row of the docs") {
    std::string docs = readFile(TANDEM_SOURCE_DIR "/docs/emulator-checks.md");
    for (std::string_view kind : emulator::findingKinds) {
      CAPTURE(std::string(kind));
      CHECK(std::any_of(std::begin(mistakes), std::end(mistakes),
                        [&](const Mistake &m) { return kind == m.kind; }));
      CHECK(docs.find("`" + std::string(kind) + "`") != std::string::npos);
    }
  }
}
