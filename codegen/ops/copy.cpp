//===- copy.cpp - Lowering of insn.copy
//--------------------------------------===//
#include "codegen/ops/RowBuilder.h"

using namespace tandem;
using namespace tandem::codegen;

static void emit(RowBuilder &k) {
  // Equal types move bits, so that NaN payloads stay.
  k.resultRaw(k.convert(k.inputType(0), k.resultType(), k.inputRaw(0)));
}

OpLowering codegen::lowering_copy() { return {emit}; }
