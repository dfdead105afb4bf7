//===- Context.cpp - One MLIR context a thread ----------------------------===//
#include "codegen/tile/Context.h"

#include "codegen/lower/TileToPtx.h"
#include "dialect/insn/InsnDialect.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace tandem;

void codegen::registerDialects(mlir::DialectRegistry &registry) {
  registry
      .insert<insn::InsnDialect, tile::TileDialect, mlir::arith::ArithDialect,
              mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
              mlir::math::MathDialect, mlir::scf::SCFDialect>();
  registerTileToPtx(registry);
}

mlir::MLIRContext &codegen::threadContext() {
  thread_local std::unique_ptr<mlir::MLIRContext> context = [] {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    auto created = std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}
