//===- softmax.cpp - Lowering of insn.softmax
//--------------------------------===//
#include "codegen/ops/Math.h"

using namespace tandem;
using namespace tandem::codegen;

/// NaN, +inf and a row of -inf only need no case: each makes x - m NaN
/// somewhere, then the sum, then the row. One division a row: a product with
/// its rounded reciprocal is two roundings, which the bound has room for.
static void emit(RowBuilder &k) {
  Tile x = k.input32(0);
  Tile power = exp(x - k.reduceMax(x));
  Tile sum = k.reduceSum(power);
  k.result(power * (k.like(sum, 1) / sum));
}

OpLowering codegen::lowering_softmax() { return {emit}; }
