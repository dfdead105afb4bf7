//===- Interpreter.h - Executes a tile kernel, one CTA at a time -*- C++ -*-==//
//
// Whole tiles, no threads: the only use of a layout is the order of a
// reduction. Shares no code with the lowering, so that the two can be compared.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_EVALUATE_INTERPRETER_H
#define TANDEM_CODEGEN_EVALUATE_INTERPRETER_H

#include "codegen/device/Device.h"
#include "codegen/evaluate/Element.h"
#include "codegen/evaluate/Memory.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace tandem::evaluate {

/// The kind of a scalar or element type; fails on others.
mlir::FailureOr<Kind> kindOf(mlir::Type type);

class Interpreter {
public:
  /// Arguments of type !tile.map are indices into \p maps.
  Interpreter(Memory &memory, LaunchReport &report,
              const std::vector<TensorMap> &maps)
      : memory(memory), report(report), maps(maps) {}

  /// Runs one CTA. A finding ends it early; an Error is an op that the
  /// evaluator does not know.
  Result<void> run(mlir::func::FuncOp kernel,
                   const std::vector<uint64_t> &arguments,
                   std::array<int64_t, 3> block);

private:
  mlir::LogicalResult runBlock(mlir::Block &block);
  mlir::LogicalResult runOp(mlir::Operation *op);
  mlir::LogicalResult runFor(mlir::scf::ForOp op);
  mlir::LogicalResult runIf(mlir::scf::IfOp op);
  mlir::LogicalResult fail(mlir::Operation *op, const std::string &what);
  mlir::LogicalResult finding(mlir::Operation *op, const char *kind,
                              uint64_t address, const std::string &message);

  // Arithmetic.cpp
  mlir::LogicalResult runArithmetic(mlir::Operation *op);
  mlir::LogicalResult runConversion(mlir::Operation *op);
  mlir::LogicalResult runConstant(mlir::Operation *op);
  mlir::LogicalResult runApprox(tile::ApproxOp op);

  // Tiles.cpp
  mlir::LogicalResult runLoad(tile::LoadOp op);
  mlir::LogicalResult runLoadScalar(tile::LoadScalarOp op);
  mlir::LogicalResult runGather(tile::GatherOp op);
  mlir::LogicalResult runStore(tile::StoreOp op);
  mlir::LogicalResult runMask(tile::MaskOp op);
  mlir::LogicalResult runReduce(tile::ReduceOp op);
  mlir::LogicalResult runBroadcast(tile::BroadcastOp op);
  mlir::LogicalResult runTranspose(tile::TransposeOp op);
  mlir::LogicalResult runDot(tile::DotOp op);
  mlir::LogicalResult runNeighbourDot(tile::NeighbourDotOp op);
  mlir::LogicalResult runReportError(tile::ReportErrorOp op);

  // Async.cpp
  mlir::LogicalResult runAcquire(tile::AcquireOp op);
  mlir::LogicalResult runReceive(tile::ReceiveOp op);
  mlir::LogicalResult runRelease(tile::ReleaseOp op);
  mlir::LogicalResult runAsyncCopy(tile::AsyncCopyOp op);
  mlir::LogicalResult runAsyncStore(tile::AsyncStoreOp op);
  mlir::LogicalResult runAsyncDot(tile::AsyncDotOp op);
  mlir::LogicalResult runColumns(tile::ColumnsOp op);
  mlir::FailureOr<std::byte *> elementOf(mlir::Operation *op,
                                         const TensorMap &map, int64_t row,
                                         int64_t col);

  const Tile &get(mlir::Value value) const { return values.at(value); }
  void set(mlir::Value value, Tile tile) { values[value] = std::move(tile); }
  /// An empty tile of the type's shape and kind.
  static Tile shaped(mlir::Type type);

  Memory &memory;
  LaunchReport &report;
  const std::vector<TensorMap> &maps;
  /// The first part of each turn that is filled and not released, and tiles in
  /// shared memory by the numbers that values of type !tile.shared hold.
  llvm::DenseMap<mlir::Value, std::map<uint32_t, uint64_t>> rings;
  std::map<uint64_t, Tile> stages;
  uint64_t nextStage = 0;
  std::array<int64_t, 3> block = {0, 0, 0};
  std::string kernelName;
  std::string error;
  llvm::DenseMap<mlir::Value, Tile> values;
};

} // namespace tandem::evaluate

#endif // TANDEM_CODEGEN_EVALUATE_INTERPRETER_H
