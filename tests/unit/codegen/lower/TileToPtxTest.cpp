//===- TileToPtxTest.cpp - Tile kernels become clean PTX ------------------===//
#include "codegen/lower/TileToPtx.h"
#include "PtxLint.h"
#include "TileText.h"

#include <doctest/doctest.h>

#include <thread>

using namespace tandem;
using namespace tandem::test;
using tile::LinearLayout;

static std::string ptxOf(const std::string &kernel, const std::string &target) {
  Result<PtxOutput> output = tileTextToPtx(kernel, "test.mlir", target);
  REQUIRE_MESSAGE(output, (output ? "" : output.error().text()));
  return output->ptx;
}

static std::string errorOf(const std::string &kernel,
                           const std::string &target) {
  Result<PtxOutput> output = tileTextToPtx(kernel, "test.mlir", target);
  return output ? "" : output.error().text();
}

static void checkPtx(const std::string &kernel, bool mayNotSpill = true) {
  for (std::string target : {"sm_80", "sm_90a"}) {
    const std::string ptx = ptxOf(kernel, target);
    CAPTURE(target);
    CAPTURE(kernel);
    CHECK(firstBadLine(ptx) == "");
    const std::string said = assemble(ptx, target);
    CAPTURE(said);
    CHECK(said.rfind("failed", 0) != 0);
    if (!said.empty() && mayNotSpill)
      CHECK(said.find("0 bytes stack frame, 0 bytes spill stores, 0 bytes "
                      "spill loads") != std::string::npos);
  }
}

TEST_SUITE("tile to PTX") {
  TEST_CASE("softmax rows assemble without spills for 1 to 8 warps") {
    for (int warps : {1, 2, 4, 8})
      checkPtx(softmaxKernel(LinearLayout::blocked(1, 1024, 8, warps), 8));
    checkPtx(softmaxKernel(LinearLayout::blocked(8, 64, 2, 4, 8, 1), 2));
    checkPtx(softmaxKernel(LinearLayout::blocked(4, 80, 1, 4), 1));
  }

  TEST_CASE("layout conversions assemble") {
    checkPtx(convertKernel(LinearLayout::blocked(32, 64, 8, 4),
                           LinearLayout::mmaAccumulator(32, 64, 2, 2), "f32",
                           "0.0"));
    checkPtx(convertKernel(LinearLayout::blocked(16, 32, 1, 1),
                           LinearLayout::blocked(16, 32, 4, 1), "i8", "0"));
  }

  TEST_CASE("dot uses the tensor core for 16-bit operands and fma for f32") {
    const LinearLayout mma = LinearLayout::mmaAccumulator(32, 16, 2, 1);
    for (std::string element : {"f16", "bf16"}) {
      const std::string kernel =
          dotKernel(mma, LinearLayout::mmaOperandA(mma, 32),
                    LinearLayout::mmaOperandB(mma, 32), element);
      checkPtx(kernel);
      CHECK(ptxOf(kernel, "sm_80")
                .find("mma.sync.aligned.m16n8k16.row.col.f32." + element + "." +
                      element + ".f32") != std::string::npos);
    }
    const LinearLayout fma = LinearLayout::fmaAccumulator(16, 32, 2, 1);
    const std::string kernel =
        dotKernel(fma, LinearLayout::fmaOperandA(fma, 8),
                  LinearLayout::fmaOperandB(fma, 8), "f32");
    checkPtx(kernel);
    CHECK(ptxOf(kernel, "sm_80").find("fma.rn.f32") != std::string::npos);
  }

  TEST_CASE("an unknown target is named") {
    CHECK(errorOf("module {}", "sm_70") ==
          "target: 'sm_70' is unknown, expected sm_80 or sm_90a");
  }

  TEST_CASE("text that does not parse says where") {
    CHECK(errorOf("func.func @k(", "sm_80").rfind("test.mlir:1:", 0) == 0);
  }

  TEST_CASE("float8 is refused below sm_89") {
    const LinearLayout layout = LinearLayout::blocked(1, 32, 1, 1);
    const std::string kernel = fill(
        R"(func.func @k(%x: f32) attributes {tile.warps = 1 : i32} {
  %t = tile.splat %x : f32 -> $F
  %y = arith.truncf %t : $F to $Q
  return
})",
        {{"$F", tileOf("f32", layout)}, {"$Q", tileOf("f8E4M3FN", layout)}});
    CHECK(errorOf(kernel, "sm_80") ==
          "test.mlir:3:8: 'arith.truncf' op float8 conversions need sm_89 or "
          "newer, the target is sm_80");
    CHECK(errorOf(kernel, "sm_90a") == "");
  }

  TEST_CASE("arithmetic on 16-bit floats is refused") {
    const LinearLayout layout = LinearLayout::blocked(1, 32, 1, 1);
    const std::string kernel = fill(
        R"(func.func @k(%x: f16) attributes {tile.warps = 1 : i32} {
  %t = tile.splat %x : f16 -> $H
  %y = arith.addf %t, %t : $H
  return
})",
        {{"$H", tileOf("f16", layout)}});
    CHECK(errorOf(kernel, "sm_90a") ==
          "test.mlir:3:8: 'arith.addf' op computes in f32, got 'f16'; widen it "
          "with arith.extf");
  }

  TEST_CASE("a tile that does not fit shared memory is refused") {
    const std::string kernel = convertKernel(
        LinearLayout::blocked(128, 128, 4, 4),
        LinearLayout::mmaAccumulator(128, 128, 2, 2), "f32", "0.0");
    CHECK(errorOf(kernel, "sm_90a").find("but a CTA has 49152") !=
          std::string::npos);
  }

  TEST_CASE("threads compile at once and agree") {
    const std::string kernel =
        softmaxKernel(LinearLayout::blocked(1, 512, 4, 4), 4);
    const std::string expected = ptxOf(kernel, "sm_80");
    std::vector<std::string> got(4);
    std::vector<std::thread> threads;
    for (std::string &ptx : got)
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i)
          if (auto output = tileTextToPtx(kernel, "test.mlir", "sm_80"))
            ptx = output->ptx;
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::string &ptx : got)
      CHECK(ptx == expected);
  }

  TEST_CASE("stages are kept when asked for") {
    const std::string kernel =
        softmaxKernel(LinearLayout::blocked(1, 64, 2, 1), 2);
    Result<PtxOutput> output =
        tileTextToPtx(kernel, "test.mlir", "sm_90a", {.keepStages = true});
    REQUIRE(bool(output));
    CHECK(output->nvvm.find("llvm.func @softmax") != std::string::npos);
    CHECK(output->llvm.find("define ptx_kernel void @softmax") !=
          std::string::npos);
    CHECK(output->timings.size() == 4);
  }

  TEST_CASE("one text gives one PTX") {
    const std::string kernel =
        softmaxKernel(LinearLayout::blocked(2, 256, 4, 2), 4);
    CHECK(ptxOf(kernel, "sm_90a") == ptxOf(kernel, "sm_90a"));
  }
}
