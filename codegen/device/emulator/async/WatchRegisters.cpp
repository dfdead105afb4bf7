//===- WatchRegisters.cpp - Registers that a wgmma works on ---------------===//
//
// Few instructions touch them, and only those are checked: their handlers are
// replaced when the kernel is decoded.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/async/Wgmma.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

static void check(Exec &x, const Inst &inst, Slot slot, bool writes) {
  const Program &program = *x.cta->program;
  auto index = program.watchIndex.find(slot);
  if (index == program.watchIndex.end())
    return;
  WarpAsync &mine = asyncOf(*x.warp);
  WatchedRegister &state = mine.registers[index->second];
  bool isResult = state.result > mine.completed;
  bool isOperand = writes && state.operand > mine.completed;
  if ((isResult || isOperand) && x.launch->options.checkAsync) {
    auto name = program.registerNames.find(slot);
    report(x, inst, firstLane(x.active), "async",
           cat("register ",
               name == program.registerNames.end() ? "?" : name->second,
               writes ? " is written" : " is read", " before the wgmma that ",
               isResult ? "writes" : "reads", " it has been waited for"));
  }
  // Before the first fence it stays "no fence yet".
  if (state.touchedAt != 1)
    state.touchedAt = x.pcOf(inst) + 2;
}

static void watched(Exec &x, const Inst &inst) {
  const Program &program = *x.cta->program;
  uint32_t pc = x.pcOf(inst);
  asyncOf(*x.warp).registers.resize(program.watchedSlots.size());
  const InstUse &use = program.uses[pc];
  for (Slot slot : use.reads)
    check(x, inst, slot, false);
  for (Slot slot : use.writes)
    check(x, inst, slot, true);
  program.watched.find(pc)->second(x, inst);
}

void emulator::watchRegisters(Program &program) {
  auto watch = [&](Slot slot) {
    if (program.watchIndex
            .try_emplace(slot,
                         static_cast<uint32_t>(program.watchedSlots.size()))
            .second)
      program.watchedSlots.push_back(slot);
  };
  for (const WgmmaForm &form : program.wgmmas) {
    for (uint32_t i = 0; i < form.resultCount; ++i)
      watch(program.slots[form.results + i]);
    for (uint32_t i = 0; form.aInRegisters && i < 4; ++i)
      watch(program.slots[form.operandA + i]);
  }
  for (size_t pc = 0; pc < program.code.size(); ++pc) {
    Inst &inst = program.code[pc];
    if (!inst.run || inst.run == issueWgmma)
      continue;
    const InstUse &use = program.uses[pc];
    auto isWatched = [&](Slot slot) {
      return program.watchIndex.contains(slot);
    };
    if (std::none_of(use.reads.begin(), use.reads.end(), isWatched) &&
        std::none_of(use.writes.begin(), use.writes.end(), isWatched))
      continue;
    program.watched[static_cast<uint32_t>(pc)] = inst.run;
    inst.run = watched;
  }
}
