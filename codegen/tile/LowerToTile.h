//===- LowerToTile.h - insn-lower-to-tile -----------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_TILE_LOWERTOTILE_H
#define TANDEM_CODEGEN_TILE_LOWERTOTILE_H

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace tandem::codegen {

std::unique_ptr<mlir::Pass> createLowerToTilePass();

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_TILE_LOWERTOTILE_H
