//===- gemv_tile.cpp - Lowering of insn.gemv_tile -------------------------===//
#include "codegen/ops/MatmulLoop.h"

using namespace tandem;
using namespace tandem::codegen;

static void emit(RowBuilder &k) { finishMatmul(k, gemvSum(k)); }

OpLowering codegen::lowering_gemv_tile() { return {emit}; }
