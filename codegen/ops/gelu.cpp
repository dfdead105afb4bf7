//===- gelu.cpp - Lowering of insn.gelu
//--------------------------------------===//
#include "codegen/ops/Math.h"

using namespace tandem;
using namespace tandem::codegen;

/// The tanh form is x sigmoid(2u), because (1 + tanh(u)) / 2 = sigmoid(2u): no
/// cancellation where tanh(u) is near -1.
static void emit(RowBuilder &k) {
  Tile x = k.input32(0);
  // At most 11 significant bits.
  const bool isNarrow = dtypeSize(k.inputType(0)) <= 2;
  if (k.params().getString("approximate", "none") == "none")
    return k.result(x * gaussianCdf(x, isNarrow));
  const double twoRootTwoOverPi = 1.5957691216057307;
  Tile cubic = fma(x * x * x, k.like(x, 0.044715), x);
  k.result(x * sigmoid(cubic * twoRootTwoOverPi));
}

OpLowering codegen::lowering_gelu() { return {emit}; }
