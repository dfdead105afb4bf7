//===- Steps.h - Runs the steps of a recipe one after another ---*- C++ -*-===//
#ifndef TANDEM_REFOPS_STEPS_H
#define TANDEM_REFOPS_STEPS_H

#include "refops/RefOp.h"

namespace tandem::refops {

/// Runs `call.recipe` with `call.in` as its inputs and `call.out` as its final
/// outputs. Scratch lives between the step that writes it and the last one that
/// reads it, rounded to its type; parts of it that no step writes are zero.
/// Fails on an op without a reference and on a contract that does not say what
/// a step's bound needs.
Result<void> runSteps(OpCall<double> &call);
Result<void> runSteps(OpCall<Bounded> &call);

} // namespace tandem::refops

#endif // TANDEM_REFOPS_STEPS_H
