//===- layernorm.cpp - Lowering of insn.layernorm
//----------------------------===//
#include "codegen/ops/Math.h"

using namespace tandem;
using namespace tandem::codegen;

/// Two passes: the squares of x - mu do not cancel, whatever the mean is.
static void emit(RowBuilder &k) {
  Tile x = k.input32(0), w = k.input32(1);
  Tile centred = x - k.reduceSum(x) / k.numCols();
  Tile variance = k.reduceSum(centred * centred) / k.numCols();
  Tile scale = rsqrt(variance + k.params().getFloat("eps", 1e-5f));
  Tile y = centred * scale * w;
  k.result(k.numInputs() == 3 ? y + k.input32(2) : y);
}

OpLowering codegen::lowering_layernorm() { return {emit}; }
