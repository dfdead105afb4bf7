//===- TileToPtx.h - A module of tile kernels to PTX text -------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_LOWER_TILETOPTX_H
#define TANDEM_CODEGEN_LOWER_TILETOPTX_H

#include "codegen/Compiler.h"
#include "codegen/lower/LowerTile.h"

#include <string>
#include <string_view>
#include <vector>

namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace tandem {

struct PtxOptions {
  /// Keep the text of the `nvvm` and `llvm` stages.
  bool keepStages = false;
};

struct PtxOutput {
  std::string ptx;
  SharedMemory shared;
  /// Empty unless asked for.
  std::string nvvm;
  std::string llvm;
  /// verify, lower, translate, optimize, select; milliseconds.
  std::vector<StageTiming> timings;
};

/// Lowers every tile kernel of \p module for \p target, sm_80 or sm_90a. The
/// module is verified first and not changed. Safe to call from many threads,
/// each with its own MLIRContext. Fails with the diagnostics of what does not
/// verify or has no lowering on the target.
Result<PtxOutput> tileToPtx(mlir::ModuleOp module, std::string_view target,
                            const PtxOptions &options = {});

/// The same for the text of a module; \p file names it in messages.
Result<PtxOutput> tileTextToPtx(std::string_view text, std::string_view file,
                                std::string_view target,
                                const PtxOptions &options = {});

/// What tileToPtx needs in a context: its dialects and their translations.
/// Adding it when the context is made saves tileToPtx the time.
void registerTileToPtx(mlir::DialectRegistry &registry);

} // namespace tandem

#endif // TANDEM_CODEGEN_LOWER_TILETOPTX_H
