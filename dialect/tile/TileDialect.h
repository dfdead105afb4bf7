//===- TileDialect.h - The tile dialect and its ops -------------*- C++ -*-===//
#ifndef TANDEM_DIALECT_TILE_TILEDIALECT_H
#define TANDEM_DIALECT_TILE_TILEDIALECT_H

#include "dialect/tile/LinearLayout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tandem::tile {
llvm::hash_code hash_value(const LinearLayout &layout);
} // namespace tandem::tile

#include "dialect/tile/TileDialect.h.inc"
#include "dialect/tile/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/tile/TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/tile/TileTypes.h.inc"

namespace tandem::tile {

/// Attribute of a kernel function: the warps of its CTA.
inline constexpr llvm::StringLiteral warpsAttrName = "tile.warps";
/// Attribute of a kernel whose tiles stand for whole rows, until
/// tile-loop-columns has cut it into loops: the tile's columns.
inline constexpr llvm::StringLiteral loopColumnsAttrName = "tile.loop_columns";

/// Attribute of a kernel function: the CTAs of its cluster, along the first
/// axis of the grid. Absent: 1.
inline constexpr llvm::StringLiteral clusterAttrName = "tile.cluster";
/// A row of a tile in shared memory, and the rows of its pattern of 16-byte
/// chunks.
inline constexpr int64_t sharedRowBytes = 128;
inline constexpr int64_t sharedPatternRows = 8;

/// Whether \p type is a static rank-2 tensor with a #tile.layout.
bool isTile(mlir::Type type);
/// The layout of a tile type; asserts that it is one.
const LinearLayout &layoutOf(mlir::Type type);
/// A tile of \p element elements whose shape is the layout's.
mlir::RankedTensorType tileType(mlir::Type element, const LinearLayout &layout);

} // namespace tandem::tile

#define GET_OP_CLASSES
#include "dialect/tile/TileOps.h.inc"

#endif // TANDEM_DIALECT_TILE_TILEDIALECT_H
