//===- TensorMapTest.cpp - Tensor maps as arguments of launches -----------===//
#include "refops/core/LaunchRecord.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace tandem;
using nlohmann::json;

namespace {
IntExpr expr(const char *text) {
  Result<IntExpr> parsed = IntExpr::parse(text);
  REQUIRE_MESSAGE(bool(parsed), parsed.error().text());
  return parsed.take();
}

/// One bf16 matrix in boxes of 64 columns and 128 rows.
LaunchRecord sample() {
  LaunchRecord record;
  record.kernel = "k";
  record.target = "sm_90a";
  record.operands = {{"x", DType::BF16, 2, RecordOperand::Role::In}};
  record.block = {128, 1, 1};
  record.cluster = {2, 1, 1};
  record.programmatic = true;
  KernelArg map{KernelArg::Kind::TensorMap, 0, 0, {}};
  map.map.type = MapType::BF16;
  map.map.dims = {expr("x.shape[1]"), expr("x.shape[0]")};
  map.map.strides = {expr("x.stride[0] * 2")};
  map.map.box = {64, 128};
  map.map.swizzle = MapSwizzle::B128;
  map.map.promotion = MapPromotion::L128;
  record.args = {map};
  return record;
}

/// Errors of reading the sample after \p change.
template <typename Change>
std::string readError(Change change) {
  json j = json::parse(writeLaunchRecord(sample()));
  change(j["args"][0]);
  const Result<LaunchRecord> record = readLaunchRecord(j.dump(), "l.json");
  return record ? "read" : record.error().text();
}

/// Errors of binding after \p change of the map.
template <typename Change>
std::string bindError(Change change, uint64_t address = 0x1000,
                      int64_t cols = 64) {
  LaunchRecord record = sample();
  change(record.args[0].map);
  const Result<BoundLaunch> bound =
      bindLaunch(record, {{contiguous(DType::BF16, {200, cols}), address}});
  return bound ? "bound" : bound.error().text();
}
} // namespace

TEST_SUITE("tensor map") {
  TEST_CASE("writing and reading gives an equal record") {
    const std::string text = writeLaunchRecord(sample());
    const Result<LaunchRecord> record = readLaunchRecord(text, "l.json");
    REQUIRE_MESSAGE(bool(record), record.error().text());
    CHECK(*record == sample());
    CHECK(record->programmatic);
    CHECK(writeLaunchRecord(*record) == text);
  }

  TEST_CASE("a map is bound to its operand") {
    const Result<BoundLaunch> bound =
        bindLaunch(sample(), {{contiguous(DType::BF16, {200, 72}), 0x1000}});
    REQUIRE_MESSAGE(bool(bound), bound.error().text());
    REQUIRE(bound->maps.size() == 1);
    const TensorMap &map = bound->maps[0];
    CHECK(map.address == 0x1000);
    CHECK(map.dims == std::vector<uint64_t>{72, 200});
    CHECK(map.strides == std::vector<uint64_t>{144});
    CHECK(map.elementStrides == std::vector<uint32_t>{1, 1});
    CHECK(map.boxBytes() == 64 * 128 * 2);
  }

  TEST_CASE("the driver's rules hold on every device") {
    CHECK(bindError([](TensorMapSpec &) {}) == "bound");
    CHECK(bindError([](TensorMapSpec &) {}, 0x1008) ==
          "k: args[0]: tensor map: the address is no multiple of 16 bytes");
    // 20 columns of 2 bytes are 40.
    CHECK(bindError([](TensorMapSpec &) {}, 0x1000, 20) ==
          "k: args[0]: tensor map: strides[0]: expected a multiple of 16 bytes "
          "below 2^40, got 40");
    CHECK(bindError([](TensorMapSpec &map) { map.box[0] = 128; }) ==
          "k: args[0]: tensor map: a row of the box has 256 bytes, the 128B "
          "swizzle allows 128");
    CHECK(bindError([](TensorMapSpec &map) {
            map.swizzle = MapSwizzle::None;
            map.box[0] = 128;
          }) == "bound");
    CHECK(bindError([](TensorMapSpec &map) { map.box[0] = 4; }) ==
          "k: args[0]: tensor map: a row of the box has 8 bytes, no multiple "
          "of 16");
    CHECK(bindError([](TensorMapSpec &map) { map.box[1] = 257; }) ==
          "k: args[0]: tensor map: box[1]: expected 1 to 256, got 257");
    CHECK(bindError([](TensorMapSpec &map) { map.box.pop_back(); }) ==
          "k: args[0]: tensor map: 2 dims need 1 strides and a box of 2, got 1 "
          "and 1");
    CHECK(bindError([](TensorMapSpec &map) {
            map.dims[1] = expr("x.shape[0] - 200");
          }) == "k: args[0]: tensor map: dims[1]: expected 1 to 2^32, got 0");
    CHECK(bindError([](TensorMapSpec &map) {
            map.dims[1] = expr("x.shape[0] - 201");
          }) == "k: args[0]: dims[1]: expected a size, got -1");
    CHECK(bindError([](TensorMapSpec &map) { map.elementStrides = {1, 9}; }) ==
          "k: args[0]: tensor map: element_strides[1]: expected 1 to 8, got 9");
  }

  TEST_CASE("every wrong member has its place") {
    CHECK(readError([](json &) {}) == "read");
    CHECK(readError([](json &j) { j["swizzle"] = "16B"; }) ==
          "l.json: args[0].swizzle: no swizzle is named '16B'");
    CHECK(readError([](json &j) { j["type"] = "bfloat16"; }) ==
          "l.json: args[0].type: no type is named 'bfloat16'");
    CHECK(readError([](json &j) { j["dims"] = json::array(); }) ==
          "l.json: args[0].dims: expected 1 to 5 dims, got 0");
    CHECK(readError([](json &j) { j["strides"] = json::array(); }) ==
          "l.json: args[0].strides: expected 1 entries, got 0");
    CHECK(readError([](json &j) { j["box"][0] = 0; }) ==
          "l.json: args[0].box[0]: expected 1 to 256, got 0");
    CHECK(readError([](json &j) { j["dims"][0] = "y.shape[0]"; }) ==
          "l.json: args[0].dims[0]: symbol 'y.shape[0]': no operand is named "
          "'y'");
    CHECK(readError([](json &j) {
            j = {{"kind", "pointer"}, {"operand", 0}, {"box", {1}}};
          }) == "l.json: args[0]: only a tensor_map has 'box'");
  }
}
