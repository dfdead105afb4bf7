//===- allreduce_shard.cpp - Lowering of insn.allreduce_shard
//----------------===//
#include "codegen/ops/RowBuilder.h"

using namespace tandem;
using namespace tandem::codegen;

/// Left to right, as the definition says.
static void emit(RowBuilder &k) {
  Tile sum = k.input32(0);
  for (size_t shard = 1; shard < k.numInputs(); ++shard)
    sum = sum + k.input32(shard);
  k.result(sum);
}

OpLowering codegen::lowering_allreduce_shard() { return {emit}; }
