//===- LowerToTile.cpp - insn-lower-to-tile -------------------------------===//
//
// For tests and people: replaces each recipe of a module by its kernels' tile
// stages, as compile() would build them for contiguous, aligned operands. The
// option `dims` gives sizes to symbols, `M=4,N=16`; others are 64.
//
//===----------------------------------------------------------------------===//
#include "codegen/tile/LowerToTile.h"

#include "codegen/recipe/RecipeInsn.h"
#include "codegen/tile/BuildTile.h"
#include "codegen/tile/Context.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

namespace {
struct LowerToTile : PassWrapper<LowerToTile, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerToTile)
  LowerToTile() = default;
  LowerToTile(const LowerToTile &other) : PassWrapper(other) {}

  ListOption<std::string> dims{*this, "dims",
                               llvm::cl::desc("sizes of symbols: M=4")};
  ListOption<std::string> set{*this, "set",
                              llvm::cl::desc("schedule parameters: block=64")};
  Option<bool> fuse{*this, "fuse", llvm::cl::init(true),
                    llvm::cl::desc("let steps share kernels")};
  Option<std::string> target{*this, "target", llvm::cl::init("sm_90a"),
                             llvm::cl::desc("sm_80 or sm_90a")};

  StringRef getArgument() const final { return "insn-lower-to-tile"; }
  StringRef getDescription() const final {
    return "build the tile kernels of each recipe";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registerDialects(registry);
  }

  void runOnOperation() final {
    auto recipes = llvm::to_vector(getOperation().getOps<insn::FusedOp>());
    for (insn::FusedOp fused : recipes) {
      Result<void> done = lower(fused);
      if (!done) {
        fused.emitError(done.error().text());
        return signalPassFailure();
      }
      fused.erase();
    }
  }

  Result<void> lower(insn::FusedOp fused) {
    Result<Recipe> recipe = readInsn(fused, "recipe");
    if (!recipe)
      return recipe.error();
    DimBindings bindings;
    for (const RecipeInput &input : recipe->inputs)
      for (const Dim &dim : input.type.shape)
        if (dim.isSymbol())
          bindings[dim.symbol()] = 64;
    CompileOptions options;
    options.target = target;
    options.fuse = fuse;
    for (StringRef text : dims) {
      auto [name, size] = text.split('=');
      if (size.getAsInteger(10, bindings[name.str()]))
        return Error("dims: expected NAME=SIZE, got '" + text.str() + "'");
    }
    for (StringRef text : set) {
      auto [name, value] = text.split('=');
      options.set[name.str()] = value.str();
    }
    Result<std::vector<TileKernel>> kernels =
        buildTileKernels(*recipe, bindings, options, *fused.getContext());
    if (!kernels)
      return kernels.error();
    for (TileKernel &kernel : *kernels)
      for (Operation &op : llvm::make_early_inc_range(
               kernel.module->getBody()->getOperations()))
        op.moveBefore(fused);
    return {};
  }
};
} // namespace

std::unique_ptr<Pass> codegen::createLowerToTilePass() {
  return std::make_unique<LowerToTile>();
}
