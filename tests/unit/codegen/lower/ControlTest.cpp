//===- ControlTest.cpp - Loops, branches, strides and error reports -------===//
#include "TileText.h"
#include "TwoDevices.h"

#include <cmath>

using namespace tandem;
using namespace tandem::test;
using tile::LinearLayout;

TEST_SUITE("tile kernels run alike") {
  TEST_CASE("a loop over columns carries an accumulator, a reduction in it") {
    const LinearLayout layout = LinearLayout::blocked(2, 128, 4, 4, 32, 2);
    // The reduction inside the loop reuses its shared memory every round.
    const std::string text = fill(
        R"(func.func @loop(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 4 : i32} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %step = arith.constant 128 : i64
  %r = tile.range %c0 : $I
  %s = tile.splat %n : i64 -> $I
  %o = arith.muli %r, %s : $I
  %zero = arith.constant dense<0.0> : $F
  %none = arith.constant dense<0.0> : $R
  %acc, %peak = scf.for %i = %c0 to %n step %step iter_args(%a = %zero, %p = %none) -> ($F, $R) : i64 {
    %v = tile.load %x rows(%o : $I) cols(%i, %n) pad(0.0 : f32) : $F
    %t = arith.addf %a, %v : $F
    %m = tile.reduce max %v : $F -> $R
    %q = arith.addf %p, %m : $R
    scf.yield %t, %q : $F, $R
  }
  %sum = tile.reduce sum %acc : $F -> $R
  %both = arith.addf %sum, %peak : $R
  tile.store %both, %y rows(%r : $I) cols(%c0, %c1) : $R
  return
})",
        {{"$I", tileOf("i64", layout.dropColumns())},
         {"$R", tileOf("f32", layout.dropColumns())},
         {"$F", tileOf("f32", layout)}});
    for (int64_t n : {1, 127, 128, 129, 1000}) {
      const std::vector<float> x = reals(size_t(2 * n), uint64_t(n));
      auto outputs =
          runEverywhere("loop", text, 4, {in(bytesOf(x)), out(8), number(n)});
      for (int row = 0; row < 2; ++row) {
        double expected = 0, magnitude = 0;
        for (int64_t i = 0; i < n; ++i) {
          expected += x[size_t(row * n + i)];
          magnitude += std::abs(x[size_t(row * n + i)]);
        }
        for (int64_t i = 0; i < n; i += 128) {
          float peak = i + 128 > n ? 0 : -INFINITY; // the tail is padded with 0
          for (int64_t j = i; j < std::min(n, i + 128); ++j)
            peak = std::max(peak, x[size_t(row * n + j)]);
          expected += peak;
          magnitude += std::abs(peak);
        }
        // A column is added once a round and then reduced; a peak is added once
        // a round; both meet in the last addition.
        const double rounds = static_cast<double>((n + 127) / 128);
        CHECK(std::abs(valuesOf<float>(outputs[0])[row] - expected) <=
              sumBound(rounds + reductionDepth(layout) + 1, magnitude));
      }
    }
  }

  TEST_CASE("a loop that never runs gives its initial values") {
    const LinearLayout layout = LinearLayout::blocked(1, 32, 1, 1);
    const std::string text = fill(
        R"(func.func @loop(%y: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %two = arith.constant dense<2.0> : $F
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%a = %two) -> ($F) : i64 {
    %b = arith.mulf %a, %a : $F
    scf.yield %b : $F
  }
  %some = arith.cmpi sgt, %n, %c1 : i64
  %r = scf.if %some -> $F {
    %half = arith.constant dense<0.5> : $F
    %b = arith.mulf %a, %half : $F
    scf.yield %b : $F
  } else {
    scf.yield %a : $F
  }
  tile.store %r, %y cols(%c0, %c32) : $F
  return
})",
        {{"$F", tileOf("f32", layout)}});
    for (auto [n, expected] :
         {std::pair<int64_t, float>{0, 2}, {-3, 2}, {1, 4}, {2, 8}}) {
      auto outputs = runEverywhere("loop", text, 1, {out(128), number(n)});
      CHECK(valuesOf<float>(outputs[0])[31] == expected);
    }
  }

  TEST_CASE("columns with a stride, transposed") {
    const LinearLayout layout = LinearLayout::blocked(8, 16, 1, 2);
    const std::string text = fill(
        R"(func.func @t(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %sx: i64, %sy: i64)
    attributes {tile.warps = 2 : i32} {
  %c0 = arith.constant 0 : i64
  %c7 = arith.constant 7 : i64
  %c13 = arith.constant 13 : i64
  %r = tile.range %c0 : $RF
  %v = tile.load %x rows(%r : $RF) cols(%c0, %c13, %sx) pad(0.0 : f16) : $F
  %t = tile.transpose %v : $F -> $T
  %q = tile.range %c0 : $RT
  %s = tile.splat %sy : i64 -> $RT
  %o = arith.muli %q, %s : $RT
  %m = arith.constant dense<true> : $M
  tile.store %t, %y rows(%o : $RT) mask(%m : $M) cols(%c0, %c7) : $T
  return
})",
        {{"$RF", tileOf("i64", layout.dropColumns())},
         {"$RT", tileOf("i64", layout.transpose().dropColumns())},
         {"$M", tileOf("i1", layout.transpose().dropColumns())},
         {"$F", tileOf("f16", layout)},
         {"$T", tileOf("f16", layout.transpose())}});
    std::vector<uint16_t> x(200);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = uint16_t(i);
    auto outputs = runEverywhere(
        "t", text, 2, {in(bytesOf(x)), out(2 * 16 * 9), number(11), number(9)});
    const auto y = valuesOf<uint16_t>(outputs[0]);
    for (int row = 0; row < 13; ++row)
      for (int column = 0; column < 7; ++column)
        CHECK(y[size_t(row * 9 + column)] == column + row * 11);
    CHECK(y[7] == 0xAAAA);
  }

  TEST_CASE("the least error wins whatever the order of threads") {
    const LinearLayout layout =
        LinearLayout::blocked(64, 1, 1, 4).dropColumns();
    const std::string text = fill(
        R"(func.func @e(%slot: !llvm.ptr<1>, %x: !llvm.ptr<1>)
    attributes {tile.warps = 4 : i32} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = tile.range %c0 : $I
  %v = tile.load %x rows(%r : $I) cols(%c0, %c1) pad(0 : i8) : $X
  %zero = arith.constant dense<0> : $X
  %bad = arith.cmpi slt, %v, %zero : $X
  tile.report_error %slot, %bad, %r step 5 : $B, $I
  return
})",
        {{"$I", tileOf("i64", layout)},
         {"$X", tileOf("i8", layout)},
         {"$B", tileOf("i1", layout)}});
    std::vector<int8_t> x(64, 1);
    x[37] = x[40] = x[63] = -1;
    Kernel kernel =
        kernelOf("e", text, "sm_90a", 4, {out(8), in(bytesOf(x))}, 1);
    kernel.launch.operands.erase(kernel.launch.operands.begin());
    kernel.launch.args[0].kind = KernelArg::Kind::ErrorSlot;
    kernel.launch.args[1].operand = 0;
    for (bool onTile : {true, false}) {
      CAPTURE(kernel.ptx);
      std::unique_ptr<Device> device =
          onTile ? makeTileDevice() : makeEmulator();
      Result<uint64_t> address = device->allocate(64, "x");
      REQUIRE(bool(address));
      REQUIRE(bool(device->write(*address, x.data(), 64)));
      auto loaded = device->load(kernel);
      REQUIRE_MESSAGE(bool(loaded), (loaded ? "" : loaded.error().text()));
      auto report = device->launch(
          **loaded, {{contiguous(DType::U8, {64}), *address}}, {});
      REQUIRE_MESSAGE(bool(report), (report ? "" : report.error().text()));
      CHECK(report->findings.empty());
      REQUIRE(report->indexErrors.size() == 1);
      CHECK(report->indexErrors[0].step == 5);
      CHECK(report->indexErrors[0].row == 37);
    }
  }

  TEST_CASE("approximations are one instruction each, nearest on both") {
    const LinearLayout layout = LinearLayout::blocked(1, 256, 1, 1);
    for (std::string kind : {"ex2", "lg2", "rcp", "rsqrt", "tanh"}) {
      const std::string text = fill(
          R"(func.func @a(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %v = tile.load %x cols(%c0, %n) pad(0.0 : f32) : $F
  %w = tile.approx $K %v : $F
  %s = tile.sqrt %w : $F
  %z = arith.addf %w, %s : $F
  tile.store %z, %y cols(%c0, %n) : $F
  return
})",
          {{"$K", kind}, {"$F", tileOf("f32", layout)}});
      std::vector<float> x = reals(256, 4);
      x[0] = 0;
      x[1] = -0.0f;
      x[2] = INFINITY;
      x[3] = 1e-40f;
      x[4] = -130;
      runEverywhere("a", text, 1, {in(bytesOf(x)), out(1024), number(256)});
    }
  }
}
