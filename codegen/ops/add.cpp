//===- add.cpp - Lowering of insn.add
//----------------------------------------===//
#include "codegen/ops/RowBuilder.h"

using namespace tandem;
using namespace tandem::codegen;

static void emit(RowBuilder &k) { k.result(k.input32(0) + k.input32(1)); }

OpLowering codegen::lowering_add() { return {emit}; }
