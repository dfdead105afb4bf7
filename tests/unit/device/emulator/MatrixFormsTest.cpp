//===- MatrixFormsTest.cpp - mma.sync in all types ------------------------===//
//
// Small integers, exact in every type: any order of additions gives the same,
// so that what is checked is which element lies where.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/device/emulator/Harness.h"

#include <cmath>
#include <functional>

using namespace tandem;
using namespace tandem::test;

namespace {
struct Shape {
  /// Behind `mma.sync.aligned.`
  std::string name;
  int rows, k;
  /// Elements of A and B in a 32-bit register; 0: one in 64 bits.
  int perRegister;
  std::function<uint64_t(int)> encode;
  /// f32, f16, s32 or f64.
  std::string result;
};

uint64_t half(int value) {
  if (value == 0)
    return 0;
  const int magnitude = std::abs(value), exponent = std::ilogb(magnitude);
  return static_cast<uint64_t>((value < 0 ? 0x8000 : 0) |
                               (exponent + 15) << 10 |
                               ((magnitude << (10 - exponent)) & 0x3ff));
}
uint64_t e4m3(int value) {
  if (value == 0)
    return 0;
  const int magnitude = std::abs(value), exponent = std::ilogb(magnitude);
  return static_cast<uint64_t>((value < 0 ? 0x80 : 0) | (exponent + 7) << 3 |
                               ((magnitude << (3 - exponent)) & 7));
}
uint64_t e5m2(int value) {
  if (value == 0)
    return 0;
  const int magnitude = std::abs(value), exponent = std::ilogb(magnitude);
  return static_cast<uint64_t>((value < 0 ? 0x80 : 0) | (exponent + 15) << 2 |
                               (((magnitude << 2) >> exponent) & 3));
}
uint64_t single(int value) {
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}
uint64_t twice(int value) {
  return std::bit_cast<uint64_t>(static_cast<double>(value));
}
uint64_t integer(int value) { return static_cast<uint64_t>(value); }

// -2 .. 1, in every type.
int a(int i, int k) { return (i * 7 + k * 3 + i * k) % 4 - 2; }
int b(int k, int n) { return (k * 5 + n * 11 + k * n) % 4 - 2; }
int c(int i, int n) { return (i * 3 + n * 5) % 7 - 3; }

std::string listOf(const std::string &name, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i ? ", %" : "%") + name + std::to_string(first + i);
  return text + "}";
}

/// Words of one lane: those of a, b and c, as the PTX ISA lays them out.
std::vector<uint32_t> wordsOf(const Shape &shape, int lane) {
  const int g = lane / 4, t = lane % 4;
  const int p = std::max(shape.perRegister, 1), bits = 32 / p;
  const uint64_t mask =
      shape.perRegister == 0 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  std::vector<uint32_t> words;
  uint64_t word = 0;
  const auto add = [&](uint64_t element, int i, int count, int width) {
    word |= (element & mask) << (i % count * width);
    if (i % count != count - 1)
      return;
    words.push_back(static_cast<uint32_t>(word));
    if (width == 64)
      words.push_back(static_cast<uint32_t>(word >> 32));
    word = 0;
  };
  const int width = shape.perRegister == 0 ? 64 : bits;
  for (int i = 0; i < shape.rows * shape.k / 32; ++i) {
    const int row = g + (shape.rows == 16 && (i / p) % 2 ? 8 : 0);
    const int block = i / (shape.rows == 16 ? 2 * p : p);
    add(shape.encode(a(row, t * p + i % p + 4 * p * block)), i, p, width);
  }
  for (int i = 0; i < 8 * shape.k / 32; ++i)
    add(shape.encode(b(t * p + i % p + 4 * p * (i / p), g)), i, p, width);
  for (int i = 0; i < shape.rows / 4; ++i) {
    const int value = c(g + 8 * (i / 2), 2 * t + i % 2);
    if (shape.result == "f64") {
      words.push_back(static_cast<uint32_t>(twice(value)));
      words.push_back(static_cast<uint32_t>(twice(value) >> 32));
    } else if (shape.result == "f32") {
      words.push_back(static_cast<uint32_t>(single(value)));
    } else if (shape.result == "s32") {
      words.push_back(static_cast<uint32_t>(value));
    } else if (i % 2 == 0) {
      words.push_back(static_cast<uint32_t>(
          half(value) | half(c(g + 8 * (i / 2), 2 * t + 1)) << 16));
    }
  }
  return words;
}

std::vector<uint32_t> runShape(const Shape &shape) {
  const int width = shape.perRegister == 0 ? 2 : 1;
  const int p = std::max(shape.perRegister, 1);
  const int as = shape.rows * shape.k / 32 / p, bs = shape.k / 4 / p;
  const int cs = shape.result == "f16" ? shape.rows / 8 : shape.rows / 4;
  const int words = width * (as + bs) + (shape.result == "f64" ? 2 * cs : cs);
  const std::string reg = width == 2 ? "u" : "r";
  std::string body = ".reg .f64 %u<20>;\nmov.u32 %r30, %tid.x;\n"
                     "mad.wide.u32 %d2, %r30, " +
                     std::to_string(4 * words) + ", %d2;\n";
  for (int i = 0; i < as + bs + cs; ++i)
    body += "ld.global." + std::string(width == 2 ? "f64" : "b32") + " %" +
            reg + std::to_string(i) + ", [%d2+" +
            std::to_string(4 * width * i) + "];\n";
  body += "mma.sync.aligned." + shape.name + " " + listOf(reg, as + bs, cs) +
          ", " + listOf(reg, 0, as) + ", " + listOf(reg, as, bs) + ", " +
          listOf(reg, as + bs, cs) + ";\nmad.wide.u32 %d1, %r30, " +
          std::to_string(4 * width * cs) + ", %d1;\n";
  for (int i = 0; i < cs; ++i)
    body += "st.global." + std::string(width == 2 ? "f64" : "b32") + " [%d1+" +
            std::to_string(4 * width * i) + "], %" + reg +
            std::to_string(as + bs + i) + ";\n";
  Case test;
  test.ptx = kernelWith(body);
  std::vector<uint32_t> in;
  for (int l = 0; l < 32; ++l)
    for (uint32_t word : wordsOf(shape, l))
      in.push_back(word);
  test.block = {32, 1, 1};
  test.buffers = {std::vector<uint8_t>(static_cast<size_t>(128 * width * cs)),
                  bytesOf(in)};
  runClean(test);
  return valuesOf<uint32_t>(test.buffers[0]);
}

const Shape shapes[] = {
    {"m16n8k16.row.col.f16.f16.f16.f16", 16, 16, 2, half, "f16"},
    {"m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 2, half, "f16"},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 1, single, "f32"},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, 1, single, "f32"},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 32, 4, e4m3, "f32"},
    {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 16, 32, 4, e5m2, "f32"},
    {"m8n8k4.row.col.f64.f64.f64.f64", 8, 4, 0, twice, "f64"},
    {"m16n8k4.row.col.f64.f64.f64.f64", 16, 4, 0, twice, "f64"},
    {"m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 0, twice, "f64"},
    {"m16n8k16.row.col.f64.f64.f64.f64", 16, 16, 0, twice, "f64"},
    {"m8n8k16.row.col.s32.s8.s8.s32", 8, 16, 4, integer, "s32"},
    {"m16n8k64.row.col.s32.s4.s4.s32", 16, 64, 8, integer, "s32"},
    {"m16n8k32.row.col.s32.s4.s4.s32", 16, 32, 8, integer, "s32"},
    {"m8n8k32.row.col.s32.s4.s4.s32", 8, 32, 8, integer, "s32"},
};
} // namespace

TEST_SUITE("emulator matrix forms") {
  TEST_CASE("every type has its elements where PTX says") {
    for (const Shape &shape : shapes) {
      CAPTURE(shape.name);
      const std::vector<uint32_t> got = runShape(shape);
      const bool isDouble = shape.result == "f64";
      for (int l = 0; l < 32; ++l)
        for (int i = 0; i < shape.rows / 4; ++i) {
          const int row = l / 4 + 8 * (i / 2), column = 2 * (l % 4) + i % 2;
          int sum = c(row, column);
          for (int k = 0; k < shape.k; ++k)
            sum += a(row, k) * b(k, column);
          const auto at = static_cast<size_t>(l * shape.rows / 4 + i);
          if (isDouble) {
            CHECK(got[2 * at] == static_cast<uint32_t>(twice(sum)));
            CHECK(got[2 * at + 1] == static_cast<uint32_t>(twice(sum) >> 32));
          } else if (shape.result == "f16") {
            CHECK((got[at / 2] >> (16 * (i % 2)) & 0xffff) == half(sum));
          } else {
            CHECK(got[at] == (shape.result == "f32"
                                  ? single(sum)
                                  : static_cast<uint32_t>(sum)));
          }
        }
    }
  }

  TEST_CASE("bits: the ones of a AND b, of a XOR b, and the accumulator") {
    for (const bool isXor : {false, true}) {
      Case test;
      test.ptx =
          kernelWith("mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 0x9e3779b1;\n"
                     "not.b32 %r3, %r2; mov.u32 %r4, 5; mov.u32 %r5, 6;\n"
                     "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32." +
                     std::string(isXor ? "xor" : "and") +
                     ".popc {%r6, %r7}, {%r2}, {%r3}, {%r4, %r5};\n"
                     "mad.wide.u32 %d1, %r1, 8, %d1;\n"
                     "st.global.v2.b32 [%d1], {%r6, %r7};");
      test.block = {32, 1, 1};
      test.buffers = {std::vector<uint8_t>(256), std::vector<uint8_t>(4)};
      runClean(test);
      const auto got = valuesOf<uint32_t>(test.buffers[0]);
      for (uint32_t l = 0; l < 32; ++l)
        for (uint32_t i = 0; i < 2; ++i) {
          uint32_t sum = 5 + i;
          for (uint32_t t = 0; t < 4; ++t) {
            const uint32_t x = (l / 4 * 4 + t) * 0x9e3779b1;
            const uint32_t y = ~(((2 * (l % 4) + i) * 4 + t) * 0x9e3779b1u);
            sum += static_cast<uint32_t>(std::popcount(isXor ? x ^ y : x & y));
          }
          CHECK(got[2 * l + i] == sum);
        }
    }
  }

  // The tensor core would truncate the sum; the f32 addition that ends an FP8
  // product rounds it to nearest.
  TEST_CASE("an FP8 product is added to the accumulator in f32") {
    Case test;
    test.ptx = kernelWith(
        // 1.5 x 2^-9 (code 3 of the subnormals is 3 x 2^-9) times 1, in one
        // element of each of four lanes: 12 x 2^-9.
        "mov.u32 %r1, 0x00000003; mov.u32 %r2, 0; mov.u32 %r3, 0x00000038;\n"
        // A unit of the last place of 2^18 is 2^-5 = 16 x 2^-9.
        "mov.f32 %f1, 0f48800000; mov.f32 %f2, 0f00000000;\n"
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r2,%r2}, {%r3,%r2}, {%f1,%f2,%f2,%f2};\n"
        "st.global.v2.f32 [%d1], {%f1, %f2};");
    test.block = {32, 1, 1};
    test.options.checkRaces = false;
    test.buffers = {std::vector<uint8_t>(8), std::vector<uint8_t>(4)};
    runClean(test);
    const auto got = valuesOf<float>(test.buffers[0]);
    CHECK(got[0] == 0x1p18f + 0x1p-5f);
    CHECK(got[1] == 12 * 0x1p-9f);
  }
}
