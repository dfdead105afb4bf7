//===- softmax.cpp - Lowering of insn.softmax
//--------------------------------===//
#include "codegen/ops/Math.h"

using namespace tandem;
using namespace tandem::codegen;

/// NaN, +inf and a row of -inf only need no case: each makes x - m NaN
/// somewhere, then the sum, then the row.
static void emit(RowBuilder &k) {
  Tile x = k.input32(0);
  Tile power = exp(x - k.reduceMax(x));
  k.result(power / k.reduceSum(power));
}

OpLowering codegen::lowering_softmax() { return {emit}; }
