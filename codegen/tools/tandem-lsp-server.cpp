//===- tandem-lsp-server.cpp - Editor support for tandem's IR -------------===//
#include "codegen/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tandem::registerAllTandem(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
