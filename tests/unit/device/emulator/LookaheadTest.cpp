//===- LookaheadTest.cpp - Offsets that wrap, sums that may be fused ------===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

static std::vector<std::string> notesOf(const std::string &body,
                                        std::string *text = nullptr) {
  Case c;
  c.ptx = kernelWith(body);
  c.buffers = {std::vector<uint8_t>(64), std::vector<uint8_t>(64)};
  auto report = run(c);
  REQUIRE_MESSAGE(bool(report), report.error().text());
  CHECK_MESSAGE(report->ok(), textOf(*report));
  std::vector<std::string> kinds;
  for (const Finding &note : report->notes) {
    kinds.push_back(note.kind + ":" + std::to_string(note.ptxLine));
    if (text)
      *text += note.text();
  }
  return kinds;
}

static uint32_t floatOf(const std::string &instructions,
                        const std::string &approximation) {
  LaunchOptions options;
  options.approximation = approximation;
  return evaluate32(instructions, options);
}

TEST_SUITE("emulator lookahead") {
  TEST_CASE("a 32-bit offset that wraps on its way to an address is noted") {
    using Notes = std::vector<std::string>;
    std::string text;
    // 2^30 rows of 4 columns: 2^32 wraps to 0.
    CHECK(notesOf("mov.u32 %r1, 0x40000000;\nmul.lo.s32 %r2, %r1, 4;\n"
                  "mad.wide.s32 %d3, %r2, 4, %d1; ld.global.u32 %r3, [%d3];",
                  &text) == Notes{"wrap:9"});
    CHECK(text.find("an offset into memory is 4294967296 and wraps in 32 "
                    "bits") != std::string::npos);
    CHECK(notesOf("mov.u32 %r1, 0x7fffffff;\nmov.u32 %r2, 1;\n"
                  "add.s32 %r3, %r1, %r2; and.b32 %r4, %r3, 3;\n"
                  "cvt.s64.s32 %d3, %r4; add.s64 %d3, %d3, %d1;\n"
                  "ld.global.u8 %r5, [%d3];")
              .empty()); // a hash: the mask makes the offset
    CHECK(notesOf("mov.u32 %r1, 0x3fffffff;\nmul.lo.s32 %r2, %r1, 2;\n"
                  "and.b32 %r2, %r2, 3; mad.wide.s32 %d3, %r2, 4, %d1;\n"
                  "ld.global.u32 %r3, [%d3];")
              .empty()); // no wrap
    CHECK(notesOf("mov.u32 %r1, 3;\nadd.s32 %r2, %r1, -1;\n"
                  "mad.wide.u32 %d3, %r2, 4, %d1; ld.global.u32 %r3, [%d3];")
              .empty());
    CHECK(notesOf("mov.u32 %r1, 0x80000001;\nshl.b32 %r2, %r1, 1;\n"
                  "mad.wide.u32 %d3, %r2, 4, %d1; ld.global.u32 %r3, "
                  "[%d3];") == Notes{"wrap:9"});
    // The result of arithmetic that makes no address is its own affair.
    CHECK(notesOf("mov.u32 %r1, 0x40000000;\nmul.lo.s32 %r2, %r1, 4;\n"
                  "st.global.u32 [%d1], %r2;")
              .empty());
  }

  TEST_CASE("plain products and sums are fused where that is asked for") {
    // (1 + 2^-13)^2 - 1: the product's last bit survives only in an fma.
    const std::string product = "mov.b32 %f1, 0f3F800400;\n"
                                "mul.f32 %f2, %f1, %f1;\n";
    const std::string sum = product + "add.f32 %f3, %f2, 0fBF800000;\n"
                                      "mov.b32 %r9, %f3;";
    CHECK(floatOf(sum, "nearest") == 0x39800000u);
    CHECK(floatOf(sum, "fused") == 0x39800200u);
    // c - product, with and without another use of the product.
    const std::string difference = product +
                                   "mov.b32 %f4, 0f3F800000;\n"
                                   "sub.f32 %f3, %f4, %f2; mov.b32 %r9, %f3;";
    CHECK(floatOf(difference, "fused") == 0xb9800200u);
    // A rounding modifier, or a change of an operand, forbids it.
    const std::string rounded = "mov.b32 %f1, 0f3F800400;\n"
                                "mul.rn.f32 %f2, %f1, %f1;\n"
                                "add.f32 %f3, %f2, 0fBF800000;\n"
                                "mov.b32 %r9, %f3;";
    CHECK(floatOf(rounded, "fused") == 0x39800000u);
    const std::string changed = product + "mov.b32 %f1, 0f40000000;\n"
                                          "add.f32 %f3, %f2, 0fBF800000;\n"
                                          "mov.b32 %r9, %f3;";
    CHECK(floatOf(changed, "fused") == 0x39800000u);
  }
}
