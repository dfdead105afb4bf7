//===- Parser.h - PTX text to a module --------------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_PARSER_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_PARSER_H

#include "codegen/device/emulator/ptx/Ast.h"
#include "refops/core/Result.h"

#include <string_view>

namespace tandem::emulator {

/// Parses a module. Syntax only: types, opcodes and symbols are the decoder's
/// business. Debug sections are skipped. A failure reads `place:line: what is
/// wrong`.
Result<Module> parseModule(std::string_view text, std::string_view place);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_PARSER_H
