//===- ValuesTest.cpp - Value kinds do what they are named for ------------===//
#include "harness/gen/Values.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

using namespace tandem;
using namespace tandem::harness;

static std::vector<double> make(const ValueSpec &spec, DType type, Dims shape) {
  std::vector<std::byte> bytes;
  const TensorDesc desc = contiguous(type, std::move(shape));
  bytes.resize(static_cast<size_t>(desc.numElements()) * dtypeSize(type));
  REQUIRE(fillValues(spec, {desc, bytes.data()}));
  std::vector<double> values;
  for (int64_t i = 0; i < desc.numElements(); ++i)
    values.push_back(
        loadDouble(type, bytes.data() + i * int64_t(dtypeSize(type))));
  return values;
}

static ValueSpec kind(std::string name, uint64_t seed = 1) {
  ValueSpec spec;
  spec.kind = std::move(name);
  spec.seed = seed;
  return spec;
}

TEST_SUITE("harness values") {
  TEST_CASE("every kind fills every float type, and a row does not depend on "
            "how many rows follow") {
    for (const ValueKind &entry : valueKinds())
      for (DType type : {DType::F32, DType::F16, DType::BF16, DType::F8E4M3,
                         DType::F8E5M2}) {
        CAPTURE(entry.name);
        const auto many = make(kind(std::string(entry.name)), type, {5, 33});
        const auto one = make(kind(std::string(entry.name)), type, {1, 33});
        for (size_t i = 0; i < one.size(); ++i)
          CHECK((many[i] == one[i] ||
                 (std::isnan(many[i]) && std::isnan(one[i]))));
      }
  }

  TEST_CASE("one-hot has one entry a row") {
    const auto values = make(kind("one-hot"), DType::F32, {7, 50});
    for (size_t row = 0; row < 7; ++row) {
      int nonZero = 0;
      for (size_t col = 0; col < 50; ++col)
        nonZero += values[row * 50 + col] != 0;
      CHECK(nonZero == 1);
    }
  }

  TEST_CASE("exact kinds are small integers") {
    for (const ValueKind &entry : valueKinds()) {
      if (!entry.isExact)
        continue;
      for (double v : make(kind(std::string(entry.name)), DType::F16, {64})) {
        CHECK(v == std::trunc(v));
        CHECK(std::abs(v) <= 8);
      }
    }
  }

  TEST_CASE("given values repeat, and a patch lies over them") {
    ValueSpec spec = kind("given");
    std::byte byte{};
    CHECK(!fillValues(spec, {contiguous(DType::I8, {1}), &byte}));
    spec.given = {1.5, -2, 1048576};
    CHECK(make(spec, DType::F32, {2, 2}) ==
          std::vector<double>{1.5, -2, 1048576, 1.5});
    CHECK(make(spec, DType::I32, {3}) == std::vector<double>{1, -2, 1048576});
    spec.patch = "zero-row";
    spec.patchAt = 1;
    CHECK(make(spec, DType::F32, {2, 2}) == std::vector<double>{1.5, -2, 0, 0});
  }

  TEST_CASE("patches go where they say") {
    ValueSpec spec = kind("one");
    spec.patch = "nan";
    spec.patchAt = 4 * 6 + 2 * 6 + 3; // modulo 4 * 6 elements
    auto values = make(spec, DType::F32, {4, 6});
    for (size_t i = 0; i < values.size(); ++i)
      CHECK(std::isnan(values[i]) == (i == 15));
    spec.patch = "minus-inf-rows";
    spec.patchAt = 1;
    values = make(spec, DType::F32, {4, 6});
    for (size_t i = 0; i < values.size(); ++i)
      CHECK((values[i] == -INFINITY) == (i < 12));
    spec.patch = "minus-inf-head";
    values = make(spec, DType::F32, {4, 6});
    for (size_t i = 0; i < values.size(); ++i)
      CHECK((values[i] == -INFINITY) == (i >= 6 && i < 9));
  }

  TEST_CASE(
      "indices stay below their limit unless one is meant to be outside") {
    for (const char *name : {"zero", "small-int", "uniform", "position"}) {
      ValueSpec spec = kind(name);
      spec.limit = 5;
      for (double v : make(spec, DType::I64, {300})) {
        CHECK(v >= 0);
        CHECK(v < 5);
      }
      spec.patch = "outside";
      spec.patchAt = 7;
      const auto values = make(spec, DType::I32, {300});
      CHECK((values[7] < 0 || values[7] >= 5));
      CHECK((values[8] >= 0 && values[8] < 5));
    }
  }

  TEST_CASE("an unknown kind or patch is an error") {
    float value = 0;
    View view{contiguous(DType::F32, {1}),
              reinterpret_cast<std::byte *>(&value)};
    CHECK(fillValues(kind("nroaml"), view).error().text() ==
          "values: no kind is named 'nroaml'");
    ValueSpec spec = kind("one");
    spec.patch = "hole";
    CHECK(fillValues(spec, view).error().text() ==
          "patch: no kind is named 'hole'");
  }
}
