//===- Registration.cpp - Every dialect and pass of tandem ----------------===//
#include "codegen/Registration.h"
#include "codegen/lower/LowerTile.h"

#ifdef TANDEM_HAS_INSN
#include "dialect/insn/InsnDialect.h"
#endif
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectRegistry.h"

void tandem::registerAllTandem(mlir::DialectRegistry &registry) {
#ifdef TANDEM_HAS_INSN
  registry.insert<insn::InsnDialect>();
#endif
  registry.insert<tile::TileDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::NVVM::NVVMDialect,
                  mlir::scf::SCFDialect>();
}

void tandem::registerTandemPasses() { registerLowerTilePass(); }
