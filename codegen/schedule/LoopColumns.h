//===- LoopColumns.h - Rows that are longer than a tile ---------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_SCHEDULE_LOOPCOLUMNS_H
#define TANDEM_CODEGEN_SCHEDULE_LOOPCOLUMNS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tandem::codegen {

/// Slices a straight-line kernel into one column loop for each level of
/// reduction. Does nothing without the attribute.
llvm::LogicalResult loopColumns(mlir::func::FuncOp kernel);

/// `tile-loop-columns`.
std::unique_ptr<mlir::Pass> createLoopColumnsPass();

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_SCHEDULE_LOOPCOLUMNS_H
