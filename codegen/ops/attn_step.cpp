//===- attn_step.cpp - Lowering of insn.attn_step -----------===//
#include "codegen/ops/Attention.h"
#include "codegen/ops/Lowering.h"

using namespace tandem;
using namespace tandem::codegen;

OpLowering codegen::lowering_attn_step() { return {emitAttention}; }
