//===- Registry.h - Every op's reference ------------------------*- C++ -*-===//
//
// Derived from the op table: an op of ODS without refops/ops/<op>.cpp does not
// link. The table is walked by opcode, so that a gap is a decision.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_REGISTRY_H
#define TANDEM_REFOPS_REGISTRY_H

#include "refops/RefOp.h"

namespace tandem::refops {

#define TANDEM_OP(value, NAME, mnemonic, ...) RefOp ref_##mnemonic();
#define TANDEM_UNDEFINED_OP(value, NAME, mnemonic)
#include "refops/core/OpTable.inc"
#undef TANDEM_OP
#undef TANDEM_UNDEFINED_OP
/// Recipes are evaluated by it whether ODS has the op or not.
RefOp ref_fused();

/// The reference of \p code, or null if there is none.
const RefOp *find_op(Opcode code);
/// By name in either case or by decimal code; null if there is no such opcode
/// or it has no reference.
const RefOp *find_op(std::string_view nameOrCode);

/// The mnemonics of opcodes without a reference, in order, joined by commas.
std::string op_coverage();

/// Runs \p op's known answers through `evaluate`. Fails with one message for
/// each wrong element (at most one a case): op, case, index, got and expected.
Result<void> checkKnownAnswers(const RefOp &op);

} // namespace tandem::refops

#endif // TANDEM_REFOPS_REGISTRY_H
