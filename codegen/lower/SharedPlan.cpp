//===- SharedPlan.cpp - Shared memory and barriers of a kernel ------------===//
#include "codegen/lower/SharedPlan.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;
using tile::LinearLayout;

/// Static shared memory of a CTA on every target.
static constexpr int64_t staticSharedLimit = 48 * 1024;
/// Up to here at least six CTAs share an SM's 228 KB (five on sm_80).
static constexpr int64_t separateImagesLimit = 32 * 1024;

int64_t tandem::lower::sharedElementBytes(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

bool tandem::lower::isRegisterRenaming(const LinearLayout &from,
                                       const LinearLayout &to) {
  if (from.lanes != to.lanes || from.warps != to.warps ||
      !from.registersAdd() || !to.registersAdd() ||
      from.numRegisters() != to.numRegisters())
    return false;
  std::set<tile::Basis> held;
  for (int64_t reg = 0; reg < from.numRegisters(); ++reg)
    held.insert(from.registerCoordinate(reg));
  for (int64_t reg = 0; reg < to.numRegisters(); ++reg)
    if (!held.count(to.registerCoordinate(reg)))
      return false;
  return true;
}

std::optional<WarpShuffle> tandem::lower::warpShuffle(const LinearLayout &from,
                                                      const LinearLayout &to) {
  if (!from.isReshapable() || !to.isReshapable() || from.warps != to.warps)
    return std::nullopt;
  // Where the source has an element: single bits of it, as each basis names
  // one.
  std::map<tile::Basis, int> laneOf;
  std::map<tile::Basis, int64_t> registerOf;
  for (auto [bit, basis] : llvm::enumerate(from.lanes))
    laneOf[basis] = 1 << bit;
  for (auto [bit, basis] : llvm::enumerate(from.registers))
    registerOf[basis] = int64_t(1) << bit;
  WarpShuffle shuffle = {};
  constexpr tile::Basis none = {0, 0};
  for (auto [bit, basis] : llvm::enumerate(to.lanes)) {
    if (basis == none)
      continue;
    // A register that lanes choose would take a select.
    auto found = laneOf.find(basis);
    if (found == laneOf.end())
      return std::nullopt;
    shuffle.laneBits[bit] = found->second;
  }
  for (int64_t reg = 0; reg < to.numRegisters(); ++reg) {
    int64_t source = 0;
    int lanes = 0;
    for (auto [bit, basis] : llvm::enumerate(to.registers)) {
      if (!(reg >> bit & 1))
        continue;
      if (auto found = laneOf.find(basis); found != laneOf.end())
        lanes ^= found->second;
      else if (auto held = registerOf.find(basis); held != registerOf.end())
        source |= held->second;
      else
        return std::nullopt;
    }
    shuffle.sources.push_back({source, lanes});
  }
  return shuffle;
}

int64_t tandem::lower::imagePitch(const LinearLayout &from,
                                  const LinearLayout &to,
                                  int64_t elementBytes) {
  const int64_t cols = from.shape()[1];
  if (from.shape()[0] == 1)
    return cols;
  // Padding keeps vector accesses aligned: their width divides 16 bytes.
  const int width = std::max(contiguousColumns(from), contiguousColumns(to));
  const int64_t unit = std::min<int64_t>(width, 16 / elementBytes);
  int64_t best = cols;
  int bestCost = INT_MAX;
  for (int64_t pad = 0; pad * elementBytes <= 64; pad += unit) {
    int cost = 0;
    for (const LinearLayout *layout : {&from, &to}) {
      const int vector =
          std::min<int64_t>(contiguousColumns(*layout), 16 / elementBytes);
      cost += bankConflicts(*layout, int(elementBytes), vector, cols + pad);
    }
    if (cost < bestCost) {
      bestCost = cost;
      best = cols + pad;
    }
  }
  return best;
}

int tandem::lower::columnWarps(const LinearLayout &layout) {
  int warps = 1;
  for (const tile::Basis &basis : layout.warps)
    if (basis[tile::colDim])
      warps *= 2;
  return warps;
}

bool tandem::lower::shufflesWarps(tile::ConvertLayoutOp op) {
  Type element = op.getType().getElementType();
  return (element.isF32() || element.isInteger(32)) &&
         warpShuffle(tile::layoutOf(op.getValue().getType()),
                     tile::layoutOf(op.getType()));
}

LogicalResult SharedPlan::build(Operation *kernel) {
  int64_t next = 0, image = 0, imageSum = 0;
  llvm::SmallVector<Operation *> images;
  kernel->walk([&](Operation *op) {
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      RankedTensorType type = reduce.getValue().getType();
      const int warps = columnWarps(tile::layoutOf(type));
      if (warps == 1)
        return;
      const int64_t size = type.getDimSize(0) * warps *
                           sharedElementBytes(type.getElementType());
      region[op] = {next, size};
      next = llvm::alignTo(next + size, 16);
    } else if (auto convert = dyn_cast<tile::ConvertLayoutOp>(op)) {
      RankedTensorType type = convert.getValue().getType();
      const LinearLayout &from = tile::layoutOf(type);
      const LinearLayout &to = tile::layoutOf(convert.getType());
      const int64_t elementBytes = sharedElementBytes(type.getElementType());
      if (isRegisterRenaming(from, to) || shufflesWarps(convert))
        return;
      const int64_t size = type.getDimSize(0) *
                           imagePitch(from, to, elementBytes) * elementBytes;
      region[op] = {0, size};
      images.push_back(op);
      image = std::max(image, size);
      imageSum += llvm::alignTo(size, 16);
    }
  });
  // Images with bytes of their own need one barrier each; where that would cost
  // occupancy they take turns in the same bytes, after the partial results.
  bytes = next;
  const bool takeTurns = imageSum > separateImagesLimit;
  for (Operation *op : images) {
    region[op].offset = takeTurns ? next : bytes;
    bytes =
        takeTurns ? next + image : llvm::alignTo(bytes + region[op].bytes, 16);
  }
  if (bytes > staticSharedLimit) {
    Operation *largest = images.empty() ? kernel : images.front();
    for (Operation *op : images)
      if (region[op].bytes == image)
        largest = op;
    return largest->emitOpError()
           << "exchanges " << image << " bytes through shared memory (" << bytes
           << " with reductions), but a CTA has " << staticSharedLimit;
  }
  for (mlir::Region &body : kernel->getRegions())
    for (Block &block : body)
      follow(block, {});
  return success();
}

SharedPlan::Unread SharedPlan::follow(Block &block, Unread unread) {
  auto join = [](Unread a, const Unread &b) {
    a.insert(b.begin(), b.end());
    return a;
  };
  for (Operation &op : block) {
    if (auto found = region.find(&op); found != region.end()) {
      const int64_t offset = found->second.offset;
      if (unread.count(offset))
        guarded.insert(&op);
      unread = {offset};
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      // The second round sees what the end of the first leaves behind; an
      // exchange leaves only itself, so that two rounds are the fixpoint.
      Unread after = follow(*loop.getBody(), unread);
      after = follow(*loop.getBody(), join(unread, after));
      unread = join(std::move(unread), after);
    } else if (auto partition = dyn_cast<tile::PartitionOp>(op)) {
      // Groups of warps have barriers of their own.
      for (mlir::Region &group : partition.getGroups())
        follow(group.front(), {});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Unread after = follow(*branch.thenBlock(), unread);
      unread =
          branch.elseBlock() ? follow(*branch.elseBlock(), unread) : unread;
      unread = join(std::move(unread), after);
    }
  }
  return unread;
}
