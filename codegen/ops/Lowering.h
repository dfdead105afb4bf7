//===- Lowering.h - The table of op lowerings -------------------*- C++ -*-===//
//
// Each codegen/ops/<op>.cpp defines one function `lowering_<op>`; the table is
// derived from the op table, nothing registers itself.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_OPS_LOWERING_H
#define TANDEM_CODEGEN_OPS_LOWERING_H

#include "refops/core/OpInfo.h"

namespace tandem::codegen {

class RowBuilder;

/// How one op becomes tile code: reads its operands from the builder and gives
/// its result back. Null for ops that compute nothing themselves.
struct OpLowering {
  void (*emit)(RowBuilder &k) = nullptr;
};

#define TANDEM_UNDEFINED_OP(...)
#define TANDEM_OP(value, NAME, mnemonic, ...) OpLowering lowering_##mnemonic();
#include "refops/core/OpTable.inc"
#undef TANDEM_OP
#undef TANDEM_UNDEFINED_OP

/// The lowering of a defined op.
OpLowering loweringOf(Opcode op);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_LOWERING_H
