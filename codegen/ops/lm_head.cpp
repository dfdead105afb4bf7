//===- lm_head.cpp - Lowering of insn.lm_head -----------------------------===//
#include "codegen/ops/MatmulLoop.h"

using namespace tandem;
using namespace tandem::codegen;

/// One row times a matrix.
static void emit(RowBuilder &k) { finishMatmul(k, gemvSum(k)); }

OpLowering codegen::lowering_lm_head() { return {emit}; }
