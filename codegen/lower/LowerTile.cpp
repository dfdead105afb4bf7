//===- LowerTile.cpp - A module of tile kernels to the llvm dialect -------===//
#include "codegen/lower/LowerTile.h"

#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace tandem;

OwningOpRef<ModuleOp> tandem::lowerTile(ModuleOp module, int smVersion,
                                        SharedMemory &shared) {
  shared = {};
  OwningOpRef<ModuleOp> target = ModuleOp::create(module.getLoc());
  for (Operation &op : *module.getBody()) {
    auto kernel = dyn_cast<func::FuncOp>(op);
    if (!kernel) {
      op.emitOpError() << "is not a kernel (func.func)";
      return {};
    }
    lower::Emitter emitter(kernel, *target, smVersion);
    if (failed(emitter.run()))
      return {};
    shared.fixed = std::max(shared.fixed, emitter.sharedBytes());
    shared.dynamic = std::max(shared.dynamic, emitter.dynamicBytes());
  }
  return target;
}

namespace {
/// Exact: every op becomes instructions with the rounding that it states.
struct LowerTilePass
    : public PassWrapper<LowerTilePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTilePass)

  LowerTilePass() = default;
  LowerTilePass(const LowerTilePass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "tile-lower"; }
  StringRef getDescription() const final {
    return "lower tile kernels to the llvm and nvvm dialects";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  }
  void runOnOperation() final {
    SharedMemory shared;
    OwningOpRef<ModuleOp> lowered =
        lowerTile(getOperation(), smVersion, shared);
    if (!lowered)
      return signalPassFailure();
    getOperation().getBodyRegion().takeBody(lowered->getBodyRegion());
  }

  Option<int> smVersion{*this, "sm", llvm::cl::desc("target, 80 or 90"),
                        llvm::cl::init(90)};
};
} // namespace

void tandem::registerLowerTilePass() { PassRegistration<LowerTilePass>(); }
