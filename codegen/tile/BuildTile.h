//===- BuildTile.h - From a schedule to a tile kernel -----------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_TILE_BUILDTILE_H
#define TANDEM_CODEGEN_TILE_BUILDTILE_H

#include "codegen/schedule/Schedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tandem::codegen {

/// A kernel's tile stage and its launch record. The contract's steps are
/// numbered within the kernel.
struct TileKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  LaunchRecord record;
};

/// Builds the module of one kernel, column loops included.
Result<TileKernel> buildTile(const KernelSchedule &schedule,
                             const ScheduleInput &input,
                             mlir::MLIRContext &context);

/// The kernels of a recipe as compile() builds them for typical operands.
Result<std::vector<TileKernel>> buildTileKernels(const Recipe &recipe,
                                                 const DimBindings &bindings,
                                                 const CompileOptions &options,
                                                 mlir::MLIRContext &context);

/// The entry point's name, `rmsnorm_copy`: the ops in order, shortened.
std::string kernelName(const KernelSchedule &schedule, const Recipe &recipe);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_TILE_BUILDTILE_H
