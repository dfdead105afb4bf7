//===- nop.cpp - Reference for insn.nop
//------------------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  return {};
}

RefOp tandem::refops::ref_nop() {
  return {.code = Opcode::NOP,
          .name = "nop",
          .evaluate = eval<double>,
          .evaluateBounded = eval<Bounded>,
          .knownAnswers = {}};
}
