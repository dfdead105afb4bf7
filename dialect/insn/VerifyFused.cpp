//===- VerifyFused.cpp - What makes a region a recipe ---------------------===//
#include "dialect/insn/InsnDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tandem::insn;

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError() << "expected a name for each of "
                         << block.getNumArguments() << " inputs, got "
                         << getInputs().size();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("expected insn.yield at the end of its region");
  if (yield.getNumOperands() != getOutputs().size())
    return emitOpError() << "expected a name for each of "
                         << yield.getNumOperands() << " yielded values, got "
                         << getOutputs().size();
  if (ArrayAttr states = getStatesAttr())
    for (Attribute state : states)
      if (!llvm::is_contained(getInputs(), state))
        return emitOpError() << "state " << state << " is not an input";

  for (Operation &op : block) {
    if (op.getDialect() != getOperation()->getDialect())
      return op.emitOpError() << "is not an instruction";
    if (isa<FusedOp>(op))
      return op.emitOpError() << "cannot be a step: recipes do not nest";
  }
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (isa<BlockArgument>(value))
      return yield.emitOpError()
             << "output " << i << " is an input: copy it with insn.copy";
    if (!value.hasOneUse())
      return yield.emitOpError()
             << "output " << i
             << " is read again: a final output is write-only, copy it with "
                "insn.copy";
  }
  return success();
}
