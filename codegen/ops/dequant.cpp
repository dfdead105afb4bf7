//===- dequant.cpp - Lowering of insn.dequant -----------------------------===//
#include "codegen/ops/Quantised.h"

using namespace tandem;
using namespace tandem::codegen;

/// The product of an integer and an f32 scale has up to 33 bits: where it goes
/// on to a narrower type it is rounded to odd first.
static void emit(RowBuilder &k) {
  QuantisedWeights weights(k, 0);
  k.result(weights.weights(k.layout, weights.spaceRows(), k.colStart, k.colEnd,
                           k.resultType() != DType::F32));
}

OpLowering codegen::lowering_dequant() { return {emit}; }
