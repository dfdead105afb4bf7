//===- Registration.cpp - Every dialect and pass of tandem ----------------===//
#include "codegen/Registration.h"

#include "codegen/lower/LowerTile.h"
#include "codegen/schedule/LoopColumns.h"
#include "codegen/tile/LowerToTile.h"
#include "dialect/insn/InsnDialect.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectRegistry.h"

void tandem::registerAllTandem(mlir::DialectRegistry &registry) {
  registry.insert<insn::InsnDialect, tile::TileDialect,
                  mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect>();
}

void tandem::registerTandemPasses() {
  registerLowerTilePass();
  mlir::registerPass(codegen::createLowerToTilePass);
  mlir::registerPass(codegen::createLoopColumnsPass);
}
