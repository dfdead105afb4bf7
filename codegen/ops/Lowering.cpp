//===- Lowering.cpp - The table of op lowerings ---------------------------===//
#include "codegen/ops/Lowering.h"

using namespace tandem;
using namespace tandem::codegen;

OpLowering codegen::loweringOf(Opcode op) {
  switch (op) {
#define TANDEM_UNDEFINED_OP(...)
#define TANDEM_OP(value, NAME, mnemonic, ...)                                  \
  case Opcode::NAME:                                                           \
    return lowering_##mnemonic();
#include "refops/core/OpTable.inc"
#undef TANDEM_OP
#undef TANDEM_UNDEFINED_OP
  default:
    return {};
  }
}
