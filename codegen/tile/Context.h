//===- Context.h - One MLIR context a thread --------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_TILE_CONTEXT_H
#define TANDEM_CODEGEN_TILE_CONTEXT_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

namespace tandem::codegen {

/// The dialects that stages of compilation read and write.
void registerDialects(mlir::DialectRegistry &registry);

/// The calling thread's context: no worker threads of its own, every dialect
/// loaded once. Types live as long as the thread, modules are the caller's.
mlir::MLIRContext &threadContext();

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_TILE_CONTEXT_H
