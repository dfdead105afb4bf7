//===- BufferTest.cpp - Buffers notice what is written around them --------===//
#include "harness/run/Buffer.h"

#include "tests/unit/harness/FakeEngine.h"

#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::harness;

using Runs = std::vector<std::pair<int64_t, int64_t>>;

TEST_SUITE("harness buffer") {
  TEST_CASE("occupied bytes follow strides") {
    CHECK(occupiedBytes(contiguous(DType::F16, {3, 4})) == Runs{{0, 24}});
    CHECK(occupiedBytes({DType::F32, {2, 3}, {5, 1}}) ==
          Runs{{0, 12}, {20, 32}});
    CHECK(occupiedBytes({DType::F32, {2, 3}, {1, 2}}) == Runs{{0, 24}});
    CHECK(occupiedBytes({DType::I8, {4}, {2}}) ==
          Runs{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
    CHECK(occupiedBytes({DType::F32, {4, 2}, {0, 1}}) == Runs{{0, 8}});
    CHECK(occupiedBytes(contiguous(DType::F32, {0, 2})).empty());
  }

  TEST_CASE("elements survive a round trip through any layout") {
    HostDevice device;
    for (const TensorDesc &desc : {contiguous(DType::F32, {3, 4}),
                                   TensorDesc{DType::F32, {3, 4}, {7, 1}},
                                   TensorDesc{DType::F32, {3, 4}, {1, 3}},
                                   TensorDesc{DType::F32, {3, 4}, {8, 2}}})
      for (bool guard : {false, true}) {
        auto buffer = Buffer::make(device, "x", desc, {0xAA, guard, 3});
        REQUIRE(buffer);
        std::vector<float> values;
        for (int i = 0; i < 12; ++i)
          values.push_back(static_cast<float>(i));
        const auto *bytes = reinterpret_cast<const std::byte *>(values.data());
        REQUIRE(buffer->writeElements({bytes, 48}));
        auto read = buffer->readElements();
        REQUIRE(read);
        CHECK(std::memcmp(read->data(), bytes, 48) == 0);
        CHECK_FALSE(buffer->damage());
        const View view{buffer->operand().desc, reinterpret_cast<std::byte *>(
                                                    buffer->operand().address)};
        CHECK(loadDouble(DType::F32, view.at({2, 1})) == 9);
      }
    CHECK(device.allocations.empty());
  }

  TEST_CASE("a byte written beside the elements is found and named") {
    HostDevice device;
    auto buffer = Buffer::make(device, "y", {DType::F32, {2, 3}, {5, 1}},
                               {0xAA, true, 0});
    auto *data = reinterpret_cast<float *>(buffer->operand().address);
    for (int offset : {-1, 3, 8, 12}) {
      const float before = data[offset];
      data[offset] = 1;
      REQUIRE(buffer->readElements());
      REQUIRE_MESSAGE(buffer->damage(), "offset ", offset);
      CHECK(
          buffer->damage()->find("element offset " + std::to_string(offset)) !=
          std::string::npos);
      data[offset] = before;
    }
    REQUIRE(buffer->readElements());
    CHECK_FALSE(buffer->damage());
  }

  TEST_CASE("untouched elements are told from written ones") {
    HostDevice device;
    auto buffer =
        Buffer::make(device, "y", contiguous(DType::F32, {3}), {0x55, true, 0});
    reinterpret_cast<float *>(buffer->operand().address)[1] = 2;
    auto read = buffer->readElements();
    CHECK(buffer->untouched(*read) == std::vector<uint8_t>{1, 0, 1});
  }
}
