//===- Control.cpp - Loops and branches with tiles in registers -----------===//
#include "codegen/lower/Emitter.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;

Block *Emitter::newBlock(TypeRange types) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(types.size(), loc);
  return b.createBlock(&function.getBody(), function.getBody().end(), types,
                       locations);
}

void Emitter::branchTo(Block *block, ValueRange args) {
  LLVM::BrOp::create(b, loc, args, block);
}

Registers Emitter::guarded(Value condition, ValueRange otherwise,
                           llvm::function_ref<Registers()> body) {
  if (!condition)
    return body();
  Block *inside = newBlock();
  Block *after = newBlock(otherwise.getTypes());
  LLVM::CondBrOp::create(b, loc, condition, inside, ValueRange{}, after,
                         otherwise);
  b.setInsertionPointToStart(inside);
  Registers results = body();
  branchTo(after, results);
  b.setInsertionPointToStart(after);
  return Registers(after->getArguments().begin(), after->getArguments().end());
}

/// A loop that runs at least once, behind a test that it does:
///
///   if (lb < ub) do { body; i += step } while (i < ub)
LogicalResult Emitter::emitFor(scf::ForOp op) {
  SmallVector<Value> initial;
  for (Value init : op.getInitArgs())
    llvm::append_range(initial, get(init));
  Value lower = scalar(op.getLowerBound());
  Value upper = scalar(op.getUpperBound());
  Value step = scalar(op.getStep());

  SmallVector<Type> carried;
  for (Value value : initial)
    carried.push_back(value.getType());
  SmallVector<Type> entering = {lower.getType()};
  llvm::append_range(entering, carried);
  Block *body = newBlock(entering);
  Block *after = newBlock(carried);

  const auto less =
      op.getUnsignedCmp() ? LLVM::ICmpPredicate::ult : LLVM::ICmpPredicate::slt;
  Value runs = LLVM::ICmpOp::create(b, loc, less, lower, upper);
  SmallVector<Value> first = {lower};
  llvm::append_range(first, initial);
  LLVM::CondBrOp::create(b, loc, runs, body, first, after, initial);

  auto bind = [&](ValueRange tiles, ValueRange registers) {
    size_t next = 0;
    for (Value value : tiles) {
      const int64_t count = numRegisters(value.getType());
      set(value, Registers(registers.begin() + next,
                           registers.begin() + next + count));
      next += count;
    }
  };
  b.setInsertionPointToStart(body);
  set(op.getInductionVar(), {body->getArgument(0)});
  bind(op.getRegionIterArgs(), body->getArguments().drop_front());
  if (failed(emitBlock(*op.getBody())))
    return failure();

  loc = op.getLoc();
  SmallVector<Value> results;
  for (Value value : op.getYieldedValues())
    llvm::append_range(results, get(value));
  Value next = add(body->getArgument(0), step);
  Value again = LLVM::ICmpOp::create(b, loc, less, next, upper);
  SmallVector<Value> repeated = {next};
  llvm::append_range(repeated, results);
  LLVM::CondBrOp::create(b, loc, again, body, repeated, after, results);

  b.setInsertionPointToStart(after);
  bind(op.getResults(), after->getArguments());
  return success();
}

LogicalResult Emitter::emitIf(scf::IfOp op) {
  Value condition = scalar(op.getCondition());
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.append(numRegisters(result.getType()),
                 registerType(result.getType()));
  Block *thenBlock = newBlock();
  Block *elseBlock = op.elseBlock() ? newBlock() : nullptr;
  Block *after = newBlock(types);
  LLVM::CondBrOp::create(b, loc, condition, thenBlock, ValueRange{},
                         elseBlock ? elseBlock : after, ValueRange{});
  auto branch = [&](Block *block, Block *from) -> LogicalResult {
    b.setInsertionPointToStart(block);
    if (failed(emitBlock(*from)))
      return failure();
    SmallVector<Value> results;
    for (Value value : from->getTerminator()->getOperands())
      llvm::append_range(results, get(value));
    branchTo(after, results);
    return success();
  };
  if (failed(branch(thenBlock, op.thenBlock())) ||
      (elseBlock && failed(branch(elseBlock, op.elseBlock()))))
    return failure();
  b.setInsertionPointToStart(after);
  size_t next = 0;
  for (Value result : op.getResults()) {
    const int64_t count = numRegisters(result.getType());
    auto arguments = after->getArguments().slice(next, count);
    set(result, Registers(arguments.begin(), arguments.end()));
    next += count;
  }
  return success();
}
