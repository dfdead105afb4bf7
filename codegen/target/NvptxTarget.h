//===- NvptxTarget.h - LLVM modules to PTX text -----------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_TARGET_NVPTXTARGET_H
#define TANDEM_CODEGEN_TARGET_NVPTXTARGET_H

#include "refops/core/Result.h"

#include <string>
#include <string_view>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tandem {

/// Compute capability of a target name: 80 of sm_80, 90 of sm_90a. Fails on
/// others, naming the two.
Result<int> smVersionOf(std::string_view target);

/// This thread's machine for \p target; LLVM is initialised on first use.
Result<llvm::TargetMachine *> nvptxMachine(std::string_view target);

/// Sets triple and data layout, cleans up \p module, and prints it as PTX.
/// \p optimizeMs and \p selectMs become the milliseconds that each part took.
Result<std::string> printPtx(llvm::Module &module, llvm::TargetMachine &machine,
                             double &optimizeMs, double &selectMs);

} // namespace tandem

#endif // TANDEM_CODEGEN_TARGET_NVPTXTARGET_H
