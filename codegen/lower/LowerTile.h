//===- LowerTile.h - A module of tile kernels to the llvm dialect -*- C++ -*-=//
#ifndef TANDEM_CODEGEN_LOWER_LOWERTILE_H
#define TANDEM_CODEGEN_LOWER_LOWERTILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tandem {

/// Shared memory of a module's largest kernel: declared in it, and asked for
/// at launch.
struct SharedMemory {
  int64_t fixed = 0;
  int64_t dynamic = 0;
};

/// A new module with an llvm.func for each func.func of \p module, which must
/// verify. Null after a diagnostic. \p smVersion is 80 or 90.
mlir::OwningOpRef<mlir::ModuleOp>
lowerTile(mlir::ModuleOp module, int smVersion, SharedMemory &shared);

/// Adds the pass `tile-lower` (option `sm`), which is lowerTile.
void registerLowerTilePass();

} // namespace tandem

#endif // TANDEM_CODEGEN_LOWER_LOWERTILE_H
