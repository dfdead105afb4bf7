//===- DependentLaunchTest.cpp - griddepcontrol.wait, and without ---------===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

namespace {
const std::string variables = ".shared .align 16 .b8 s[128];\n"
                              ".shared .align 8 .b8 bar[8];\n";
const std::string fill = "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 4, %d1;\n"
                         "st.global.u32 [%d3], %r1;";
const std::string wait = "griddepcontrol.wait;\n";
const std::string load = "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 4, %d1;\n"
                         "ld.global.u32 %r2, [%d3];\n"
                         "mad.wide.u32 %d4, %r1, 4, %d2;\n"
                         "st.global.u32 [%d4], %r2;";

Case of(const std::string &body) {
  Case c;
  c.ptx = kernelWith(body, variables);
  c.block = {32, 1, 1};
  c.buffers.resize(2);
  return c;
}

/// Launches one block of each on two buffers of 128 bytes; what the second
/// launch reports.
std::vector<Finding> afterEachOther(const std::string &first,
                                    const std::string &second,
                                    bool isDependent = true,
                                    bool isReadBetween = false) {
  auto device = makeEmulator();
  std::vector<Operand> operands;
  uint32_t zeros[32] = {};
  for (const char *name : {"a", "b"}) {
    uint64_t address = *device->allocate(128, name);
    REQUIRE(bool(device->write(address, zeros, sizeof zeros)));
    operands.push_back({contiguous(DType::U8, {128}), address});
  }
  std::vector<Finding> findings;
  for (bool isSecond : {false, true}) {
    Case c = of(isSecond ? second : first);
    Kernel kernel = kernelOf(c);
    kernel.launch.programmatic = isSecond && isDependent;
    auto loaded = device->load(kernel);
    REQUIRE_MESSAGE(bool(loaded), loaded.error().text());
    auto report = device->launch(**loaded, operands, {});
    REQUIRE_MESSAGE(bool(report), report.error().text());
    if (!isSecond) {
      CHECK(report->ok());
      if (isReadBetween)
        REQUIRE(bool(device->read(operands[0].address, zeros, 4)));
    }
    findings = report->findings;
  }
  return findings;
}
} // namespace

TEST_SUITE("emulator dependent launches") {
  TEST_CASE("a read of what the launch before wrote waits for it") {
    CHECK(afterEachOther(fill, wait + load).empty());
    auto found = afterEachOther(fill, load);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == "race");
    CHECK(found[0].ptxLine == 11);
    CHECK(found[0].other == "line 11 of 'k'");
    CHECK(found[0].message.find("no griddepcontrol.wait") != std::string::npos);
    // Too late.
    CHECK(afterEachOther(fill, load + "\n" + wait).size() == 1);
  }

  TEST_CASE("a write over what the launch before read waits for it") {
    CHECK(afterEachOther(load, wait + fill).empty());
    auto found = afterEachOther(load, fill);
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].side);
    CHECK(found[0].side->access == "read");
    CHECK(found[0].side->ptxLine == 11);
    // Two reads of the same bytes need no order.
    std::string look = "ld.global.u32 %r2, [%d1];";
    CHECK(afterEachOther(look, look).empty());
  }

  TEST_CASE("a bulk copy of what the launch before wrote waits for it") {
    const std::string copy =
        "mov.u32 %r1, %tid.x; mov.u32 %r3, bar; mov.u32 %r4, s;\n"
        "setp.eq.u32 %p1, %r1, 0;\n"
        "@%p1 mbarrier.init.shared.b64 [%r3], 1;\n"
        "@%p1 fence.mbarrier_init.release.cluster;\n"
        "bar.sync 0;\n"
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], 128;\n"
        "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
        "bytes [%r4], [%d1], 128, [%r3];\n"
        "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra W;";
    CHECK(afterEachOther(fill, wait + copy).empty());
    auto found = afterEachOther(fill, copy);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == "race");
    CHECK(found[0].ptxLine == 16);
  }

  TEST_CASE("an ordinary launch, and one after the host's, waits by itself") {
    CHECK(afterEachOther(fill, load, false).empty());
    CHECK(afterEachOther(fill, load, true, true).empty());
  }
}
