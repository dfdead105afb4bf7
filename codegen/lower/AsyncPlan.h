//===- AsyncPlan.h - Dynamic shared memory of a kernel ----------*- C++ -*-===//
//
// Where rings, their barriers and the tiles on their way to global memory lie,
// and in which order the latter take turns in their buffers. Everything is an
// offset from the start of dynamic shared memory, which a kernel without
// asynchronous ops does not have.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_LOWER_ASYNCPLAN_H
#define TANDEM_CODEGEN_LOWER_ASYNCPLAN_H

#include "dialect/tile/TileDialect.h"

#include "llvm/ADT/MapVector.h"

namespace tandem::lower {

/// Rows of a box on its way to global memory, and its bytes.
inline constexpr int64_t storeRows = 64;
inline constexpr int64_t storeBytes = storeRows * tile::sharedRowBytes;
/// Warps that issue one wgmma together.
inline constexpr int warpsPerGroup = 4;

class AsyncPlan {
public:
  struct Ring {
    tile::RingType type;
    int64_t stages = 0; // offset of stage 0
    int64_t full = 0, empty = 0;
    /// Warps of one CTA that release a turn.
    int releasingWarps = 0;
  };
  /// A store's first buffer in the sequence of all its region's boxes, and how
  /// many buffers they take turns in.
  struct Store {
    int64_t base = 0;
    int64_t first = 0;
    int buffers = 1;
  };

  /// Fails with a diagnostic when it does not fit in a CTA's shared memory next
  /// to \p staticBytes.
  mlir::LogicalResult build(mlir::Operation *kernel, int64_t staticBytes);

  int64_t totalBytes() const { return bytes; }
  const Ring &ringOf(mlir::Value ring) const {
    return rings.find(ring.getDefiningOp())->second;
  }
  const llvm::MapVector<mlir::Operation *, Ring> &allRings() const {
    return rings;
  }
  const Store &storeOf(mlir::Operation *store) const {
    return stores.find(store)->second;
  }

private:
  llvm::MapVector<mlir::Operation *, Ring> rings;
  llvm::DenseMap<mlir::Operation *, Store> stores;
  int64_t bytes = 0;
};

/// Boxes of 64 rows that each group of four warps stores for \p store.
int64_t boxesOfGroup(tile::AsyncStoreOp store);

} // namespace tandem::lower

#endif // TANDEM_CODEGEN_LOWER_ASYNCPLAN_H
