//===- LinearLayoutTest.cpp - Layouts and their properties ----------------===//
#include "dialect/tile/LinearLayout.h"

#include <doctest/doctest.h>

#include <bit>
#include <map>
#include <vector>

using namespace tandem::tile;

/// How often each element of the tile is held.
static std::map<Basis, int> holders(const LinearLayout &layout) {
  std::map<Basis, int> count;
  for (int warp = 0; warp < layout.numWarps(); ++warp)
    for (int lane = 0; lane < lanesPerWarp; ++lane)
      for (int64_t reg = 0; reg < layout.numRegisters(); ++reg)
        ++count[layout.coordinate(reg, lane, warp)];
  return count;
}

static const std::vector<LinearLayout> &samples() {
  static const std::vector<LinearLayout> layouts = {
      LinearLayout::blocked(1, 4096, 8, 4),
      LinearLayout::blocked(1, 1, 1, 1),
      LinearLayout::blocked(8, 128, 4, 8),
      LinearLayout::blocked(6, 80, 8, 2),
      LinearLayout::blocked(32, 256, 2, 8, 8, 2),
      LinearLayout::blocked(3, 7, 1, 4),
      LinearLayout::mmaAccumulator(64, 96, 2, 2),
      LinearLayout::mmaOperandA(LinearLayout::mmaAccumulator(64, 96, 2, 2), 48),
      LinearLayout::mmaOperandB(LinearLayout::mmaAccumulator(64, 96, 2, 2), 48),
      LinearLayout::fmaAccumulator(48, 32, 2, 1),
      LinearLayout::fmaOperandA(LinearLayout::fmaAccumulator(48, 32, 2, 1), 12),
      LinearLayout::fmaOperandB(LinearLayout::fmaAccumulator(48, 32, 2, 1), 12),
  };
  return layouts;
}

TEST_SUITE("layout") {
  TEST_CASE("every element has the same number of holders") {
    for (const LinearLayout &layout : samples()) {
      CAPTURE(layout.text());
      CHECK(layout.problem() == "");
      auto [rows, cols] = layout.shape();
      auto count = holders(layout);
      CHECK(int64_t(count.size()) == rows * cols);
      const int expected =
          int(layout.numRegisters() * layout.numThreads() / (rows * cols));
      for (auto [at, n] : count) {
        CHECK(n == expected);
        CHECK((at[0] < rows && at[1] < cols));
      }
      CHECK(expected == (1 << (std::popcount(layout.replicatedLaneBits()) +
                               std::popcount(layout.replicatedWarpBits()))));
    }
  }

  TEST_CASE("blocked deals columns to vector, lanes, warps, then repeats") {
    LinearLayout layout = LinearLayout::blocked(1, 4096, 8, 4);
    CHECK(layout.text() ==
          "register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], "
          "[0, 32], [0, 64], [0, 128]], warp = [[0, 256], [0, 512]], "
          "repeat = [1, 4]");
    CHECK(contiguousColumns(layout) == 8);
    CHECK(layout.shape() == std::array<int64_t, 2>{1, 4096});
  }

  TEST_CASE("lanes without columns take rows, then replicate") {
    LinearLayout layout = LinearLayout::blocked(6, 80, 8, 2);
    // 80 = 8 x 2 x 5: two lanes along columns, then 6 = 2 x 3 rows.
    CHECK(layout.lanes == Bases{{0, 8}, {1, 0}, {0, 0}, {0, 0}, {0, 0}});
    CHECK(layout.warps == Bases{{0, 0}});
    CHECK(layout.repeat == std::array<int32_t, 2>{3, 5});
    CHECK(layout.isReplicatedInLanes());
    CHECK(layout.isReplicatedInWarps());
    CHECK(layout.replicatedLaneBits() == 0b11100);
  }

  // PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type":
  // a_i: row = groupID for i in {0,1,4,5}, else groupID + 8;
  //      col = (threadID_in_group * 2) + (i & 1), + 8 for i >= 4
  // b_i: k = (threadID_in_group * 2) + (i & 1), + 8 for i >= 2; n = groupID
  // c_i: row = groupID for i < 2, else groupID + 8; col = 2 t + (i & 1)
  TEST_CASE("mma fragments are those of the PTX manual") {
    const LinearLayout c = LinearLayout::mmaAccumulator(16, 8, 1, 1);
    const LinearLayout a = LinearLayout::mmaOperandA(c, 16);
    const LinearLayout b = LinearLayout::mmaOperandB(c, 16);
    CHECK(a.numRegisters() == 8);
    CHECK(b.numRegisters() == 4);
    CHECK(c.numRegisters() == 4);
    for (int lane = 0; lane < lanesPerWarp; ++lane) {
      const int group = lane / 4, inGroup = lane % 4;
      for (int i = 0; i < 8; ++i) {
        const bool low = i == 0 || i == 1 || i == 4 || i == 5;
        CHECK(a.coordinate(i, lane, 0) ==
              Basis{low ? group : group + 8,
                    2 * inGroup + (i & 1) + (i >= 4 ? 8 : 0)});
      }
      for (int i = 0; i < 4; ++i) {
        CHECK(b.coordinate(i, lane, 0) ==
              Basis{group, 2 * inGroup + (i & 1) + (i >= 2 ? 8 : 0)});
        CHECK(c.coordinate(i, lane, 0) ==
              Basis{i < 2 ? group : group + 8, 2 * inGroup + (i & 1)});
      }
    }
    CHECK(c.isMmaAccumulator());
    CHECK(!a.isMmaAccumulator());
  }

  TEST_CASE("dropping columns keeps each thread's rows") {
    for (const LinearLayout &layout : samples()) {
      const LinearLayout rows = layout.dropColumns();
      CAPTURE(layout.text());
      CHECK(rows.problem() == "");
      CHECK(rows.shape()[0] == layout.shape()[0]);
      CHECK(rows.shape()[1] == 1);
      for (int warp = 0; warp < layout.numWarps(); ++warp)
        for (int lane : {0, 1, 7, 31})
          for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
            const int64_t projected = layout.projectRegister(reg, colDim);
            REQUIRE(projected < rows.numRegisters());
            CHECK(rows.coordinate(projected, lane, warp) ==
                  Basis{layout.coordinate(reg, lane, warp)[0], 0});
          }
    }
  }

  TEST_CASE("transposing twice changes nothing") {
    for (const LinearLayout &layout : samples()) {
      CHECK(layout.transpose().transpose() == layout);
      CHECK(layout.transpose().shape()[0] == layout.shape()[1]);
    }
  }

  TEST_CASE("rows of a warp are coalesced, columns are not") {
    const LinearLayout row = LinearLayout::blocked(1, 256, 8, 1);
    CHECK(sectorEfficiency(row, 2, 8) == 1.0);
    CHECK(sectorEfficiency(row.transpose(), 2, 1) < 0.1);
    CHECK(contiguousColumns(row.transpose()) == 1);
    // An accumulator's lane quad covers 8 f32 of a row: one whole sector.
    CHECK(sectorEfficiency(LinearLayout::mmaAccumulator(16, 8, 1, 1), 4, 2) ==
          1.0);
  }

  TEST_CASE("bank conflicts follow from the pitch") {
    const LinearLayout column = LinearLayout::blocked(32, 1, 1, 1);
    CHECK(bankConflicts(column, 4, 1, 32) == 32);
    CHECK(bankConflicts(column, 4, 1, 33) == 1);
    CHECK(bankConflicts(column, 4, 1, 36) == 4);
    const LinearLayout row = LinearLayout::blocked(1, 128, 4, 1);
    CHECK(bankConflicts(row, 4, 4, 128) == 1);
  }

  TEST_CASE("rank over F2") {
    CHECK(rankF2({}) == 0);
    CHECK(rankF2({1, 2, 3}) == 2);
    CHECK(rankF2({0, 5, 5}) == 1);
    CHECK(rankF2({1, 2, 4, uint64_t(1) << 63}) == 4);
  }

  TEST_CASE("fma operands meet in the accumulator's thread") {
    const LinearLayout acc = LinearLayout::fmaAccumulator(48, 32, 2, 1);
    const LinearLayout a = LinearLayout::fmaOperandA(acc, 12);
    CHECK(a.shape() == std::array<int64_t, 2>{48, 12});
    CHECK(LinearLayout::fmaOperandB(acc, 12).shape() ==
          std::array<int64_t, 2>{32, 12});
    // A thread's rows of A are its rows of the accumulator.
    for (int lane = 0; lane < lanesPerWarp; ++lane)
      CHECK(a.coordinate(0, lane, 1)[0] == acc.coordinate(0, lane, 1)[0]);
  }
}
