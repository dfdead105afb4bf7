//===- BulkCopyTest.cpp - cp.async.bulk, tensor maps, groups --------------===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

using Kinds = std::vector<std::string>;

static const char *variables = ".shared .align 8 .b8 bar[16];\n"
                               ".shared .align 1024 .b8 s[4096];\n";

/// One warp; %r1 = tid, %r3 = &bar (one arrival), %r4 = &s, %p1: thread 0,
/// %d3 = &out[tid]. %d4 = map.
static Case withCopies(const std::string &body, bool isFenced = true) {
  Case c;
  c.ptx = header() + variables +
          ".visible .entry k(.param .u64 out, .param .u64 in, .param .align 64 "
          ".b8 map[128]) {\n" +
          registers() +
          "ld.param.u64 %d1, [out]; ld.param.u64 %d2, [in];\n"
          "mov.b64 %d4, map; cvta.param.u64 %d4, %d4;\n"
          "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 4, %d1;\n"
          "mov.u32 %r3, bar; mov.u32 %r4, s; setp.eq.u32 %p1, %r1, 0;\n"
          "@%p1 mbarrier.init.shared.b64 [%r3], 1;\n" +
          (isFenced ? "@%p1 fence.mbarrier_init.release.cluster;" : "") +
          "\nbar.sync 0;\n" + body + "\nret;\n}\n";
  c.block = {32, 1, 1};
  std::vector<uint32_t> values(1024);
  for (uint32_t i = 0; i < values.size(); ++i)
    values[i] = 1000 + i;
  c.buffers = {std::vector<uint8_t>(4096), bytesOf(values)};
  TensorMapSpec map;
  map.type = MapType::U32;
  map.dims = {IntExpr(20), IntExpr(6)};
  map.strides = {IntExpr(128)};
  map.box = {32, 8};
  map.swizzle = MapSwizzle::B128;
  c.maps = {{1, map}};
  return c;
}

static const std::string expects =
    "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 128;\n";
static const std::string load =
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[%r4], [%d2+128], 128, [%r3];\n";
static const std::string spin =
    "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra W;\n";
static const std::string readBack =
    "mad.lo.u32 %r5, %r1, 4, %r4; ld.shared.u32 %r6, [%r5];\n"
    "st.global.u32 [%d3], %r6;\n";

TEST_SUITE("emulator bulk copies") {
  TEST_CASE("a copy arrives when its mbarrier says so") {
    for (uint64_t seed : {0, 1, 2, 3}) {
      Case c = withCopies(expects + load + spin + readBack);
      c.options.scheduleSeed = seed;
      runClean(c);
      CHECK(valuesOf<uint32_t>(c.buffers[0])[5] == 1000 + 32 + 5);
    }
    Case noWait = withCopies(expects + load + readBack + spin);
    std::string text;
    CHECK(kindsOf(noWait, &text) == Kinds{"async"});
    CHECK(text.find("that the bulk copy at line 16 writes and that has not "
                    "been waited for") != std::string::npos);
    Case noExpect =
        withCopies("@%p1 mbarrier.expect_tx.shared.b64 [%r3], 128;\n" + load +
                   spin + readBack);
    CHECK(kindsOf(noExpect) == Kinds{"deadlock"});
    Case noFence = withCopies(expects + load + spin + readBack, false);
    CHECK(kindsOf(noFence) == Kinds{"async"});
    Case noBytes = withCopies("@%p1 mbarrier.arrive.shared.b64 %d9, [%r3];\n" +
                              load + spin + readBack);
    CHECK(kindsOf(noBytes) == Kinds{"async"});
  }

  TEST_CASE("a copy over bytes that a thread has written needs a proxy fence") {
    std::string write = "mad.lo.u32 %r5, %r1, 4, %r4; "
                        "st.shared.u32 [%r5], %r1;\n";
    std::string rest = expects + load + spin + readBack;
    Case fenced = withCopies(
        write + "fence.proxy.async.shared::cta; bar.sync 0;\n" + rest);
    CHECK(kindsOf(fenced).empty());
    Case unfenced = withCopies(write + "bar.sync 0;\n" + rest);
    CHECK(kindsOf(unfenced) == Kinds{"async"});
    Case unordered =
        withCopies(write + "fence.proxy.async.shared::cta;\n" + rest);
    CHECK(kindsOf(unordered) == Kinds{"race"});
  }

  const std::string write = "mad.lo.u32 %r5, %r1, 4, %r4; add.u32 %r6, %r1, 7; "
                            "st.shared.u32 [%r5], %r6;\n";
  const std::string store = "@%p1 cp.async.bulk.global.shared::cta.bulk_group "
                            "[%d1], [%r4], 128;\n";
  const std::string commit = "@%p1 cp.async.bulk.commit_group;\n";
  const std::string waitRead = "@%p1 cp.async.bulk.wait_group.read 0;\n";
  const std::string fence = "fence.proxy.async.shared::cta;\n";

  TEST_CASE("a store takes what was written before a proxy fence") {
    Case c =
        withCopies(write + fence + "bar.sync 0;\n" + store + commit + waitRead);
    runClean(c);
    CHECK(valuesOf<uint32_t>(c.buffers[0])[9] == 16);
    Case unfenced =
        withCopies(write + "bar.sync 0;\n" + store + commit + waitRead);
    std::string text;
    CHECK(kindsOf(unfenced, &text) == Kinds{"async"});
    CHECK(text.find("no fence.proxy.async") != std::string::npos);
    // The fence may also follow the barrier.
    Case later =
        withCopies(write + "bar.sync 0;\n" + fence + store + commit + waitRead);
    CHECK(kindsOf(later).empty());
    Case unordered = withCopies(write + fence + store + commit + waitRead);
    CHECK(kindsOf(unordered) == Kinds{"race"});
  }

  TEST_CASE("a source is written again only after it has been read") {
    std::string before = write + fence + "bar.sync 0;\n" + store + commit;
    Case early = withCopies(before + "bar.sync 0;\n" + write + waitRead);
    std::string text;
    CHECK(kindsOf(early, &text) == Kinds{"async"});
    CHECK(text.find("may still read") != std::string::npos);
    Case waits = withCopies(before + waitRead + "bar.sync 0;\n" + write);
    CHECK(kindsOf(waits).empty());
    // Others have to be told.
    Case untold = withCopies(before + waitRead + write);
    CHECK(kindsOf(untold) == Kinds{"async"});
    Case newest = withCopies(before +
                             "@%p1 cp.async.bulk.wait_group.read 1;\n"
                             "bar.sync 0;\n" +
                             write + waitRead);
    CHECK(kindsOf(newest) == Kinds{"async"});
  }

  TEST_CASE("a block does not end before its shared memory was read") {
    std::string before = write + fence + "bar.sync 0;\n" + store;
    std::string text;
    Case uncommitted = withCopies(before + waitRead);
    CHECK(kindsOf(uncommitted, &text) == Kinds{"async"});
    CHECK(text.find("no cp.async.bulk.commit_group follows") !=
          std::string::npos);
    Case unwaited = withCopies(before + commit);
    CHECK(kindsOf(unwaited, &text) == Kinds{"async"});
    Case unread = withCopies(expects + load);
    CHECK(kindsOf(unread, &text) == Kinds{"async"});
    CHECK(text.find("the block ends before this copy has arrived") !=
          std::string::npos);
  }

  TEST_CASE("sizes and addresses are multiples of 16") {
    auto kinds = [&](const std::string &copy) {
      Case c = withCopies("@%p1 " + copy + "\n");
      return kindsOf(c);
    };
    std::string head = "cp.async.bulk.prefetch.L2.global ";
    CHECK(kinds(head + "[%d2], 64;").empty());
    CHECK(kinds(head + "[%d2], 4112;") == Kinds{"out-of-bounds"});
    Case source = withCopies(
        "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
        "bytes [%r4], [%d2+8], 64, [%r3];");
    CHECK(kindsOf(source) == Kinds{"misaligned"});
  }

  TEST_CASE("a reduction adds to what is there") {
    Case c = withCopies(
        write + fence + "bar.sync 0;\n" +
        "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 "
        "[%d1], [%r4], 128;\n" +
        commit + waitRead);
    c.buffers[0] = bytesOf(std::vector<uint32_t>(1024, 5));
    runClean(c);
    CHECK(valuesOf<uint32_t>(c.buffers[0])[9] == 21);
    CHECK(valuesOf<uint32_t>(c.buffers[0])[32] == 5);
  }

  TEST_CASE("a box is swizzled, and filled outside the tensor") {
    // Row r of 32 words; word w lies in chunk (w / 4) ^ r of the row.
    std::string tensor =
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 1024;\n"
        "mov.u32 %r7, 4; mov.u32 %r8, 2;\n"
        "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
        "complete_tx::bytes [%r4], [%d4, {%r7, %r8}], [%r3];\n" +
        spin;
    for (uint32_t row : {0u, 1u, 3u, 4u}) {
      Case c = withCopies(
          tensor + "shr.u32 %r5, %r1, 2; xor.b32 %r5, %r5, " +
          std::to_string(row) +
          "; and.b32 %r6, %r1, 3;\n"
          "mad.lo.u32 %r6, %r5, 4, %r6; mad.lo.u32 %r6, %r6, 4, %r4;\n"
          "ld.shared.u32 %r6, [%r6+" +
          std::to_string(128 * row) + "]; st.global.u32 [%d3], %r6;\n");
      runClean(c);
      auto out = valuesOf<uint32_t>(c.buffers[0]);
      // Columns 4 to 19 of rows 2 to 5 are inside.
      for (uint32_t w = 0; w < 32; ++w)
        CHECK(out[w] ==
              (w < 16 && row < 4 ? 1000 + 32 * (row + 2) + w + 4 : 0));
    }
  }

  TEST_CASE("a stored box is clipped") {
    std::string fill = "mov.u32 %r7, 0;\n"
                       "L: mad.lo.u32 %r5, %r7, 128, %r4; "
                       "mad.lo.u32 %r5, %r1, 4, %r5;\n"
                       "st.shared.u32 [%r5], 77; add.u32 %r7, %r7, 1; "
                       "setp.lt.u32 %p4, %r7, 8; @%p4 bra L;\n" +
                       fence + "bar.sync 0;\n";
    Case c = withCopies(
        fill +
        "mov.u32 %r7, 16; mov.u32 %r8, -1;\n"
        "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
        "[%d4, {%r7, %r8}], [%r4];\n" +
        commit + waitRead);
    runClean(c);
    auto in = valuesOf<uint32_t>(c.buffers[1]);
    for (uint32_t row = 0; row < 8; ++row)
      for (uint32_t w = 0; w < 32; ++w)
        CHECK(in[32 * row + w] ==
              (row < 6 && w >= 16 && w < 20 ? 77 : 1000 + 32 * row + w));
  }

  TEST_CASE("a map that is none, or of another rank, is refused") {
    std::string head = "mov.u32 %r7, 0;\n@%p1 cp.async.bulk.prefetch.tensor.";
    Case rank = withCopies(head + "1d.L2.global.tile [%d4, {%r7}];");
    std::string text;
    CHECK(kindsOf(rank, &text) == Kinds{"async"});
    CHECK(text.find("the tensor map has 2 dims, the instruction 1") !=
          std::string::npos);
    Case none = withCopies(head + "2d.L2.global.tile [%d2, {%r7, %r7}];");
    CHECK(kindsOf(none, &text) == Kinds{"async"});
    CHECK(text.find("these 128 bytes are no tensor map") != std::string::npos);
    Case im2col = withCopies(head + "3d.L2.global.im2col [%d4, {%r7, %r7, "
                                    "%r7}];");
    auto report = run(im2col);
    REQUIRE(!report);
    CHECK(report.error().text().find("im2col mode is not supported") !=
          std::string::npos);
  }

  TEST_CASE("a multicast arrives in every block of the mask") {
    Case c = withCopies(
        "mov.u32 %r10, %cluster_ctarank; setp.eq.and.u32 %p4, %r10, 0, %p1;\n"
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 128;\n"
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
        "mov.b16 %h1, 3;\n"
        "@%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
        "bytes.multicast::cluster [%r4], [%d2], 128, [%r3], %h1;\n" +
        spin +
        "mad.lo.u32 %r5, %r1, 4, %r4; ld.shared.u32 %r6, [%r5];\n"
        "mad.lo.u32 %r11, %r10, 32, %r1; mad.wide.u32 %d3, %r11, 4, %d1;\n"
        "st.global.u32 [%d3], %r6;\n"
        "barrier.cluster.arrive; barrier.cluster.wait;");
    c.grid = {2, 1, 1};
    c.cluster = {2, 1, 1};
    runClean(c);
    auto out = valuesOf<uint32_t>(c.buffers[0]);
    CHECK(out[3] == 1003);
    CHECK(out[32 + 3] == 1003);
  }

  // Each block sends 100 rank + tid to the other one, which reads it.
  const std::string sends =
      "mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 128;\n"
      "barrier.cluster.arrive; barrier.cluster.wait;\n"
      "mad.lo.u32 %r5, %r1, 4, %r4; mad.lo.u32 %r6, %r10, 100, %r1;\n"
      "mapa.shared::cluster.u32 %r12, %r5, %r11;\n"
      "mapa.shared::cluster.u32 %r13, %r3, %r11;\n"
      "mapa.shared::cluster.u32 %r14, %r3, %r10;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 ";
  const std::string received =
      "ld.shared.u32 %r6, [%r5];\n"
      "mad.lo.u32 %r15, %r10, 32, %r1; mad.wide.u32 %d3, %r15, 4, %d1;\n"
      "st.global.u32 [%d3], %r6;\n";
  // A wait of CTA scope, the default, takes nothing from another block.
  const std::string spinCluster =
      "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r3], "
      "0; @!%p3 bra W;\n";
  const std::string meet = "barrier.cluster.arrive; barrier.cluster.wait;\n";
  auto pair = [](const std::string &body) {
    Case c = withCopies(body);
    c.grid = {2, 1, 1};
    c.cluster = {2, 1, 1};
    return c;
  };

  TEST_CASE("a counted store is there once its mbarrier says so") {
    for (uint64_t seed : {0, 1, 2, 3}) {
      Case c = pair(sends + "[%r12], %r6, [%r13];\n" + spinCluster + received +
                    meet);
      c.options.scheduleSeed = seed;
      runClean(c);
      auto out = valuesOf<uint32_t>(c.buffers[0]);
      CHECK(out[3] == 103);
      CHECK(out[32 + 3] == 3);
    }
    Case narrow =
        pair(sends + "[%r12], %r6, [%r13];\n" + spin + received + meet);
    CHECK(kindsOf(narrow) == Kinds{"race"});
    Case noWait =
        pair(sends + "[%r12], %r6, [%r13];\n" + received + spin + meet);
    CHECK(!kindsOf(noWait).empty());
    Case elsewhere =
        pair(sends + "[%r12], %r6, [%r14];\n" + spin + received + meet);
    std::string text;
    kindsOf(elsewhere, &text);
    CHECK(text.find("the store goes to block 1 of the cluster and its mbarrier "
                    "is in block 0") != std::string::npos);
  }

  TEST_CASE("a copy keeps off mbarriers, and its source was written") {
    std::string text;
    Case over = withCopies(
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 16;\n"
        "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
        "bytes [%r3], [%d2], 16, [%r3];\n");
    kindsOf(over, &text);
    CHECK(text.find("the bulk copy writes over the mbarrier at byte") !=
          std::string::npos);
    Case unwritten = withCopies(store + commit + waitRead);
    kindsOf(unwritten, &text);
    CHECK(text.find("reads 128 bytes asynchronously, byte") !=
          std::string::npos);
  }

  TEST_CASE("a multicast names blocks of the cluster") {
    Case c =
        pair("@%p1 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 128;\n"
             "mov.b16 %h1, 4;\n"
             "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
             "bytes.multicast::cluster [%r4], [%d2], 128, [%r3], %h1;\n");
    std::string text;
    kindsOf(c, &text);
    CHECK(text.find("the multicast mask names block 2 of a cluster of 2") !=
          std::string::npos);
  }
}
