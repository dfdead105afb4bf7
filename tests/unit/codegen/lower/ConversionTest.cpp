//===- ConversionTest.cpp - Element conversions round once ----------------===//
#include "TileText.h"
#include "TwoDevices.h"

#include <cmath>
#include <limits>

using namespace tandem;
using namespace tandem::test;
using tile::LinearLayout;

namespace {
struct TypeName {
  DType dtype;
  const char *name;
};
} // namespace

static constexpr TypeName floats[] = {{DType::F32, "f32"},
                                      {DType::F16, "f16"},
                                      {DType::BF16, "bf16"},
                                      {DType::F8E4M3, "f8E4M3FN"},
                                      {DType::F8E5M2, "f8E5M2"}};
static constexpr TypeName integers[] = {
    {DType::I8, "i8"}, {DType::I32, "i32"}, {DType::I64, "i64"}};

/// y[i] = op(x[i]) for 256 elements.
static std::string convertElements(const std::string &op, const char *from,
                                   const char *to) {
  const LinearLayout layout = LinearLayout::blocked(1, 256, 2, 1);
  const bool isFloat = std::string(from)[0] != 'i';
  return fill(
      R"(func.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %v = tile.load %x cols(%c0, %n) pad($Z : $E) {vector = 2 : i32} : $F
  %w = $O %v : $F to $T
  tile.store %w, %y cols(%c0, %n) {vector = 2 : i32} : $T
  return
})",
      {{"$O", op},
       {"$Z", isFloat ? "0.0" : "0"},
       {"$E", from},
       {"$F", tileOf(from, layout)},
       {"$T", tileOf(to, layout)}});
}

/// Runs it, and compares with the conversion of `core`.
static void checkConversion(const std::string &op, TypeName from, TypeName to,
                            const Bytes &x) {
  CAPTURE(op);
  const bool isFp8 = dtypeSize(to.dtype) == 1 ? isFloat(to.dtype) : false;
  const bool fromFp8 = dtypeSize(from.dtype) == 1 && isFloat(from.dtype);
  std::vector<std::string> targets = {"sm_90a"};
  if (!isFp8 && !fromFp8)
    targets.push_back("sm_80");
  const size_t count = x.size() / dtypeSize(from.dtype);
  auto outputs = runEverywhere(
      "k", convertElements(op, from.name, to.name), 1,
      {in(x), out(count * dtypeSize(to.dtype)), number(count)}, 1, targets);
  for (size_t i = 0; i < count; ++i) {
    Bytes expected(dtypeSize(to.dtype));
    convertElement(from.dtype, &x[i * dtypeSize(from.dtype)], to.dtype,
                   expected.data());
    const uint8_t *got = &outputs[0][i * dtypeSize(to.dtype)];
    if (isFloat(to.dtype) && std::isnan(loadDouble(to.dtype, expected.data())))
      CHECK(std::isnan(loadDouble(to.dtype, got)));
    else
      CHECK(std::memcmp(got, expected.data(), expected.size()) == 0);
  }
}

static std::vector<float> hardFloats() {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1,
                               -1,
                               0.5f,
                               1.5f,
                               2.5f,
                               126.99f,
                               127.5f,
                               128,
                               -128.9f,
                               -129,
                               255.5f,
                               256,
                               448,
                               464,
                               465,
                               480,
                               57344,
                               61440,
                               61441,
                               65504,
                               65519.99f,
                               65520,
                               1e9f,
                               2147483520.0f,
                               2147483648.0f,
                               -2147483648.0f,
                               -2147483904.0f,
                               9.2233715e18f,
                               9.2233720e18f,
                               -9.2233720e18f,
                               1e30f,
                               3.4028235e38f,
                               1e-7f,
                               5.9604645e-8f,
                               2.9802322e-8f,
                               2.98023259e-8f,
                               1e-40f,
                               1.4e-45f,
                               INFINITY,
                               -INFINITY,
                               NAN,
                               0.0009765625f,
                               0.00195f,
                               1.00390625f,
                               1.01171875f,
                               3.3895314e38f};
  Random random(11);
  while (values.size() < 256)
    values.push_back(std::ldexp(random.real(), int(random.below(60)) - 30));
  return values;
}

TEST_SUITE("tile kernels run alike") {
  TEST_CASE("floats narrow once and widen exactly") {
    const std::vector<float> x = hardFloats();
    for (TypeName to : floats)
      if (to.dtype != DType::F32)
        checkConversion("arith.truncf", floats[0], to, bytesOf(x));
    for (TypeName from : floats) {
      if (from.dtype == DType::F32)
        continue;
      Bytes codes;
      if (dtypeSize(from.dtype) == 1)
        for (int code = 0; code < 256; ++code)
          codes.push_back(uint8_t(code));
      else
        codes = elements(from.dtype, x);
      checkConversion("arith.extf", from, floats[0], codes);
    }
  }

  TEST_CASE("floats to integers truncate and saturate, NaN gives 0") {
    for (TypeName to : integers)
      checkConversion("arith.fptosi", floats[0], to, bytesOf(hardFloats()));
    checkConversion("arith.fptoui", floats[0], {DType::U8, "i8"},
                    bytesOf(hardFloats()));
  }

  TEST_CASE("integers reach every float with one rounding") {
    // 16777217 and its kind: through f32 they would round twice.
    std::vector<int32_t> words = {
        0,        1,          -1,         16777217,   -16777217,
        33554431, 0x01010001, 0x01008001, 0x7fffffff, -0x7fffffff - 1,
        8519681,  0x00818001, 65519,      65520,      2049,
        2051};
    std::vector<int64_t> longs = {0,
                                  -1,
                                  (1ll << 53) + 1,
                                  (1ll << 62) + 1,
                                  0x0101000000000001ll,
                                  0x0101800000000001ll,
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min()};
    Random random(13);
    while (words.size() < 256)
      words.push_back(int32_t(random.bits() >> (random.below(30) + 32)));
    while (longs.size() < 256)
      longs.push_back(int64_t(random.bits() >> random.below(60)));
    std::vector<int8_t> bytes(256);
    for (int i = 0; i < 256; ++i)
      bytes[size_t(i)] = int8_t(i);
    for (TypeName to : floats) {
      checkConversion("arith.sitofp", integers[0], to, bytesOf(bytes));
      checkConversion("arith.sitofp", integers[1], to, bytesOf(words));
      checkConversion("arith.sitofp", integers[2], to, bytesOf(longs));
      checkConversion("arith.uitofp", {DType::U8, "i8"}, to, bytesOf(bytes));
    }
  }
}
