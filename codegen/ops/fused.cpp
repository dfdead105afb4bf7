//===- fused.cpp - Lowering of insn.fused
//------------------------------------===//
#include "codegen/ops/Lowering.h"

using namespace tandem;
using namespace tandem::codegen;

// A recipe is compiled step by step and is no step itself.

OpLowering codegen::lowering_fused() { return {}; }
