//===- LayoutFactories.cpp - Layouts that kernels use ---------------------===//
#include "dialect/tile/LinearLayout.h"

#include <algorithm>
#include <bit>
#include <cassert>

using namespace tandem::tile;

static int log2Exact(int64_t value) {
  assert(value > 0 && (value & (value - 1)) == 0 && "a power of two");
  return std::countr_zero(uint64_t(value));
}

/// The largest power of two that divides \p value.
static int64_t powerOfTwoPart(int64_t value) { return value & -value; }

namespace {
/// Deals bits to a dim from its lowest coordinate bit up.
struct Dealer {
  int dim;
  int64_t left; // the power-of-two part that has no basis yet
  int64_t next = 1;

  bool canDeal() const { return left > 1; }
  Basis deal() {
    Basis basis = {0, 0};
    basis[dim] = int32_t(next);
    next *= 2;
    left /= 2;
    return basis;
  }
};
} // namespace

LinearLayout LinearLayout::blocked(int64_t rows, int64_t cols, int vector,
                                   int warps, int maxColumnLanes,
                                   int maxColumnWarps) {
  assert(rows >= 1 && cols >= 1 && cols % vector == 0);
  LinearLayout layout;
  Dealer columns = {colDim, powerOfTwoPart(cols)};
  Dealer along = {rowDim, powerOfTwoPart(rows)};
  for (int bit = 0; bit < log2Exact(vector); ++bit)
    layout.registers.push_back(columns.deal());
  auto dealThreads = [&](Bases &bases, int count, int most) {
    for (int used = 1; used < count; used *= 2) {
      if (used < most && columns.canDeal())
        bases.push_back(columns.deal());
      else if (along.canDeal())
        bases.push_back(along.deal());
      else
        bases.push_back({0, 0});
    }
  };
  dealThreads(layout.lanes, lanesPerWarp, maxColumnLanes);
  dealThreads(layout.warps, warps, maxColumnWarps);
  layout.repeat = {int32_t(rows / along.next), int32_t(cols / columns.next)};
  return layout;
}

/// Lane bases of every fragment of mma.m16n8k16: groupID = lane / 4 selects the
/// row, lane % 4 a pair of columns.
static Bases mmaLanes() { return {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}; }

LinearLayout LinearLayout::mmaAccumulator(int64_t m, int64_t n, int warpsM,
                                          int warpsN) {
  assert(m % (16 * warpsM) == 0 && n % (8 * warpsN) == 0);
  LinearLayout layout;
  layout.registers = {{0, 1}, {8, 0}};
  layout.lanes = mmaLanes();
  for (int w = 1; w < warpsN; w *= 2)
    layout.warps.push_back({0, 8 * w});
  for (int w = 1; w < warpsM; w *= 2)
    layout.warps.push_back({16 * w, 0});
  layout.repeat = {int32_t(m / (16 * warpsM)), int32_t(n / (8 * warpsN))};
  return layout;
}

bool LinearLayout::isMmaAccumulator() const {
  return registers == Bases{{0, 1}, {8, 0}} && lanes == mmaLanes() &&
         isAxisAligned() && problem().empty();
}

LinearLayout LinearLayout::mmaOperandA(const LinearLayout &accumulator,
                                       int64_t k) {
  assert(k % 16 == 0);
  LinearLayout layout;
  layout.registers = {{0, 1}, {8, 0}, {0, 8}};
  layout.lanes = mmaLanes();
  layout.warps = accumulator.dropColumns().warps;
  layout.repeat = {accumulator.repeat[0], int32_t(k / 16)};
  return layout;
}

LinearLayout LinearLayout::mmaOperandB(const LinearLayout &accumulator,
                                       int64_t k) {
  assert(k % 16 == 0);
  LinearLayout layout;
  layout.registers = {{0, 1}, {0, 8}};
  layout.lanes = mmaLanes();
  layout.warps = accumulator.transpose().dropColumns().warps;
  layout.repeat = {accumulator.repeat[1], int32_t(k / 16)};
  return layout;
}

/// The register bits along \p dim, in their order.
static std::vector<int32_t> registersAlong(const LinearLayout &layout,
                                           int dim) {
  std::vector<int32_t> along;
  for (const Basis &basis : layout.registers)
    if (basis[dim])
      along.push_back(basis[dim]);
  return along;
}

std::string LinearLayout::mmaProblem(const LinearLayout &a,
                                     const LinearLayout &b,
                                     const LinearLayout &acc, int groups) {
  for (const LinearLayout *layout : {&a, &b, &acc}) {
    if (!layout->isReshapable() || !layout->isAxisAligned())
      return "a layout repeats or has a basis along both dims";
    for (int bit = 0; bit < 5; ++bit)
      if (layout->lanes[bit][bit < 2 ? rowDim : colDim])
        return "lane bits 0 and 1 go along the columns, the others along the "
               "rows";
  }
  const std::vector<int32_t> overK = registersAlong(a, colDim);
  if (overK.size() < 2 || overK != registersAlong(b, colDim) ||
      a.lanes[0] != b.lanes[0] || a.lanes[1] != b.lanes[1])
    return "operands have the same k in the same lane and register";
  for (int bit : {2, 3, 4})
    if (acc.lanes[bit] != a.lanes[bit])
      return "lanes hold other rows of the accumulator than of a";
  std::vector<int32_t> rows = registersAlong(a, rowDim);
  std::vector<int32_t> columns = registersAlong(b, rowDim);
  columns.insert(columns.begin(), b.lanes[2][rowDim]);
  if (acc.registers.empty() || acc.registers[0] != Basis{0, columns[0]} ||
      acc.lanes[0] != Basis{0, b.lanes[3][rowDim]} ||
      acc.lanes[1] != Basis{0, b.lanes[4][rowDim]})
    return "lanes hold other columns of the accumulator than rows of b";
  if (!rows.empty() && (acc.registers.size() < 2 || !acc.registers[1][rowDim]))
    return "the accumulator's second register bit is a row";
  std::vector<int32_t> accRows = registersAlong(acc, rowDim);
  std::vector<int32_t> accColumns = registersAlong(acc, colDim);
  for (std::vector<int32_t> *bits : {&rows, &columns, &accRows, &accColumns})
    std::sort(bits->begin(), bits->end());
  if (rows != accRows || columns != accColumns)
    return "registers hold other elements of the accumulator than the operands "
           "make";
  const int64_t depth = b.shape()[colDim];
  if (groups > 1 && acc.numWarps() != groups)
    return "each group is of one warp";
  for (size_t bit = 0; bit < acc.warps.size(); ++bit) {
    const Basis at = acc.warps[bit];
    const int32_t group = groups > 1 ? 1 << bit : 0;
    if (group && at != Basis{0, group})
      return "the accumulator's columns count groups first";
    if (a.warps[bit] != Basis{at[rowDim], int32_t(group * depth)} ||
        b.warps[bit] != Basis{at[colDim], 0})
      return "warps hold other elements of the accumulator than the operands "
             "make";
  }
  return "";
}

LinearLayout LinearLayout::fmaAccumulator(int64_t m, int64_t n, int warpsM,
                                          int warpsN, int threadN) {
  LinearLayout layout;
  Dealer columns = {colDim, powerOfTwoPart(n)};
  Dealer rows = {rowDim, powerOfTwoPart(m)};
  auto deal = [](Dealer &dealer, Bases &bases, int count) {
    for (int used = 1; used < count; used *= 2)
      bases.push_back(dealer.canDeal() ? dealer.deal() : Basis{0, 0});
  };
  deal(columns, layout.registers,
       int(std::min<int64_t>(threadN, columns.left)));
  deal(columns, layout.lanes, 8);
  deal(rows, layout.lanes, 4);
  deal(columns, layout.warps, warpsN);
  deal(rows, layout.warps, warpsM);
  layout.repeat = {int32_t(m / rows.next), int32_t(n / columns.next)};
  return layout;
}

LinearLayout LinearLayout::fmaOperandA(const LinearLayout &accumulator,
                                       int64_t k) {
  assert(k >= 1);
  LinearLayout layout = accumulator.dropColumns();
  const int64_t linearK = powerOfTwoPart(k);
  Bases overK;
  for (int64_t at = 1; at < linearK; at *= 2)
    overK.push_back({0, int32_t(at)});
  layout.registers.insert(layout.registers.begin(), overK.begin(), overK.end());
  layout.repeat[colDim] = int32_t(k / linearK);
  return layout;
}

LinearLayout LinearLayout::fmaOperandB(const LinearLayout &accumulator,
                                       int64_t k) {
  return fmaOperandA(accumulator.transpose(), k);
}
