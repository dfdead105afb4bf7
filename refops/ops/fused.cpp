//===- fused.cpp - Reference for insn.fused
//---------------------------------===//
//
// A fused recipe means the sequence of its steps, with scratch rounded where
// the unfused sequence rounds; refops/Steps.h runs it.
//
//===----------------------------------------------------------------------===//
#include "refops/Registry.h"
#include "refops/Steps.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  assert(call.recipe && "a fused call brings its recipe");
  return runSteps(call);
}

RefOp tandem::refops::ref_fused() {
  return {.code = Opcode::FUSED,
          .name = "fused",
          .evaluate = eval<double>,
          .evaluateBounded = eval<Bounded>,
          .knownAnswers = {}};
}
