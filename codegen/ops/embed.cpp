//===- embed.cpp - Lowering of insn.embed
//------------------------------------===//
#include "codegen/ops/RowBuilder.h"

using namespace tandem;
using namespace tandem::codegen;

using namespace mlir;

/// Rows whose id lies outside the table are reported, read nothing and are left
/// out of every final output.
static void emit(RowBuilder &k) {
  ImplicitLocOpBuilder &b = k.ops();
  Tile id = k.loadRowIndex(k.operandOf(0, Usage::RowIndex));
  Value isInside = k.isInTable(id, k.operandOf(1, Usage::Table));
  Value live = k.liveRows();
  Value isGood = arith::AndIOp::create(b, live, isInside);
  k.reportRows(arith::XOrIOp::create(b, live, isGood));
  k.restrictRows(isGood);
  k.resultRaw(k.convert(k.inputType(1), k.resultType(),
                        k.loadTable(1, id.value, isGood)));
}

OpLowering codegen::lowering_embed() { return {emit}; }
