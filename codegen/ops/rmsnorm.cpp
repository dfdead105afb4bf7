//===- rmsnorm.cpp - Lowering of insn.rmsnorm
//--------------------------------===//
#include "codegen/ops/Math.h"

using namespace tandem;
using namespace tandem::codegen;

static void emit(RowBuilder &k) {
  Tile x = k.input32(0), w = k.input32(1);
  Tile meanSquare = k.reduceSum(x * x) / k.numCols();
  Tile scale = rsqrt(meanSquare + k.params().getFloat("eps", 1e-6f));
  k.result(x * scale * w);
}

OpLowering codegen::lowering_rmsnorm() { return {emit}; }
