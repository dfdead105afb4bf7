//===- ParserTest.cpp - What is refused at load, and with which words -----===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

static std::string refusal(const std::string &ptx, const char *name = "k") {
  Case c;
  c.ptx = ptx;
  c.name = name;
  auto loaded = makeEmulator()->load(kernelOf(c));
  return loaded ? "" : loaded.error().text();
}
/// The message for a body, which begins on line 8 of the text.
static std::string bodyRefusal(const std::string &body) {
  return refusal(kernelWith(body));
}

TEST_SUITE("emulator load") {
  TEST_CASE("unknown instructions are named with their line") {
    CHECK(bodyRefusal("frobnicate.b32 %r1, %r2;") ==
          "k:8: instruction 'frobnicate.b32' is not supported");
    CHECK(bodyRefusal("\n\nadd.rz.s32 %r1, %r2, %r3;") ==
          "k:10: instruction 'add.rz.s32' is not supported");
    // All of them, up to a limit.
    CHECK(bodyRefusal("foo %r1;\nbar %r1;") ==
          "k:8: instruction 'foo' is not supported\n"
          "k:9: instruction 'bar' is not supported");
    CHECK(bodyRefusal("call.uni helper, ();") ==
          "k:8: 'helper' is neither a function nor a 64-bit register");
  }

  TEST_CASE("operands have to fit") {
    CHECK(bodyRefusal("add.u32 %r1, %d2, 1;") ==
          "k:8: '%d2' has 64 bits, 'add.u32' needs 32");
    CHECK(bodyRefusal("add.u32 %r1, %p2, 1;") ==
          "k:8: '%p2' has 1 bit (a predicate), 'add.u32' needs 32");
    CHECK(bodyRefusal("add.u32 %r1, %r2;") ==
          "k:8: 'add.u32' has 2 operands, expected 3");
    CHECK(bodyRefusal("add.u32 %r99, 1, 1;") ==
          "k:8: register '%r99' is not declared");
    CHECK(bodyRefusal("mov.u64 %d3, nowhere;") ==
          "k:8: symbol 'nowhere' is not declared");
    CHECK(bodyRefusal("bra NOWHERE;") == "k:8: label 'NOWHERE' is not defined");
    CHECK(bodyRefusal("ld.global.u32 %r1, %d1;") ==
          "k:8: 'ld.global.u32' needs an address in brackets");
    CHECK(bodyRefusal("ld.param.u64 %d3, [in+4];") ==
          "k:8: 'ld.param.u64' reads bytes 12 to 20 of 16 bytes of parameters");
    CHECK(bodyRefusal("cvt.f16.f32 %h1, %f1;") ==
          "k:8: 'cvt.f16.f32' needs a rounding modifier");
    CHECK(bodyRefusal("cp.async.cg.shared.global [%r1], [%d2], 8;") ==
          "k:8: cp.async copies 4, 8 or 16 bytes, .cg only 16");
  }

  TEST_CASE("syntax errors say what was expected") {
    CHECK(bodyRefusal("add.u32 %r1, %r2 %r3;") ==
          "k:8: expected ';', found '%r3'");
    CHECK(bodyRefusal("mov.u32 %r1, 0f12;") ==
          "k:8: '0f12' needs 8 hexadecimal digits");
    CHECK(bodyRefusal("mov.u64 %d1, 99999999999999999999;") ==
          "k:8: '99999999999999999999' is not a 64-bit integer");
    CHECK(bodyRefusal("/* open") == "k:8: comment is not closed");
    CHECK(bodyRefusal("mov.u32 %r1, `;") ==
          "k:8: character '`' has no meaning here");
    CHECK(bodyRefusal("L: L:") == "k:8: label 'L' is defined twice");
    // Braces have labels of their own, which nothing outside sees.
    CHECK(bodyRefusal("{ L: } bra L;") == "k:8: label 'L' is not defined");
    CHECK(refusal(".version 8.0\n.target sm_90\n.address_size 32\n") ==
          "k:3: address size is 32, only 64 is supported");
    CHECK(refusal("") == "k:1: no .version directive");
    CHECK(refusal(header()) == "emulator: the PTX has no entry 'k'");
    CHECK(refusal(header() + ".visible .entry k() {\nret;\n") ==
          "k:6: expected '}', found the end");
  }

  TEST_CASE("the same label in two pairs of braces is two labels") {
    CHECK(evaluate32("mov.u32 %r9, 0;\n"
                     "{ bra L; add.u32 %r9, %r9, 100; L: }\n"
                     "{ L: add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; "
                     "@%p1 bra L; @!%p1 bra E; }\n"
                     "add.u32 %r9, %r9, 10;\nE:") == 3);
  }

  TEST_CASE("limits are errors, not crashes") {
    std::string deep;
    for (int i = 0; i < 500; ++i)
      deep += "{";
    CHECK(bodyRefusal(deep) == "k:8: scopes are nested more than 200 deep");
    std::string nested = "mov.b64 %d1, ";
    for (int i = 0; i < 500; ++i)
      nested += "{";
    CHECK(bodyRefusal(nested).find("nested more than 200 deep") !=
          std::string::npos);
    CHECK(bodyRefusal(".reg .b32 %q<2000000>;") ==
          "k:8: more than 1000000 registers");
  }

  TEST_CASE("directives, scopes and debug information are understood") {
    std::string text =
        "// a comment\n.version 8.0\n.target sm_90a, debug\n.address_size 64\n"
        ".file 1 \"a.cu\"\n"
        ".extern .shared .align 16 .b8 dynamic[];\n"
        ".visible .global .align 4 .u32 table[4] = {1, 2, 0x3, 4};\n"
        ".const .align 8 .f64 pi = 3.25;\n"
        ".global .align 8 .u64 pointer = table;\n"
        ".func (.reg .b32 r) unused (.reg .b32 a) { ret; }\n"
        ".visible .entry k(.param .u64 .ptr .global .align 4 out) "
        ".maxntid 128, 1, 1 .minnctapersm 2 {\n"
        ".reg .b32 %r<4>; .reg .b64 %d<6>; .reg .f64 %g;\n"
        ".loc 1 10 5\n ld.param.u64 %d1, [out];\n"
        ".pragma \"nounroll\";\n"
        "{ .reg .b32 %r<4>; ld.global.u32 %r1, [table+8]; "
        "st.global.u32 [%d1], %r1; }\n"
        "mov.u32 %r1, 77;\n"
        "ld.global.u64 %d2, [pointer]; ld.global.u32 %r2, [%d2+4]; "
        "st.global.u32 [%d1+4], %r2;\n"
        "ld.const.f64 %g, [pi]; st.global.f64 [%d1+8], %g;\n"
        "mov.u32 %r3, dynamic; st.shared.u32 [%r3+60], %r1; "
        "ld.shared.u32 %r2, [%r3+60]; st.global.u32 [%d1+16], %r2;\n"
        "cvta.shared.u64 %d3, %d4; ret; }\n"
        ".section .debug_info { .b8 1, 2 }\n";
    Case c;
    c.ptx = text;
    c.buffers = {std::vector<uint8_t>(20)};
    c.sharedBytes = 64;
    runClean(c);
    auto words = valuesOf<uint32_t>(c.buffers[0]);
    CHECK(words[0] == 3);
    CHECK(words[1] == 2);
    CHECK(words[3] == 0x400a0000);
    CHECK(words[4] == 77);
  }

  TEST_CASE("launches that the PTX does not allow are refused") {
    Case c;
    c.ptx = header() + ".entry k() .reqntid 64 { ret; }\n";
    c.block = {32, 1, 1};
    auto refused = run(c);
    REQUIRE(!refused);
    CHECK(refused.error().text() ==
          "k: the PTX requires 64 threads in dimension 0, the launch record "
          "gives 32");
    c.block = {64, 1, 1};
    CHECK(bool(run(c)));
    Case most;
    most.ptx = header() + ".entry k() .maxntid 64 { ret; }\n";
    most.block = {128, 1, 1};
    refused = run(most);
    REQUIRE(!refused);
    CHECK(refused.error().text() == "k: the PTX allows 64 threads a block, the "
                                    "launch record gives 128");
  }
}
