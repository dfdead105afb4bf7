//===- CoverageTest.cpp - Rarer instructions, by known answers ------------===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

static uint32_t of32(const std::string &instruction) {
  return evaluate32(instruction);
}

TEST_SUITE("emulator coverage") {
  TEST_CASE("scalar video instructions select, saturate and merge") {
    CHECK(of32("mov.b32 %r1, 0x12345680; mov.b32 %r2, 0x000000ff;"
               "vadd.s32.s32.s32 %r9, %r1.b0, %r2.b0;") == 0xffffff7fu);
    CHECK(of32("mov.b32 %r1, 0x12345680; mov.b32 %r2, 0x000000ff;"
               "vadd.u32.u32.u32 %r9, %r1.b0, %r2.b0;") == 0x17fu);
    CHECK(of32("vsub.u32.u32.u32.sat %r9, 3, 5;") == 0);
    CHECK(of32("vadd.u32.u32.u32.sat %r9, 0xffffffff, 5;") == 0xffffffffu);
    CHECK(of32("mov.b32 %r1, -7; vabsdiff.u32.s32.s32 %r9, %r1, 5;") == 12);
    CHECK(of32("mov.b32 %r1, -7; vmin.s32.s32.s32 %r9, %r1, 5;") ==
          uint32_t(-7));
    CHECK(of32("mov.b32 %r1, 0x00ff7001; vmax.s32.s32.s32 %r9, %r1.h0, "
               "%r1.h1;") == 0x7001);
    // With c: a second operation, or a merge into one byte of c.
    CHECK(of32("vadd.u32.u32.u32.min %r9, 10, 20, 7;") == 7);
    CHECK(of32("vadd.u32.u32.u32.add %r9, 10, 20, 7;") == 37);
    CHECK(of32("mov.b32 %r3, 0x11223344;"
               "vadd.u32.u32.u32 %r9.b2, 0x10, 0x20, %r3;") == 0x11303344u);
    CHECK(of32("vshl.u32.u32.u32.wrap %r9, 3, 33;") == 6);
    CHECK(of32("vshr.u32.u32.u32.clamp %r9, 0x80000000, 40;") == 0);
    CHECK(of32("vshr.s32.s32.u32.clamp %r9, 0x80000000, 40;") == 0xffffffffu);
    CHECK(of32("vmad.u32.u32.u32.shr7 %r9, 1000, 1000, 128;") == 7813);
  }

  TEST_CASE("SIMD video instructions work on halves and bytes") {
    CHECK(of32("mov.b32 %r1, 0x00ff7f80; mov.b32 %r2, 0x01010101;"
               "mov.b32 %r3, 0;"
               "vadd4.u32.u32.u32 %r9, %r1, %r2, %r3;") == 0x01008081u);
    CHECK(of32("mov.b32 %r1, 0x00ff7f80; mov.b32 %r2, 0x01010101;"
               "mov.b32 %r3, 0;"
               "vadd4.u32.u32.u32.sat %r9, %r1, %r2, %r3;") == 0x01ff8081u);
    CHECK(of32("mov.b32 %r1, 0x00ff7f80; mov.b32 %r2, 0x01010101;"
               "mov.b32 %r3, 0;"
               "vadd4.s32.s32.s32.sat %r9, %r1, %r2, %r3;") == 0x01007f81u);
    CHECK(of32("mov.b32 %r1, 0x8000ffff; mov.b32 %r2, 0x00010001;"
               "mov.b32 %r3, 0;"
               "vsub2.s32.s32.s32.sat %r9, %r1, %r2, %r3;") == 0x8000fffeu);
    CHECK(of32("mov.b32 %r1, 0x04030201; mov.b32 %r2, 0x01020304;"
               "vabsdiff4.u32.u32.u32.add %r9, %r1, %r2, 100;") == 108);
    CHECK(of32("mov.b32 %r1, 0x04030201; mov.b32 %r2, 0x01020304;"
               "mov.b32 %r3, 0;"
               "vavrg4.u32.u32.u32 %r9, %r1, %r2, %r3;") == 0x03030303u);
    // Only the bytes of the mask change; selectors reorder both words' bytes.
    CHECK(of32("mov.b32 %r1, 0x04030201; mov.b32 %r2, 0x01010101;"
               "mov.b32 %r3, 0xaabbccdd;"
               "vadd4.u32.u32.u32 %r9.b20, %r1, %r2, %r3;") == 0xaa04cc02u);
    CHECK(of32("mov.b32 %r1, 0x04030201; mov.b32 %r2, 0x40302010;"
               "mov.b32 %r3, 0;"
               "vmax4.u32.u32.u32 %r9, %r1.b0123, %r2.b3210, %r3;") ==
          0x04030304u); // 01020304 and, by its selector, a again
    Case wrong;
    wrong.ptx = kernelWith("vadd4.u32.u32.u32 %r9, %r1.b9, %r2, %r3;");
    wrong.buffers = {std::vector<uint8_t>(8), std::vector<uint8_t>(8)};
    auto report = run(wrong);
    REQUIRE(!report);
    CHECK(report.error().text().find("selector that names no part") !=
          std::string::npos);
  }

  TEST_CASE("comparisons of halves give numbers, bits and pairs") {
    const std::string pairs = "mov.b32 %r1, 0x3c004000; mov.b32 %r2, "
                              "0x40003c00;"; // (1, 2) and (2, 1), high first
    CHECK(of32(pairs + "set.gt.f16x2.f16x2 %r9, %r1, %r2;") == 0x00003c00u);
    CHECK(of32(pairs + "set.le.u32.f16x2 %r9, %r1, %r2;") == 0xffff0000u);
    CHECK(of32("mov.b32 %r1, 0x7fff3f80; mov.b32 %r2, 0x3f803f80;"
               "set.geu.bf16x2.bf16x2 %r9, %r1, %r2;") == 0x3f803f80u);
    CHECK(of32("mov.b32 %r1, 0x7fff3f80; mov.b32 %r2, 0x3f803f80;"
               "set.ge.bf16x2.bf16x2 %r9, %r1, %r2;") == 0x00003f80u);
    CHECK(of32("mov.b16 %h1, 0x3c00; mov.b16 %h2, 0x4000;"
               "set.lt.u32.f16 %r9, %h1, %h2;") == 0xffffffffu);
    CHECK(of32(pairs + "setp.eq.u32 %p3, 1, 1;"
                       "setp.gt.or.f16x2 %p1|%p2, %r1, %r2, !%p3;"
                       "selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2;"
                       "or.b32 %r9, %r3, %r4;") == 1);
  }

  TEST_CASE("saturating packs") {
    CHECK(of32("mov.b32 %r1, 70000; mov.b32 %r2, -5;"
               "cvt.pack.sat.u16.s32 %r9, %r1, %r2;") == 0xffff0000u);
    CHECK(of32("mov.b32 %r1, 70000; mov.b32 %r2, -40000;"
               "cvt.pack.sat.s16.s32 %r9, %r1, %r2;") == 0x7fff8000u);
    CHECK(of32("mov.b32 %r1, 300; mov.b32 %r2, 7; mov.b32 %r3, 0x1234abcd;"
               "cvt.pack.sat.u8.s32.b32 %r9, %r1, %r2, %r3;") == 0xabcdff07u);
    CHECK(of32("mov.b32 %r1, -300; mov.b32 %r2, 7;"
               "cvt.pack.sat.s8.s32.b32 %r9, %r1, %r2, 0;") == 0x8007u);
  }

  TEST_CASE("registers of 128 bits move, load, swap") {
    Case c;
    c.ptx = kernelWith(
        ".reg .b128 %q<4>;\n"
        "mov.u64 %d3, 5; mov.u64 %d4, 6; mov.b128 %q1, {%d3, %d4};\n"
        "ld.global.b128 %q2, [%d2]; st.global.b128 [%d1], %q2;\n"
        "atom.global.cas.b128 %q3, [%d2], %q2, %q1;\n"
        "mov.b128 {%d5, %d6}, %q3; st.global.v2.u64 [%d1+16], {%d5, %d6};\n"
        "atom.global.exch.b128 %q3, [%d2+16], %q1;\n");
    c.buffers = {std::vector<uint8_t>(32), bytesOf<uint64_t>({1, 2, 3, 4})};
    runClean(c);
    CHECK(valuesOf<uint64_t>(c.buffers[0]) ==
          std::vector<uint64_t>{1, 2, 1, 2});
    CHECK(valuesOf<uint64_t>(c.buffers[1]) ==
          std::vector<uint64_t>{5, 6, 5, 6});
  }

  TEST_CASE("vector atomics update each element") {
    Case c;
    c.ptx = kernelWith("red.global.add.v2.f32 [%d1], {0f3F800000, "
                       "0f40000000};\n"
                       "mov.b32 %r1, 0x3c003c00;\n"
                       "red.relaxed.gpu.global.add.noftz.v2.f16x2 [%d1+8], "
                       "{%r1, %r1};\n"
                       "mov.b32 %r2, 0x7e004000;\n"
                       "atom.global.max.noftz.v2.f16x2 {%r3, %r4}, [%d1+16], "
                       "{%r2, %r2}; st.global.u32 [%d1+24], %r4;");
    c.buffers = {bytesOf<uint32_t>(
                     {0x3f800000, 0, 0x3c004000, 0, 0x3c004200, 0x42003c00, 0}),
                 std::vector<uint8_t>(8)};
    c.block = {2, 1, 1};
    Case one = c;
    one.block = {1, 1, 1};
    runClean(one);
    CHECK(valuesOf<uint32_t>(one.buffers[0]) ==
          std::vector<uint32_t>{0x40000000, 0x40000000, 0x40004200, 0x3c003c00,
                                0x3c004200, 0x42004000, 0x42003c00});
  }

  TEST_CASE("functions have registers, results and a stack of their own") {
    const std::string function =
        ".func (.param .b32 r) twice(.param .b32 a) {\n"
        ".reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r2, %r1, %r1;\n"
        "st.param.b32 [r], %r2; ret; }\n";
    Case c;
    c.ptx = kernelWith("{ .param .b32 x; .param .b32 y; st.param.b32 [x], 21;\n"
                       "mov.u32 %r1, 5; mov.u32 %r2, 6;\n"
                       "call.uni (y), twice, (x);\n"
                       "ld.param.b32 %r9, [y]; }\n"
                       "add.u32 %r9, %r9, %r1; st.global.u32 [%d1], %r9;",
                       function);
    c.buffers = {std::vector<uint8_t>(8), std::vector<uint8_t>(8)};
    runClean(c);
    CHECK(valuesOf<uint32_t>(c.buffers[0])[0] == 47);
    // A result that the function never gives is uninitialised.
    std::string silent = function;
    silent.replace(silent.find("st.param.b32 [r], %r2;"), 22, "");
    Case none = c;
    none.ptx.replace(none.ptx.find(function), function.size(), silent);
    CHECK(kindsOf(none) == std::vector<std::string>{"uninitialised"});
    // Wrong counts and unknown functions are refused with their line.
    auto errorOf = [&](const std::string &call) {
      Case wrong = c;
      wrong.ptx.replace(wrong.ptx.find("call.uni (y), twice, (x);"), 25, call);
      auto report = run(wrong);
      return report ? std::string() : report.error().text();
    };
    CHECK(errorOf("call.uni (y), twice;")
              .find("'twice' has 1 parameters and 1 results, the call gives 0 "
                    "and 1") != std::string::npos);
    CHECK(errorOf("call.uni (y), thrice, (x);")
              .find("'thrice' is neither a function") != std::string::npos);
  }

  TEST_CASE("alloca takes from the stack until there is none") {
    Case c;
    c.ptx = kernelWith("stacksave.u64 %d9; mov.u64 %d3, 64;\n"
                       "alloca.u64 %d4, %d3, 16; alloca.u64 %d5, %d3, 16;\n"
                       "st.local.u32 [%d5], 9; st.local.u32 [%d4+60], 8;\n"
                       "ld.local.u32 %r1, [%d5]; st.global.u32 [%d1], %r1;\n"
                       "stackrestore.u64 %d9; alloca.u64 %d6, %d3, 16;\n"
                       "sub.s64 %d7, %d6, %d4; st.global.u64 [%d1+8], %d7;");
    c.buffers = {std::vector<uint8_t>(16, 7), std::vector<uint8_t>(8)};
    runClean(c);
    CHECK(valuesOf<uint32_t>(c.buffers[0])[0] == 9);
    CHECK(valuesOf<uint64_t>(c.buffers[0])[1] == 0);
    Case large = c;
    large.ptx = kernelWith("mov.u64 %d3, 100000; alloca.u64 %d4, %d3, 16;");
    CHECK(kindsOf(large) == std::vector<std::string>{"stack"});
  }

  TEST_CASE("a finding names the source line and the call of inlined code") {
    Case c;
    c.ptx = kernelWith(".loc 1 12 3\nst.global.u32 [%d1+8], 1;\n"
                       ".loc 2 7 1, function_name $L, inlined_at 1 20 5\n"
                       "st.global.u32 [%d1+12], 1;\n",
                       ".file 1 \"src/a.cu\"\n.file 2 \"b.h\"\n");
    c.buffers = {std::vector<uint8_t>(8), std::vector<uint8_t>(8)};
    auto report = run(c);
    REQUIRE(bool(report));
    REQUIRE(report->findings.size() == 2);
    CHECK(report->findings[0].source == "a.cu:12");
    CHECK(report->findings[1].source == "a.cu:20");
  }
}
