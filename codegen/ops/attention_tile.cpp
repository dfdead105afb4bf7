//===- attention_tile.cpp - Lowering of insn.attention_tile -----------===//
#include "codegen/ops/Attention.h"
#include "codegen/ops/Lowering.h"

using namespace tandem;
using namespace tandem::codegen;

OpLowering codegen::lowering_attention_tile() { return {emitAttention}; }
