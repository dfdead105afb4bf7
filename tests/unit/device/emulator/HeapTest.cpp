//===- HeapTest.cpp - Device memory: sparse, checked, never reused --------===//
#include "tests/unit/device/emulator/Harness.h"

#include <set>

using namespace tandem;
using namespace tandem::test;

TEST_SUITE("emulator memory") {
  TEST_CASE("a poisoned view of 20 GB costs the pages that are used") {
    auto device = makeEmulator();
    uint64_t bytes = uint64_t(20) << 30;
    auto view = device->allocate(bytes, "view");
    REQUIRE(bool(view));
    REQUIRE(bool(device->fill(*view + 3, 0xaa, bytes - 3, false)));
    uint32_t word = 0;
    REQUIRE(bool(device->read(*view + bytes - 4, &word, 4)));
    CHECK(word == 0xaaaaaaaa);
    // A kernel writes and reads beyond 2^31 elements.
    Case c;
    c.ptx = kernelWith("mov.u64 %d3, " + std::to_string(*view) +
                       "; mov.b64 %d4, 17179869184; add.s64 %d3, %d3, %d4; "
                       "st.global.u32 [%d3], 7; ld.global.u32 %r1, [%d3]; "
                       "st.global.u32 [%d1], %r1; ld.global.u32 %r2, [%d3+4];");
    c.buffers = {std::vector<uint8_t>(4), std::vector<uint8_t>(4)};
    auto report = run(c, device.get());
    REQUIRE(bool(report));
    CHECK(valuesOf<uint32_t>(c.buffers[0])[0] == 7);
    REQUIRE(report->findings.size() == 1);
    CHECK(report->findings[0].kind == "uninitialised");
    CHECK(bool(device->release(*view)));
  }

  TEST_CASE("addresses are not used twice") {
    auto device = makeEmulator();
    std::set<uint64_t> seen;
    for (int i = 0; i < 1000; ++i) {
      auto address = device->allocate(64, "small");
      REQUIRE(bool(address));
      CHECK(seen.insert(*address).second);
      REQUIRE(bool(device->release(*address)));
    }
    CHECK(!device->release(*seen.begin()));
  }

  TEST_CASE("ranges outside an allocation are refused with its name") {
    auto device = makeEmulator();
    uint64_t a = *device->allocate(100, "a");
    std::vector<uint8_t> bytes(101);
    CHECK(device->write(a, bytes.data(), 101).error().text() ==
          "emulator: write of 101 bytes at byte 0 of 'a' (100 bytes)");
    CHECK(device->read(a + 90, bytes.data(), 11).error().text() ==
          "emulator: read of 11 bytes at byte 90 of 'a' (100 bytes)");
    REQUIRE(bool(device->release(a)));
    CHECK(device->read(a, bytes.data(), 1).error().text() ==
          "emulator: read of 1 bytes in the freed allocation 'a'");
    uint64_t none = *device->allocate(0, "none");
    CHECK(bool(device->write(none, bytes.data(), 0)));
    CHECK(!device->write(none, bytes.data(), 1));
  }

  TEST_CASE("the error slot and the workspace are fresh for each launch") {
    auto device = makeEmulator();
    Kernel kernel;
    kernel.ptx =
        header() + ".entry k(.param .u64 slot, .param .u64 work) {\n" +
        registers() +
        "ld.param.u64 %d1, [slot]; ld.param.u64 %d2, [work];\n"
        "ld.global.u32 %r1, [%d2+12]; setp.ne.u32 %p1, %r1, 0; "
        "@%p1 trap; st.global.u32 [%d2+12], 1;\n"
        "atom.global.min.u64 %d3, [%d1], 0x0002000000000005;\nret; }\n";
    kernel.launch.kernel = "k";
    kernel.launch.args = {{KernelArg::Kind::ErrorSlot, -1, IntExpr(0)},
                          {KernelArg::Kind::Workspace, -1, IntExpr(16)}};
    auto loaded = device->load(kernel);
    REQUIRE(bool(loaded));
    for (int i = 0; i < 2; ++i) {
      auto report = device->launch(**loaded, {}, {});
      REQUIRE(bool(report));
      CHECK(report->ok());
      REQUIRE(report->indexErrors.size() == 1);
      CHECK(report->indexErrors[0].step == 2);
      CHECK(report->indexErrors[0].row == 5);
    }
  }
}
