//===- IntegerTest.cpp - Integer and bit instructions ---------------------===//
#include "tests/unit/device/emulator/Harness.h"

using namespace tandem;
using namespace tandem::test;

TEST_SUITE("emulator integer") {
  TEST_CASE("addition and multiplication wrap, and saturate where asked") {
    CHECK(evaluate32("add.u32 %r9, 4294967295, 2;") == 1);
    CHECK(evaluate32("add.sat.s32 %r9, 2147483647, 1;") == 0x7fffffff);
    CHECK(evaluate32("sub.sat.s32 %r9, -2147483648, 1;") == 0x80000000);
    CHECK(evaluate32("mul.lo.u32 %r9, 65537, 65537;") == 131073);
    CHECK(evaluate32("mul.hi.u32 %r9, 4294967295, 4294967295;") == 0xfffffffe);
    CHECK(evaluate32("mul.hi.s32 %r9, -1, 2;") == 0xffffffff);
    CHECK(evaluate("mul.wide.s32 %d9, -3, 5;") == uint64_t(-15));
    CHECK(evaluate("mul.wide.u32 %d9, 4294967295, 4294967295;") ==
          0xfffffffe00000001);
    CHECK(evaluate("mul.hi.u64 %d9, 0xffffffffffffffff, 0xffffffffffffffff;") ==
          0xfffffffffffffffe);
    CHECK(evaluate("mul.hi.s64 %d9, -1, 1;") == ~uint64_t(0));
    CHECK(evaluate32("mad.lo.s32 %r9, -3, 5, 1;") == uint32_t(-14));
    CHECK(evaluate("mad.wide.u32 %d9, 65536, 65536, 1;") == 0x100000001);
    CHECK(evaluate32("mul24.lo.s32 %r9, 0x00ffffff, 2;") == uint32_t(-2));
    CHECK(evaluate32("sad.u32 %r9, 3, 10, 100;") == 107);
  }

  TEST_CASE("16-bit arithmetic stays in 16 bits") {
    CHECK(evaluate32("mov.u16 %h1, 65535; mov.u16 %h2, 3; "
                     "mul.lo.u16 %h3, %h1, %h2; cvt.u32.u16 %r9, %h3;") ==
          0xfffd);
    CHECK(evaluate32("mov.u16 %h1, 0xff00; shr.s16 %h2, %h1, 4; "
                     "cvt.u32.u16 %r9, %h2;") == 0xfff0);
  }

  TEST_CASE("division by zero and of the least value is defined") {
    CHECK(evaluate32("div.s32 %r9, -7, 2;") == uint32_t(-3));
    CHECK(evaluate32("rem.s32 %r9, -7, 2;") == uint32_t(-1));
    CHECK(evaluate32("div.u32 %r9, 7, 0;") == ~0u);
    CHECK(evaluate32("div.s32 %r9, -2147483648, -1;") == 0x80000000);
    CHECK(evaluate32("rem.s32 %r9, -2147483648, -1;") == 0);
  }

  TEST_CASE("minimum and maximum follow the sign of the type") {
    CHECK(evaluate32("min.s32 %r9, -1, 1;") == ~0u);
    CHECK(evaluate32("min.u32 %r9, -1, 1;") == 1);
    CHECK(evaluate32("max.s32 %r9, -1, 1;") == 1);
    CHECK(evaluate32("abs.s32 %r9, -5;") == 5);
    CHECK(evaluate32("neg.s32 %r9, 5;") == uint32_t(-5));
    CHECK(evaluate32("min.s16x2 %r9, 0xffff0001, 0x00010002;") == 0xffff0001);
    CHECK(evaluate32("max.relu.s32 %r9, -5, -7;") == 0);
  }

  TEST_CASE("carries run through a chain of additions") {
    // 2^64 - 1 + 1 in 32-bit words, then a borrow.
    CHECK(evaluate("add.cc.u32 %r1, 0xffffffff, 1; "
                   "addc.u32 %r2, 0xfffffffe, 0; mov.b64 %d9, {%r1, %r2};") ==
          0xffffffff00000000);
    CHECK(evaluate("sub.cc.u32 %r1, 0, 1; subc.u32 %r2, 5, 0; "
                   "mov.b64 %d9, {%r1, %r2};") == 0x4ffffffff);
    CHECK(evaluate("mad.lo.cc.u32 %r1, 0xffffffff, 2, 3; "
                   "madc.hi.u32 %r2, 0xffffffff, 2, 0; "
                   "mov.b64 %d9, {%r1, %r2};") == 0x200000001);
  }

  TEST_CASE("shifts clamp their amount") {
    CHECK(evaluate32("shl.b32 %r9, 1, 31;") == 0x80000000);
    CHECK(evaluate32("shl.b32 %r9, 1, 32;") == 0);
    CHECK(evaluate32("shr.u32 %r9, 0x80000000, 33;") == 0);
    CHECK(evaluate32("shr.s32 %r9, 0x80000000, 33;") == ~0u);
    CHECK(evaluate("shr.s64 %d9, 0x8000000000000000, 100;") == ~uint64_t(0));
    CHECK(evaluate32("shf.l.wrap.b32 %r9, 0x80000001, 0x00000001, 1;") == 3);
    CHECK(evaluate32("shf.r.wrap.b32 %r9, 0x80000001, 0x00000001, 33;") ==
          0xc0000000);
    CHECK(evaluate32("shf.r.clamp.b32 %r9, 5, 7, 40;") == 7);
  }

  TEST_CASE("bit fields") {
    CHECK(evaluate32("bfe.u32 %r9, 0xabcd1234, 8, 8;") == 0x12);
    CHECK(evaluate32("bfe.s32 %r9, 0x0000f000, 12, 4;") == ~0u);
    CHECK(evaluate32("bfe.s32 %r9, 0x80000000, 28, 16;") == 0xfffffff8);
    CHECK(evaluate32("bfe.u32 %r9, 1, 0, 0;") == 0);
    CHECK(evaluate32("bfi.b32 %r9, 0xf, 0, 4, 4;") == 0xf0);
    CHECK(evaluate32("bfi.b32 %r9, 0xff, 0x12345678, 28, 8;") == 0xf2345678);
    CHECK(evaluate32("popc.b32 %r9, 0xf0f0;") == 8);
    CHECK(evaluate32("clz.b32 %r9, 1;") == 31);
    CHECK(evaluate32("clz.b64 %r9, 0;") == 64);
    CHECK(evaluate32("brev.b32 %r9, 1;") == 0x80000000);
    CHECK(evaluate32("bfind.u32 %r9, 0;") == ~0u);
    CHECK(evaluate32("bfind.s32 %r9, -256;") == 7);
    CHECK(evaluate32("bfind.shiftamt.u32 %r9, 1;") == 31);
    CHECK(evaluate32("prmt.b32 %r9, 0x33221100, 0x77665544, 0x7531;") ==
          0x77553311);
    CHECK(evaluate32("prmt.b32 %r9, 0x80, 0, 0x8888;") == 0xffffffff);
    CHECK(evaluate32("szext.wrap.s32 %r9, 0xff, 8;") == ~0u);
    CHECK(evaluate32("bmsk.clamp.b32 %r9, 4, 8;") == 0xff0);
    CHECK(evaluate32("fns.b32 %r9, 0x50, 0, 2;") == 6);
  }

  TEST_CASE("lop3 computes each of its 256 functions") {
    for (unsigned table = 0; table < 256; table += 17) {
      uint32_t a = 0xf0f0f0f0, b = 0xcccccccc, c = 0xaaaaaaaa;
      uint32_t expected = 0;
      for (unsigned bit = 0; bit < 32; ++bit) {
        unsigned k = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
        expected |= (table >> k & 1) << bit;
      }
      CHECK(evaluate32("lop3.b32 %r9, 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, " +
                       std::to_string(table) + ";") == expected);
    }
  }

  TEST_CASE("byte dot products") {
    CHECK(evaluate32("dp4a.s32.s32 %r9, 0xff02ff02, 0x01010101, 10;") == 12);
    CHECK(evaluate32("dp4a.u32.u32 %r9, 0xff000000, 0x02000000, 1;") == 511);
    CHECK(evaluate32("dp2a.lo.s32.s32 %r9, 0xffff0002, 0x00000301, 0;") ==
          uint32_t(-1));
  }
}
