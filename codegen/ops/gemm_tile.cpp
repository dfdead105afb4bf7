//===- gemm_tile.cpp - Lowering of insn.gemm_tile -------------------------===//
#include "codegen/ops/MatmulLoop.h"

using namespace tandem;
using namespace tandem::codegen;

static void emit(RowBuilder &k) { finishMatmul(k, matmulSum(k)); }

OpLowering codegen::lowering_gemm_tile() { return {emit}; }
