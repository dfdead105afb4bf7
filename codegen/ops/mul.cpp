//===- mul.cpp - Lowering of insn.mul
//----------------------------------------===//
#include "codegen/ops/RowBuilder.h"

using namespace tandem;
using namespace tandem::codegen;

static void emit(RowBuilder &k) {
  Tile a = k.input32(0);
  if (k.numInputs() == 2)
    return k.result(a * k.input32(1));
  k.result(a * k.params().getFloat("scale", 1));
}

OpLowering codegen::lowering_mul() { return {emit}; }
