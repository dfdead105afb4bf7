//===- WarpTest.cpp - Lanes together: shuffles, votes, matrices -----------===//
#include "tests/unit/device/emulator/Harness.h"

#include <cmath>
#include <functional>

using namespace tandem;
using namespace tandem::test;

/// Runs \p body on a warp with %r1 = lane; stores %r9 of each lane.
static std::vector<uint32_t> onWarp(const std::string &body,
                                    const std::string &variables = "",
                                    std::vector<uint8_t> in = {0}) {
  Case c;
  c.ptx = kernelWith("mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 4, %d1;\n" +
                         body + "\nst.global.u32 [%d3], %r9;",
                     variables);
  c.block = {32, 1, 1};
  c.buffers = {std::vector<uint8_t>(128), std::move(in)};
  runClean(c);
  return valuesOf<uint32_t>(c.buffers[0]);
}
static std::vector<uint32_t>
perLane(const std::function<uint32_t(uint32_t)> &f) {
  std::vector<uint32_t> values;
  for (uint32_t l = 0; l < 32; ++l)
    values.push_back(f(l));
  return values;
}

TEST_SUITE("emulator warp") {
  TEST_CASE("shuffles clamp at their segment") {
    CHECK(onWarp("shfl.sync.down.b32 %r9, %r1, 3, 31, -1;") ==
          perLane([](uint32_t l) { return l + 3 < 32 ? l + 3 : l; }));
    CHECK(onWarp("shfl.sync.up.b32 %r9, %r1, 5, 0, -1;") ==
          perLane([](uint32_t l) { return l >= 5 ? l - 5 : l; }));
    CHECK(onWarp("shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;") ==
          perLane([](uint32_t l) { return l ^ 1; }));
    // Segments of 8: c = 0x181f.
    CHECK(onWarp("shfl.sync.idx.b32 %r9, %r1, 2, 0x181f, -1;") ==
          perLane([](uint32_t l) { return (l & 24) + 2; }));
    CHECK(onWarp("shfl.sync.down.b32 %r2|%p1, %r1, 6, 0x181f, -1; "
                 "selp.u32 %r9, 1, 0, %p1;") ==
          perLane([](uint32_t l) { return uint32_t(l % 8 < 2); }));
  }

  TEST_CASE("votes, matches and reductions") {
    CHECK(onWarp("setp.lt.u32 %p1, %r1, 4; "
                 "vote.sync.ballot.b32 %r9, %p1, -1;") ==
          perLane([](uint32_t) { return 15u; }));
    CHECK(onWarp("setp.lt.u32 %p1, %r1, 4; vote.sync.all.pred %p2, %p1, -1; "
                 "vote.sync.any.pred %p3, !%p1, -1; selp.u32 %r2, 1, 0, %p2; "
                 "selp.u32 %r9, 2, %r2, %p3;") ==
          perLane([](uint32_t) { return 2u; }));
    CHECK(onWarp("and.b32 %r2, %r1, 1; match.any.sync.b32 %r9, %r2, -1;") ==
          perLane([](uint32_t l) { return 0x55555555u << (l & 1); }));
    CHECK(onWarp("match.all.sync.b32 %r9|%p1, 7, -1;") ==
          perLane([](uint32_t) { return ~0u; }));
    CHECK(onWarp("redux.sync.add.u32 %r9, %r1, -1;") ==
          perLane([](uint32_t) { return 496u; }));
    CHECK(onWarp("sub.s32 %r2, 3, %r1; redux.sync.min.s32 %r9, %r2, -1;") ==
          perLane([](uint32_t) { return uint32_t(-28); }));
    CHECK(onWarp("elect.sync %r2|%p1, -1; selp.u32 %r9, 1, 0, %p1;") ==
          perLane([](uint32_t l) { return uint32_t(l == 0); }));
  }

  TEST_CASE("a split warp meets again after the branch") {
    // Lanes take different paths and trip counts; then all shuffle.
    CHECK(onWarp("mov.u32 %r9, 0; and.b32 %r2, %r1, 3;\n"
                 "setp.eq.u32 %p1, %r2, 0; @%p1 bra J;\n"
                 "L: add.u32 %r9, %r9, 10; sub.u32 %r2, %r2, 1; "
                 "setp.ne.u32 %p1, %r2, 0; @%p1 bra L;\n"
                 "J: activemask.b32 %r3; add.u32 %r9, %r9, %r1; "
                 "shfl.sync.bfly.b32 %r9, %r9, 0, 31, -1; "
                 "setp.ne.u32 %p1, %r3, -1; @%p1 mov.u32 %r9, 999;") ==
          perLane([](uint32_t l) { return (l & 3) * 10 + l; }));
  }

  TEST_CASE("a jump table sends each lane its way") {
    CHECK(onWarp("and.b32 %r2, %r1, 3; brx.idx %r2, T;\n"
                 "A: mov.u32 %r9, 10; bra.uni J;\nB: mov.u32 %r9, 20; "
                 "bra.uni J;\nC: mov.u32 %r9, 30;\n"
                 "J: add.u32 %r9, %r9, %r2;\n"
                 "bra.uni E; T: .branchtargets A, B, C, A;\nE:") ==
          perLane([](uint32_t l) {
            return uint32_t(l % 4 == 1 ? 21 : l % 4 == 2 ? 32 : 10 + l % 4);
          }));
  }

  TEST_CASE("lanes with different masks shuffle in parties") {
    CHECK(onWarp("setp.lt.u32 %p1, %r1, 16; selp.b32 %r2, 0xffff, 0xffff0000, "
                 "%p1; redux.sync.add.u32 %r9, %r1, %r2;") ==
          perLane([](uint32_t l) { return l < 16 ? 120u : 376u; }));
  }

  TEST_CASE("atomics return the old value in lane order") {
    CHECK(onWarp("mov.u32 %r2, s; setp.eq.u32 %p1, %r1, 0; "
                 "@%p1 st.shared.u32 [%r2], 100; bar.warp.sync -1; "
                 "atom.shared.add.u32 %r9, [%r2], 2;",
                 ".shared .align 4 .b8 s[4];\n") ==
          perLane([](uint32_t l) { return 100 + 2 * l; }));
    CHECK(onWarp("mov.u32 %r2, s; setp.eq.u32 %p1, %r1, 0; "
                 "@%p1 st.shared.u32 [%r2], 5; bar.warp.sync -1; "
                 "atom.shared.inc.u32 %r9, [%r2], 6;",
                 ".shared .align 4 .b8 s[4];\n") ==
          perLane([](uint32_t l) { return (5 + l) % 7; }));
    CHECK(onWarp("mov.u32 %r2, s; setp.eq.u32 %p1, %r1, 0; "
                 "@%p1 st.shared.f32 [%r2], 0f3F800000; bar.warp.sync -1; "
                 "atom.shared.add.f32 %f1, [%r2], 0f3F800000; "
                 "cvt.rzi.u32.f32 %r9, %f1;",
                 ".shared .align 4 .b8 s[4];\n") ==
          perLane([](uint32_t l) { return 1 + l; }));
    CHECK(onWarp("mov.u32 %r2, s; setp.eq.u32 %p1, %r1, 0; "
                 "@%p1 st.shared.u32 [%r2], 3; bar.warp.sync -1; "
                 "atom.shared.cas.b32 %r9, [%r2], %r1, 77;",
                 ".shared .align 4 .b8 s[4];\n") ==
          perLane([](uint32_t l) { return l <= 3 ? 3u : 77u; }));
  }

  TEST_CASE("ldmatrix gives each lane its elements, transposed or not") {
    // s[row][column] of 8 x 8 halves is 8 row + column.
    std::string fill = "mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2; "
                       "mul.lo.u32 %r4, %r1, 2; add.u32 %r5, %r4, 1; "
                       "shl.b32 %r5, %r5, 16; or.b32 %r4, %r4, %r5; "
                       "st.shared.u32 [%r3], %r4; bar.warp.sync -1;\n"
                       "and.b32 %r6, %r1, 7; mad.lo.u32 %r6, %r6, 16, %r2;\n";
    std::string s = ".shared .align 16 .b8 s[128];\n";
    CHECK(onWarp(fill + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, "
                        "[%r6];",
                 s) == perLane([](uint32_t l) {
            uint32_t first = 8 * (l / 4) + 2 * (l % 4);
            return first | (first + 1) << 16;
          }));
    CHECK(onWarp(fill + "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 "
                        "{%r9}, [%r6];",
                 s) == perLane([](uint32_t l) {
            uint32_t first = 8 * (2 * (l % 4)) + l / 4;
            return first | (first + 8) << 16;
          }));
    // stmatrix is its inverse.
    CHECK(onWarp(fill + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, "
                        "[%r6]; bar.warp.sync -1;\n"
                        "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r6], "
                        "{%r7}; bar.warp.sync -1; ld.shared.u32 %r9, [%r3];",
                 s) == perLane([](uint32_t l) {
            uint32_t row = l / 4, column = 2 * (l % 4);
            return (8 * column + row) | (8 * (column + 1) + row) << 16;
          }));
  }
}

// mma: operands come from memory in fragment order, so that the layout is
// checked against the definition below and not against itself.
namespace {
struct Fragments {
  std::vector<uint32_t> a, b;
  std::vector<float> c;
};
} // namespace

static std::vector<float> runMma(const std::string &type, const Fragments &in) {
  Case c;
  c.ptx = kernelWith(
      "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 16, %d1;\n"
      "mad.wide.u32 %d4, %r1, 40, %d2;\n"
      "ld.global.v2.u32 {%r2,%r3}, [%d4]; ld.global.v2.u32 {%r4,%r5}, [%d4+8];"
      "ld.global.v2.u32 {%r6,%r7}, [%d4+16];\n"
      "ld.global.v2.f32 {%f1,%f2}, [%d4+24]; "
      "ld.global.v2.f32 {%f3,%f4}, [%d4+32];\n"
      "mma.sync.aligned.m16n8k16.row.col.f32." +
      type + "." + type +
      ".f32 {%f1,%f2,%f3,%f4}, {%r2,%r3,%r4,%r5}, {%r6,%r7}, "
      "{%f1,%f2,%f3,%f4};\nst.global.v4.f32 [%d3], {%f1,%f2,%f3,%f4};");
  std::vector<uint32_t> words;
  for (size_t l = 0; l < 32; ++l) {
    for (size_t i = 0; i < 4; ++i)
      words.push_back(in.a[4 * l + i]);
    for (size_t i = 0; i < 2; ++i)
      words.push_back(in.b[2 * l + i]);
    for (size_t i = 0; i < 4; ++i)
      words.push_back(std::bit_cast<uint32_t>(in.c[4 * l + i]));
  }
  c.block = {32, 1, 1};
  c.buffers = {std::vector<uint8_t>(512), bytesOf(words)};
  runClean(c);
  return valuesOf<float>(c.buffers[0]);
}

/// bf16 matrices a[16][16], b[16][8], c[16][8] to fragments.
static Fragments fragmentsOf(const std::function<float(int, int)> &a,
                             const std::function<float(int, int)> &b,
                             const std::function<float(int, int)> &c) {
  auto pair = [](float low, float high) {
    return std::bit_cast<uint32_t>(low) >> 16 |
           (std::bit_cast<uint32_t>(high) & 0xffff0000);
  };
  Fragments f;
  for (int l = 0; l < 32; ++l) {
    int g = l / 4, t = 2 * (l % 4);
    for (int i = 0; i < 4; ++i) {
      int row = g + 8 * (i & 1), k = t + 8 * (i >> 1);
      f.a.push_back(pair(a(row, k), a(row, k + 1)));
    }
    for (int i = 0; i < 2; ++i)
      f.b.push_back(pair(b(t + 8 * i, g), b(t + 8 * i + 1, g)));
    for (int i = 0; i < 4; ++i)
      f.c.push_back(c(g + 8 * (i / 2), t + i % 2));
  }
  return f;
}

TEST_SUITE("emulator tensor core") {
  TEST_CASE("integers multiply exactly, and fragments lie as PTX says") {
    auto a = [](int i, int k) { return float((i * 7 + k * 3) % 13 - 6); };
    auto b = [](int k, int j) { return float((k * 5 + j * 11) % 17 - 8); };
    auto c = [](int i, int j) { return float(i * 8 + j); };
    auto d = runMma("bf16", fragmentsOf(a, b, c));
    for (int l = 0; l < 32; ++l)
      for (int i = 0; i < 4; ++i) {
        int row = l / 4 + 8 * (i / 2), column = 2 * (l % 4) + i % 2;
        float sum = c(row, column);
        for (int k = 0; k < 16; ++k)
          sum += a(row, k) * b(k, column);
        REQUIRE(d[static_cast<size_t>(4 * l + i)] == sum);
      }
  }

  TEST_CASE("addends keep 25 fraction bits below the largest") {
    auto zero = [](int, int) { return 0.0f; };
    auto one = [](int, int) { return 1.0f; };
    // 1 + 2^-25 - 1: kept, because it is one unit of the sum.
    auto kept = [](int, int k) {
      return k == 0 ? 1.0f : k == 1 ? 0x1p-25f : k == 2 ? -1.0f : 0.0f;
    };
    CHECK(runMma("bf16", fragmentsOf(kept, one, zero))[0] == 0x1p-25f);
    auto lost = [](int, int k) {
      return k == 0 ? 1.0f : k == 1 ? 0x1p-26f : k == 2 ? -1.0f : 0.0f;
    };
    CHECK(runMma("bf16", fragmentsOf(lost, one, zero))[0] == 0.0f);
    // The result is truncated, not rounded: 1 + 2^-24 + 2^-25 stays 1.
    auto truncated = [](int, int k) {
      return k == 0 ? 1.0f : k == 1 ? 0x1p-24f : k == 2 ? 0x1p-25f : 0.0f;
    };
    CHECK(runMma("bf16", fragmentsOf(truncated, one, zero))[0] == 1.0f);
    // The exponent of a product is not renormalised: 1.5 * 1.5 has E = 0, so
    // 2^-25 survives beside it.
    auto product = [](int, int k) {
      return k == 0 ? 1.5f : k == 1 ? 0x1p-25f : k == 2 ? -1.5f : 0.0f;
    };
    auto factor = [](int k, int) { return k == 1 ? 1.0f : 1.5f; };
    CHECK(runMma("bf16", fragmentsOf(product, factor, zero))[0] == 0x1p-25f);
    // The accumulator takes part: it can push products out.
    auto big = [](int, int) { return 0x1p26f; };
    auto small = [](int, int k) { return k < 2 ? 0.5f : 0.0f; };
    CHECK(runMma("bf16", fragmentsOf(small, one, big))[0] == 0x1p26f);
  }

  TEST_CASE("infinities and NaN come out as the hardware writes them") {
    auto one = [](int, int) { return 1.0f; };
    auto zero = [](int, int) { return 0.0f; };
    auto infinite = [](int i, int k) {
      return i == 0 && k == 3 ? INFINITY : 1.0f;
    };
    auto d = runMma("bf16", fragmentsOf(infinite, one, zero));
    CHECK(d[0] == INFINITY);
    CHECK(d[2] == 16.0f);
    auto nan = runMma("bf16", fragmentsOf(infinite, zero, zero));
    CHECK(std::bit_cast<uint32_t>(nan[0]) == 0x7fffffff);
    CHECK(nan[2] == 0.0f);
  }
}
