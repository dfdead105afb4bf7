//===- SharedPlan.h - Shared memory and barriers of a kernel ----*- C++ -*-===//
//
// Which ops exchange data between threads, where in shared memory, and where
// barriers stand. An exchange is: write, barrier, read. A later write to the
// same bytes must wait until all have read, so a barrier goes before it, unless
// another exchange's barrier already lies between. The plan follows structured
// control flow, with a fixpoint over loops; conditions are uniform.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_LOWER_SHAREDPLAN_H
#define TANDEM_CODEGEN_LOWER_SHAREDPLAN_H

#include "dialect/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <array>
#include <optional>
#include <set>
#include <vector>

namespace tandem::lower {

/// Bytes of a tile's element in shared memory (i1 takes one).
int64_t sharedElementBytes(mlir::Type element);

/// Whether \p to names the same threads as \p from, so that registers only
/// change their names.
bool isRegisterRenaming(const tile::LinearLayout &from,
                        const tile::LinearLayout &to);

/// A change of layout within each warp: every register of the result comes from
/// one register of another lane, f32 or i32. The lane's number is the exclusive
/// or of `laneBits[i]` over the bits i of the thread's own that are set and of
/// the register's own part.
struct WarpShuffle {
  std::array<int, 5> laneBits;
  std::vector<std::pair<int64_t, int>> sources; // register, part of the lane
};
std::optional<WarpShuffle> warpShuffle(const tile::LinearLayout &from,
                                       const tile::LinearLayout &to);

/// Whether \p op is lowered that way.
bool shufflesWarps(tile::ConvertLayoutOp op);

/// The row pitch, in elements, of the shared image between two layouts: the
/// one of a few paddings with the fewest bank conflicts.
int64_t imagePitch(const tile::LinearLayout &from, const tile::LinearLayout &to,
                   int64_t elementBytes);

/// Warps that share a row of \p layout.
int columnWarps(const tile::LinearLayout &layout);

class SharedPlan {
public:
  /// Plans all exchanges in \p kernel. Fails with a diagnostic when a tile does
  /// not fit the 48 KB of static shared memory.
  mlir::LogicalResult build(mlir::Operation *kernel);

  int64_t totalBytes() const { return bytes; }
  /// Byte offset of the op's exchange.
  int64_t offsetOf(mlir::Operation *op) const { return region.at(op).offset; }
  bool exchanges(mlir::Operation *op) const { return region.count(op); }
  bool needsBarrierBefore(mlir::Operation *op) const {
    return guarded.contains(op);
  }

private:
  struct Region {
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  /// Offsets that may still be read by some thread.
  using Unread = std::set<int64_t>;
  Unread follow(mlir::Block &block, Unread unread);

  llvm::DenseMap<mlir::Operation *, Region> region;
  llvm::DenseSet<mlir::Operation *> guarded;
  int64_t bytes = 0;
};

} // namespace tandem::lower

#endif // TANDEM_CODEGEN_LOWER_SHAREDPLAN_H
