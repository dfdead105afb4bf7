//===- InsnDialect.cpp - Registration of the insn dialect -----------------===//
#include "dialect/insn/InsnDialect.h"

using namespace tandem::insn;

#include "dialect/insn/InsnDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/insn/InsnOps.cpp.inc"

void InsnDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/insn/InsnOps.cpp.inc"
      >();
}
