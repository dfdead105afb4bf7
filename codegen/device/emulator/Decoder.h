//===- Decoder.h - A parsed kernel to a program -----------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_DECODER_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_DECODER_H

#include "codegen/device/emulator/Program.h"
#include "codegen/device/emulator/ptx/Ast.h"
#include "refops/core/Result.h"

namespace tandem::emulator {

/// What a pointer to a function holds; 0 if the module has none of that name.
uint64_t functionAddress(const Module &module, const std::string &name);

/// The variables of a module that need memory, without addresses. Fails on
/// types and initialisers that have no meaning.
Result<std::vector<ModuleVariable>> moduleVariables(const Module &module,
                                                    std::string_view place);

/// Decodes \p entry. \p globals have their addresses. All failures of the
/// kernel are listed, each `place:line: ...`. \p contract: products and sums
/// that ptxas may fuse are.
Result<Program> decode(const Module &module, const Entry &entry,
                       const std::vector<ModuleVariable> &globals,
                       std::string_view place, bool contract = false);

/// Whether \p contract can make a difference.
bool mayContract(const Module &module, const Entry &entry);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_DECODER_H
