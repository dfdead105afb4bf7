//===- Parameters.h - Which parameters a recipe's kernels read --*- C++ -*-===//
#ifndef TANDEM_CODEGEN_SCHEDULE_PARAMETERS_H
#define TANDEM_CODEGEN_SCHEDULE_PARAMETERS_H

#include "codegen/Compiler.h"
#include "codegen/fuse/Partition.h"

namespace tandem::codegen {

/// Fails when CompileOptions::set holds a parameter that no kernel of \p parts
/// reads: it would change nothing.
Result<void> checkParametersAreRead(const CompileOptions &options,
                                    const Partition &parts);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_SCHEDULE_PARAMETERS_H
