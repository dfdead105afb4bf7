//===- tandem-opt.cpp - Runs tandem's passes on textual IR ----------------===//
#include "codegen/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tandem::registerAllTandem(registry);
  tandem::registerTandemPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tandem's optimizer driver\n", registry));
}
