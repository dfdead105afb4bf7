//===- Wgmma.cpp - Issues and completes warpgroup matrix products ---------===//
#include "codegen/device/emulator/async/Wgmma.h"

#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/WgmmaCompute.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

static constexpr int warpsOfGroup = 4;

static WarpGroup &groupOf(Cta &cta, int warp) {
  CtaAsync &async = asyncOf(cta);
  auto index = static_cast<size_t>(warp / warpsOfGroup);
  while (async.groups.size() <= index)
    async.groups.push_back(std::make_shared<WarpGroup>());
  WarpGroup &group = *async.groups[index];
  if (!group.agent)
    group.agent = newAgent(cta);
  return group;
}

static std::string nameOf(const Program &program, Slot slot) {
  auto name = program.registerNames.find(slot);
  return name == program.registerNames.end() ? "?" : name->second;
}

/// The fence and wait rules of the registers that \p inst works on; notes that
/// operation \p number uses them.
static void useRegisters(Exec &x, const Inst &inst, const WgmmaForm &form,
                         uint32_t number) {
  const Program &program = *x.cta->program;
  WarpAsync &mine = asyncOf(*x.warp);
  mine.registers.resize(program.watchedSlots.size());
  bool reports = x.launch->options.checkAsync;
  unsigned lane = firstLane(x.active);
  auto shape = static_cast<uint32_t>(form.n);
  auto fenced = [&](WatchedRegister &state, Slot slot, bool isOperand) {
    if (!reports)
      return;
    if (state.touchedAt == 1)
      report(x, inst, lane, "async",
             "no wgmma.fence before the first wgmma.mma_async");
    else if (state.touchedAt)
      report(x, inst, lane, "async",
             cat("register ", nameOf(program, slot), " was used at line ",
                 program.code[state.touchedAt - 2].line,
                 ", and no wgmma.fence lies between the two"));
    if (!isOperand && state.shape && state.shape != shape)
      report(x, inst, lane, "async",
             cat("register ", nameOf(program, slot),
                 " accumulates a wgmma of another shape, and no wgmma.fence "
                 "lies between the two"));
    if (isOperand && state.result > mine.completed)
      report(x, inst, lane, "async",
             cat("register ", nameOf(program, slot),
                 " is read as an operand before the wgmma that writes it has "
                 "been waited for"));
  };
  for (uint32_t i = 0; i < form.resultCount; ++i) {
    Slot slot = program.slots[form.results + i];
    WatchedRegister &state = mine.registers[program.watchIndex.at(slot)];
    fenced(state, slot, false);
    state.result = number;
    state.shape = shape;
  }
  if (form.aInRegisters)
    for (uint32_t i = 0; i < 4; ++i) {
      Slot slot = program.slots[form.operandA + i];
      WatchedRegister &state = mine.registers[program.watchIndex.at(slot)];
      fenced(state, slot, true);
      state.operand = number;
    }
}

/// All warps have issued it: its reads of shared memory begin.
static void start(Exec &x, const Inst &inst, WarpGroup &group, WgmmaOp &op,
                  uint32_t number) {
  const WgmmaForm &form = x.cta->program->wgmmas[static_cast<size_t>(inst.imm)];
  unsigned lane = firstLane(x.active);
  AsyncOp &logged =
      startOp(x, inst, lane, AsyncKind::WgmmaRead, group.agent, number);
  op.op = logged.id;
  if (!x.launch->options.checkAsync)
    return;
  std::array<Starter, warpsOfGroup> starters;
  int first = x.warp->index / warpsOfGroup * warpsOfGroup;
  for (int w = 0; w < warpsOfGroup; ++w)
    starters[static_cast<size_t>(w)] = {
        &x.cta->warps[static_cast<size_t>(first + w)], lane};
  auto read = [&](uint64_t bits, int extent, bool transposed, char name) {
    MatrixDescriptor descriptor(bits, form.elementBytes, transposed);
    if (descriptor.hasBaseOffset())
      report(x, inst, lane, "async",
             cat("the descriptor of ", name,
                 " has a base offset, which is not supported"));
    int unit = static_cast<int>(16 / form.elementBytes);
    int majorStep = transposed ? unit : 1, kStep = transposed ? 1 : unit;
    // Neighbours in memory are taken together.
    uint64_t begin = 0, end = 0;
    auto flush = [&] {
      if (end == begin)
        return;
      if (end > x.cta->shared.bytes) {
        report(x, inst, lane, "out-of-bounds",
               cat("operand ", name, " has 16 bytes at ", end - 16, " of ",
                   x.cta->shared.bytes, " bytes of shared memory"),
               end - 16);
        return;
      }
      asyncAccess(x, inst, starters, *x.cta, begin, end - begin, logged);
      checkSourceWritten(x, inst, lane, *x.cta, begin, end - begin);
    };
    for (int major = 0; major < extent; major += majorStep)
      for (int k = 0; k < form.k; k += kStep) {
        uint64_t at = descriptor.unitOf(major, k);
        if (at == end) {
          end += 16;
        } else if (at + 16 == begin) {
          begin = at;
        } else {
          flush();
          begin = at;
          end = at + 16;
        }
      }
    flush();
  };
  if (!form.aInRegisters)
    read(op.a, 64, form.transposeA, 'A');
  read(op.b, form.n, form.transposeB, 'B');
}

static void compute(Cta &cta, WarpGroup &group, size_t groupIndex,
                    uint32_t number) {
  WgmmaOp &op = *group.find(number);
  if (op.isDone)
    return;
  // In order: an accumulator may be the result of the one before.
  for (uint32_t earlier = group.firstNumber; earlier < number; ++earlier)
    if (!group.find(earlier)->isDone)
      compute(cta, group, groupIndex, earlier);
  computeWgmma(cta, static_cast<int>(groupIndex) * warpsOfGroup, op);
  op.isDone = true;
  if (AsyncOp *logged = cta.cluster->log.find(op.op))
    logged->pending = false;
}

void emulator::issueWgmma(Exec &x, const Inst &inst) {
  Cta &cta = *x.cta;
  const WgmmaForm &form = cta.program->wgmmas[static_cast<size_t>(inst.imm)];
  WarpGroup &group = groupOf(cta, x.warp->index);
  WarpAsync &mine = asyncOf(*x.warp);
  uint32_t number = ++mine.issued;
  unsigned lane = firstLane(x.active);
  WgmmaOp wanted;
  wanted.inst = &inst;
  if (!form.aInRegisters)
    wanted.a = x.lanes<uint64_t>(form.descriptorA)[lane];
  wanted.b = x.lanes<uint64_t>(form.descriptorB)[lane];
  uint32_t scale = form.scaleD == noSlot ? ~0u : x.mask(form.scaleD);
  if (form.scaleNegated)
    scale = ~scale;
  wanted.scaleD = scale >> lane & 1;
  forEachLane(x.active, [&](unsigned l) {
    if ((scale >> l & 1) != wanted.scaleD ||
        x.lanes<uint64_t>(form.descriptorB)[l] != wanted.b ||
        (!form.aInRegisters &&
         x.lanes<uint64_t>(form.descriptorA)[l] != wanted.a))
      report(x, inst, l, "divergent",
             "descriptors and scale-d have to be the same in all lanes");
  });
  useRegisters(x, inst, form, number);
  WgmmaOp *op = group.find(number);
  if (!op) {
    group.ops.push_back(wanted);
    op = &group.ops.back();
  } else if (op->inst != &inst || op->a != wanted.a || op->b != wanted.b ||
             op->scaleD != wanted.scaleD) {
    report(
        x, inst, lane, "divergent",
        op->inst != &inst
            ? cat("another warp of the warpgroup executes the wgmma at line ",
                  op->inst->line, " here")
            : std::string("another warp of the warpgroup has other "
                          "descriptors or another scale-d here"));
  }
  if (++op->arrived < warpsOfGroup)
    return;
  start(x, inst, group, *op, number);
  if (!x.launch->options.checkAsync)
    compute(cta, group, static_cast<size_t>(x.warp->index / warpsOfGroup),
            number);
  wakeAll(*cta.cluster);
}

void emulator::fenceWgmma(Exec &x, const Inst &) {
  WarpAsync &mine = asyncOf(*x.warp);
  mine.registers.resize(x.cta->program->watchedSlots.size());
  for (WatchedRegister &state : mine.registers)
    state.touchedAt = state.shape = 0;
}

void emulator::commitWgmma(Exec &x, const Inst &) {
  WarpAsync &mine = asyncOf(*x.warp);
  mine.groupEnds.push_back(mine.issued);
  ++mine.committed;
}

void emulator::waitWgmma(Exec &x, const Inst &inst) {
  WarpAsync &mine = asyncOf(*x.warp);
  auto keep = static_cast<uint64_t>(inst.imm);
  if (mine.groupEnds.size() <= keep)
    return;
  size_t last = mine.groupEnds.size() - 1 - keep;
  uint32_t number = mine.groupEnds[last];
  if (number <= mine.completed)
    return;
  WarpGroup &group = groupOf(*x.cta, x.warp->index);
  for (uint32_t n = mine.completed + 1; n <= number; ++n) {
    const WgmmaOp *op = group.find(n);
    if (op && op->arrived < warpsOfGroup) {
      waitAgain(x, x.active);
      return;
    }
  }
  auto index = static_cast<size_t>(x.warp->index / warpsOfGroup);
  if (group.find(number))
    compute(*x.cta, group, index, number);
  mine.completed = number;
  learnAgent(x, group.agent, number);
  // What all four warps have waited for is forgotten.
  uint32_t least = number;
  for (size_t w = index * warpsOfGroup;
       w < std::min((index + 1) * warpsOfGroup, x.cta->warps.size()); ++w)
    least = std::min(least, asyncOf(x.cta->warps[w]).completed);
  while (group.firstNumber <= least && !group.ops.empty()) {
    group.ops.pop_front();
    ++group.firstNumber;
  }
}

bool emulator::computeOneWgmma(Cta &cta, uint64_t chosen) {
  if (!cta.async || cta.async->groups.empty())
    return false;
  size_t index = chosen % cta.async->groups.size();
  WarpGroup &group = *cta.async->groups[index];
  for (uint32_t n = group.firstNumber; n < group.next(); ++n) {
    WgmmaOp &op = *group.find(n);
    if (op.isDone)
      continue;
    if (op.arrived < warpsOfGroup)
      return false;
    compute(cta, group, index, n);
    return true;
  }
  return false;
}

std::string emulator::wgmmaWait(const Cta &cta, const Warp &warp) {
  auto index = static_cast<size_t>(warp.index / warpsOfGroup);
  if (!warp.async || !cta.async || index >= cta.async->groups.size())
    return {};
  WarpGroup &group = *cta.async->groups[index];
  for (uint32_t n = warp.async->completed + 1; n <= warp.async->issued; ++n) {
    const WgmmaOp *op = group.find(n);
    if (op && op->arrived < warpsOfGroup)
      return cat("the wgmma at line ", op->inst->line, ", which ",
                 warpsOfGroup - op->arrived,
                 " of the four warps of the warpgroup have not executed");
  }
  return {};
}
