//===- embed.cpp - Lowering of insn.embed
//------------------------------------===//
#include "codegen/ops/RowBuilder.h"

using namespace tandem;
using namespace tandem::codegen;

using namespace mlir;

/// Rows whose id lies outside the table are reported, read nothing and are left
/// out of every store of the kernel.
static void emit(RowBuilder &k) {
  ImplicitLocOpBuilder &b = k.ops();
  Tile id = k.convert(k.inputType(0), DType::I64, k.loadRowIndex(0));
  const ScheduledOperand &table = k.operandOf(1, Usage::Table);
  Value size = tile::SplatOp::create(b, id.type(), k.scalar(table.shape(0)));
  // Unsigned: a negative id is larger than any table.
  Value isInside =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, id.value, size);
  Value live = k.liveRows();
  Value isGood = arith::AndIOp::create(b, live, isInside);
  k.reportRows(arith::XOrIOp::create(b, live, isGood));
  k.restrictRows(isGood);
  k.resultRaw(k.convert(k.inputType(1), k.resultType(),
                        k.loadTable(1, id.value, isGood)));
}

OpLowering codegen::lowering_embed() { return {emit}; }
