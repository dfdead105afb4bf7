//===- nop.cpp - Lowering of insn.nop
//----------------------------------------===//
#include "codegen/ops/Lowering.h"

using namespace tandem;
using namespace tandem::codegen;

// Computes nothing: it never reaches a kernel.

OpLowering codegen::lowering_nop() { return {}; }
