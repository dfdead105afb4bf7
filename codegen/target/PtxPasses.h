//===- PtxPasses.h - The passes between an LLVM module and PTX --*- C++ -*-===//
#ifndef TANDEM_CODEGEN_TARGET_PTXPASSES_H
#define TANDEM_CODEGEN_TARGET_PTXPASSES_H

namespace llvm {
class Module;
class TargetMachine;
class raw_pwrite_stream;
namespace legacy {
class PassManager;
}
} // namespace llvm

namespace tandem {

/// Rewrites \p module where its form would cost instruction selection time that
/// grows with the square of a struct's fields. What it computes stays.
void prepareForSelection(llvm::Module &module);

/// Adds to \p passes what selects and prints PTX into \p stream. Returns
/// whether it could: a backend without an assembly printer cannot.
bool addPtxPasses(llvm::legacy::PassManager &passes,
                  llvm::TargetMachine &machine,
                  llvm::raw_pwrite_stream &stream);

} // namespace tandem

#endif // TANDEM_CODEGEN_TARGET_PTXPASSES_H
