//===- MemoryTest.cpp - Allocation and copies on a device -----------------===//
#include "tests/conformance/Fixture.h"

#include <numeric>

using namespace tandem;
using namespace tandem::conformance;

TEST_SUITE("memory") {
  TEST_CASE("what is written is read back, at any offset") {
    auto device = open();
    std::vector<uint8_t> bytes(1000);
    std::iota(bytes.begin(), bytes.end(), uint8_t{0});
    uint64_t address = get(device->allocate(bytes.size(), "bytes"));
    ok(device->write(address, bytes.data(), bytes.size()));
    std::vector<uint8_t> back(333);
    ok(device->read(address + 7, back.data(), back.size()));
    CHECK(std::equal(back.begin(), back.end(), bytes.begin() + 7));
  }

  TEST_CASE("addresses are 256-byte aligned and ranges do not overlap") {
    auto device = open();
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (uint64_t bytes : {1, 3, 256, 257, 4096, 100000}) {
      uint64_t address = get(device->allocate(bytes, "some"));
      CHECK(address % 256 == 0);
      for (auto [start, size] : ranges)
        CHECK((address >= start + size || start >= address + bytes));
      ranges.emplace_back(address, bytes);
    }
    for (auto [start, size] : ranges)
      ok(device->release(start));
  }

  TEST_CASE("an empty allocation is valid and distinct") {
    auto device = open();
    uint64_t first = get(device->allocate(0, "empty"));
    uint64_t second = get(device->allocate(0, "empty too"));
    CHECK(first != second);
    ok(device->write(first, nullptr, 0));
    ok(device->read(first, nullptr, 0));
    ok(device->release(first));
    ok(device->release(second));
  }

  TEST_CASE("fill repeats one byte and touches no other") {
    auto device = open();
    Operand words = vectorOn<uint32_t>(*device, DType::I32, {1, 2, 3, 4});
    ok(device->fill(words.address + 5, 0xAB, 6, true));
    CHECK(valuesOf<uint32_t>(*device, words) ==
          std::vector<uint32_t>{1, 0xABABAB02, 0x00ABABAB, 4});
  }

  TEST_CASE("poison can be read back by the host") {
    auto device = open();
    uint64_t address = get(device->allocate(16, "poisoned"));
    ok(device->fill(address, 0x55, 16, false));
    std::array<uint8_t, 16> bytes = {};
    ok(device->read(address, bytes.data(), bytes.size()));
    for (uint8_t byte : bytes)
      CHECK(byte == 0x55);
  }

  TEST_CASE("a range outside every allocation is refused") {
    auto device = open();
    uint64_t address = get(device->allocate(64, "small"));
    std::array<uint8_t, 128> bytes = {};
    CHECK_CONTAINS(refusal(device->read(address, bytes.data(), 65)), "small");
    CHECK_CONTAINS(refusal(device->write(address + 60, bytes.data(), 5)),
                   "small");
    CHECK_CONTAINS(refusal(device->fill(address + 64, 0, 1, true)), "small");
    CHECK(!device->read(16, bytes.data(), 1));
    ok(device->read(address + 63, bytes.data(), 1));
  }

  TEST_CASE("memory is gone after its release, and released once") {
    auto device = open();
    uint64_t address = get(device->allocate(64, "short-lived"));
    ok(device->release(address));
    uint8_t byte = 0;
    CHECK(!device->read(address, &byte, 1));
    CHECK(!device->release(address));
    uint64_t other = get(device->allocate(64, "other"));
    CHECK(!device->release(other + 4));
  }

  TEST_CASE("an allocation beyond 4 GiB has 64-bit offsets") {
    auto device = open();
    constexpr uint64_t bytes = (uint64_t{5} << 30) + 8;
    auto address = device->allocate(bytes, "large");
    if (!address) {
      MESSAGE("SKIPPED: " << address.error().text());
      return;
    }
    uint64_t low = 1, high = 2, back = 0;
    ok(device->write(*address, &low, 8));
    ok(device->write(*address + bytes - 8, &high, 8));
    ok(device->read(*address, &back, 8));
    CHECK(back == 1);
    ok(device->read(*address + bytes - 8, &back, 8));
    CHECK(back == 2);
    ok(device->release(*address));
  }

  TEST_CASE("a device says what it is and what it loads") {
    auto device = open();
    CHECK(deviceName.starts_with(device->kind()));
    CHECK(!device->info().name.empty());
    CHECK(device->supports("sm_80"));
    CHECK(!device->supports("sm_"));
    CHECK(!device->supports("gfx90a"));
  }
}
