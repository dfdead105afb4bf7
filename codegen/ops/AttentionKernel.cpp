//===- AttentionKernel.cpp - Where a CTA of attention stands --------------===//
#include "codegen/ops/AttentionKernel.h"

#include "refops/core/HostNumbers.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

AttentionKernel::AttentionKernel(RowBuilder &k)
    : HeadKernel(k), isStep(k.step().op == Opcode::ATTN_STEP),
      q(k.operandOf(0, Usage::Free)),
      keys(k.operandOf(isStep ? 3 : 1, Usage::Free)),
      values(k.operandOf(isStep ? 4 : 2, Usage::Free)), out(k.resultOperand(0)),
      partials(k.plan().find(k.plan().plan.partials, Usage::Free)),
      splits(k.plan().plan.splits), isBatched(q.desc.rank() == 3),
      isPartial(!isStep && (k.params().getInt("flags", 0) & 2)),
      numHeads(static_cast<int>(k.plan().tileDepth)),
      valueType(values.desc.dtype), columns(constant(k.plan().headDim)),
      zero(constant(0)) {
  scale = k.params().getFloat("scale", inverseRoot(k.plan().headDim));
}

Value AttentionKernel::offset(const ScheduledOperand &operand, int headDim,
                              Value head) {
  Value at = step(operand, headDim, head);
  return isBatched ? add(at, step(operand, 0, batch)) : at;
}

void AttentionKernel::place() {
  Value id = tile::ProgramIdOp::create(b, b.getI64Type(), 0);
  Value groups = k.scalar(k.plan().colTiles);
  Value kvHeads = k.scalar(keys.shape(dim(1)));
  headTile = remainder(id, groups);
  Value rest = divide(id, groups);
  kvHead = remainder(rest, kvHeads);
  batch = divide(rest, kvHeads);
  groupSize = k.scalar(k.plan().depth);
  if (splits > 1 && !k.plan().plan.merges)
    part = tile::ProgramIdOp::create(b, b.getI64Type(), 1);
}

void AttentionKernel::findWindow() {
  Value size = k.scalar(keys.shape(dim(0)));
  Value sequence = isBatched ? batch : Value();
  using enum arith::CmpIPredicate;
  if (isStep) {
    position = k.param("pos", sequence);
    start = zero;
    isGood = compare(ult, position, size);
    length = position;
  } else {
    start = k.param("kv_start", sequence);
    if (!start)
      start = zero;
    isGood = compare(ule, start, size);
    Value rest = subtract(size, start);
    length = k.param("kv_len", sequence);
    if (length)
      isGood = both(isGood, compare(ule, length, rest));
    else
      length = rest;
  }
  // Once a sequence, though two kernels look.
  if (!k.plan().plan.merges) {
    Value one = arith::ConstantOp::create(b, b.getBoolAttr(true));
    // By the first row of the sequence's result.
    k.reportRow(arith::XOrIOp::create(b, isGood, one),
                multiply(batch, k.scalar(q.shape(dim(0)))));
  }
  length = arith::SelectOp::create(b, isGood, length, zero);
}

std::pair<Value, Value> AttentionKernel::positionsOfPart(int64_t round) {
  if (splits == 1)
    return {zero, length};
  Value rounds = divide(add(length, constant(round * splits - 1)),
                        constant(round * splits));
  Value most = multiply(rounds, constant(round));
  auto within = [&](Value x) -> Value {
    return arith::MinSIOp::create(b, x, length);
  };
  Value first = within(multiply(part, most));
  return {first, within(add(first, most))};
}

std::pair<Value, Value> AttentionKernel::hasNewRow() {
  Value isHere = isGood;
  if (part)
    isHere = both(isHere, compare(arith::CmpIPredicate::eq, part, zero));
  return {isHere,
          both(isHere, compare(arith::CmpIPredicate::eq, headTile, zero))};
}

void AttentionKernel::append(const ScheduledOperand &fresh,
                             const ScheduledOperand &cache, Value mask) {
  Tile row = cast(
      fresh, cache,
      load(fresh, splat(newOffset(fresh)), splat(mask).value, zero, columns));
  Value to = add(offset(cache, dim(1), kvHead), step(cache, dim(0), position));
  store(row, cache, splat(to), splat(mask).value, zero, columns);
}

Value AttentionKernel::newOffset(const ScheduledOperand &fresh) {
  if (fresh.desc.rank() == 3)
    return isBatched ? offset(fresh, 1, kvHead) : step(fresh, 1, kvHead);
  if (!k.plan().newHeadsAreJoined)
    return step(fresh, 0, kvHead);
  Value at = step(fresh, 1, multiply(kvHead, columns));
  return isBatched ? add(at, step(fresh, 0, batch)) : at;
}
