//===- LinearLayout.cpp - Which thread holds which element ----------------===//
#include "dialect/tile/LinearLayout.h"

#include <algorithm>
#include <bit>
#include <cassert>

using namespace tandem::tile;

static uint64_t packed(const Basis &basis) {
  return (uint64_t(uint32_t(basis[0])) << 32) | uint32_t(basis[1]);
}

int tandem::tile::rankF2(std::vector<uint64_t> vectors) {
  int rank = 0;
  for (int bit = 63; bit >= 0; --bit) {
    size_t pivot = rank;
    while (pivot < vectors.size() && !(vectors[pivot] >> bit & 1))
      ++pivot;
    if (pivot == vectors.size())
      continue;
    std::swap(vectors[rank], vectors[pivot]);
    for (size_t i = 0; i < vectors.size(); ++i)
      if (i != size_t(rank) && (vectors[i] >> bit & 1))
        vectors[i] ^= vectors[rank];
    ++rank;
  }
  return rank;
}

std::string LinearLayout::problem() const {
  if (lanes.size() != 5)
    return "lane must have 5 bases, one for each bit of the lane index, got " +
           std::to_string(lanes.size());
  if (warps.size() > 5)
    return "warp has " + std::to_string(warps.size()) +
           " bases, but a CTA has at most 32 warps";
  if (registers.size() > 16)
    return "register has " + std::to_string(registers.size()) +
           " bases, expected at most 16";
  if (repeat[0] < 1 || repeat[1] < 1)
    return "repeat must be at least 1 in both dims, got [" +
           std::to_string(repeat[0]) + ", " + std::to_string(repeat[1]) + "]";
  std::vector<uint64_t> nonZero;
  for (const Bases *bases : {&registers, &lanes, &warps})
    for (const Basis &basis : *bases) {
      if (basis[0] < 0 || basis[1] < 0 || basis[0] >= 1 << 24 ||
          basis[1] >= 1 << 24)
        return "a basis must lie in [0, 2^24), got [" +
               std::to_string(basis[0]) + ", " + std::to_string(basis[1]) + "]";
      if (basis[0] || basis[1])
        nonZero.push_back(packed(basis));
      else if (bases == &registers)
        return "a register basis is [0, 0], but registers are never replicated";
    }
  const int rank = rankF2(nonZero);
  if (size_t(rank) != nonZero.size())
    return "bases are not independent: some element has two different indices "
           "in one repetition";
  auto [rows, cols] = linearShape();
  const int wanted =
      std::countr_zero(uint64_t(rows)) + std::countr_zero(uint64_t(cols));
  if (rank != wanted)
    return "bases cover 2^" + std::to_string(rank) + " elements of a " +
           std::to_string(rows) + "x" + std::to_string(cols) +
           " linear part, so some element has no thread";
  return "";
}

std::array<int64_t, 2> LinearLayout::linearShape() const {
  std::array<uint64_t, 2> used = {0, 0};
  for (const Bases *bases : {&registers, &lanes, &warps})
    for (const Basis &basis : *bases)
      for (int dim : {rowDim, colDim})
        used[dim] |= uint32_t(basis[dim]);
  return {int64_t(1) << std::bit_width(used[0]),
          int64_t(1) << std::bit_width(used[1])};
}

std::array<int64_t, 2> LinearLayout::shape() const {
  auto [rows, cols] = linearShape();
  return {rows * repeat[0], cols * repeat[1]};
}

int64_t LinearLayout::numRegisters() const {
  return numLinearRegisters() * repeat[0] * repeat[1];
}

Basis LinearLayout::coordinate(int64_t reg, int lane, int warp) const {
  const int64_t linear = reg & (numLinearRegisters() - 1);
  const int64_t repetition = reg >> registers.size();
  Basis at = {0, 0};
  auto combine = [&](const Bases &bases, int64_t index) {
    for (size_t bit = 0; bit < bases.size(); ++bit)
      if (index >> bit & 1)
        for (int dim : {rowDim, colDim})
          at[dim] ^= bases[bit][dim];
  };
  combine(registers, linear);
  combine(lanes, lane);
  combine(warps, warp);
  auto [rows, cols] = linearShape();
  at[0] += int32_t(repetition / repeat[1] * rows);
  at[1] += int32_t(repetition % repeat[1] * cols);
  return at;
}

bool LinearLayout::registersAdd() const {
  std::array<uint32_t, 2> inRegisters = {0, 0};
  for (const Basis &basis : registers)
    for (int dim : {rowDim, colDim})
      inRegisters[dim] |= uint32_t(basis[dim]);
  for (const Bases *bases : {&lanes, &warps})
    for (const Basis &basis : *bases)
      for (int dim : {rowDim, colDim})
        if (inRegisters[dim] & uint32_t(basis[dim]))
          return false;
  return true;
}

bool LinearLayout::isAxisAligned() const {
  for (const Bases *bases : {&registers, &lanes, &warps})
    for (const Basis &basis : *bases)
      if (basis[0] && basis[1])
        return false;
  return true;
}

LinearLayout LinearLayout::dropDim(int dim) const {
  LinearLayout dropped = *this;
  for (Bases *bases : {&dropped.registers, &dropped.lanes, &dropped.warps})
    for (Basis &basis : *bases)
      basis[dim] = 0;
  std::erase(dropped.registers, Basis{0, 0});
  dropped.repeat[dim] = 1;
  return dropped;
}

LinearLayout LinearLayout::transpose() const {
  LinearLayout result = *this;
  for (Bases *bases : {&result.registers, &result.lanes, &result.warps})
    for (Basis &basis : *bases)
      std::swap(basis[0], basis[1]);
  std::swap(result.repeat[0], result.repeat[1]);
  // Repetitions count columns before rows in either layout: a tile that
  // repeats along both dims has its registers renumbered (transposedRegister).
  return result;
}

LinearLayout LinearLayout::reshape(int64_t cols) const {
  assert(isReshapable());
  const int64_t from = shape()[colDim];
  LinearLayout result = *this;
  for (Bases *bases : {&result.registers, &result.lanes, &result.warps})
    for (Basis &basis : *bases) {
      const int64_t number = basis[rowDim] * from + basis[colDim];
      basis = {int32_t(number / cols), int32_t(number % cols)};
    }
  return result;
}

bool LinearLayout::hasColumnPairs() const {
  if (!isAxisAligned())
    return false;
  for (const Bases *bases : {&lanes, &warps})
    for (const Basis &basis : *bases)
      if (basis[colDim] % 2)
        return false;
  int64_t odd = 0;
  for (const Basis &basis : registers)
    odd += basis[colDim] % 2;
  return odd == 1 && std::find(registers.begin(), registers.end(),
                               Basis{0, 1}) != registers.end();
}

LinearLayout LinearLayout::halveColumns() const {
  assert(hasColumnPairs());
  LinearLayout half = *this;
  std::erase(half.registers, Basis{0, 1});
  for (Bases *bases : {&half.registers, &half.lanes, &half.warps})
    for (Basis &basis : *bases)
      basis[colDim] /= 2;
  return half;
}

int64_t LinearLayout::projectRegister(int64_t reg, int dim) const {
  const int64_t linear = reg & (numLinearRegisters() - 1);
  const int64_t repetition = reg >> registers.size();
  int64_t projected = 0;
  int kept = 0;
  for (size_t bit = 0; bit < registers.size(); ++bit) {
    if (!registers[bit][1 - dim])
      continue;
    projected |= (linear >> bit & 1) << kept++;
  }
  const int64_t along =
      dim == colDim ? repetition / repeat[1] : repetition % repeat[1];
  return projected | along << kept;
}

static uint32_t zeroBits(const Bases &bases) {
  uint32_t bits = 0;
  for (size_t bit = 0; bit < bases.size(); ++bit)
    if (bases[bit] == Basis{0, 0})
      bits |= 1u << bit;
  return bits;
}

uint32_t LinearLayout::replicatedLaneBits() const { return zeroBits(lanes); }
uint32_t LinearLayout::replicatedWarpBits() const { return zeroBits(warps); }
bool LinearLayout::isReplicatedInLanes() const { return zeroBits(lanes) != 0; }
bool LinearLayout::isReplicatedInWarps() const { return zeroBits(warps) != 0; }

static std::string pairText(const std::array<int32_t, 2> &pair) {
  return "[" + std::to_string(pair[0]) + ", " + std::to_string(pair[1]) + "]";
}

static std::string basesText(const Bases &bases) {
  std::string text = "[";
  for (const Basis &basis : bases)
    text += (text.size() > 1 ? ", " : "") + pairText(basis);
  return text + "]";
}

std::string LinearLayout::text() const {
  return "register = " + basesText(registers) + ", lane = " + basesText(lanes) +
         ", warp = " + basesText(warps) + ", repeat = " + pairText(repeat);
}
