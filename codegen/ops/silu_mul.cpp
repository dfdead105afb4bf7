//===- silu_mul.cpp - Lowering of insn.silu_mul
//------------------------------===//
#include "codegen/ops/Math.h"

using namespace tandem;
using namespace tandem::codegen;

static void emit(RowBuilder &k) {
  Tile gate = k.input32(0), up = k.input32(1);
  k.result(gate * sigmoid(gate) * up);
}

OpLowering codegen::lowering_silu_mul() { return {emit}; }
