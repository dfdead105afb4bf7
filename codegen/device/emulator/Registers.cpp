//===- Registers.cpp - Values that were never given -----------------------===//
#include "codegen/device/emulator/Registers.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

void emulator::findUndefinedReads(Program &program) {
  size_t n = program.code.size();
  size_t words = program.arenaBytes / 4 / 64 + 1;
  // Registers that are written on every path to an instruction: all ones is
  // "not reached yet". A predicated write may not happen, so it does not count:
  // run time decides whether the use has the same predicate.
  std::vector<uint64_t> in(n * words, ~uint64_t(0));
  std::vector<uint64_t> out(words);
  std::vector<uint32_t> work;
  std::vector<bool> queued(n, false);
  auto set = [&](uint64_t *bits, Slot slot) {
    bits[slot / 4 / 64] |= uint64_t(1) << (slot / 4 % 64);
  };
  // Every function begins with its registers unset.
  for (const Function &function : program.functions) {
    uint64_t *first = &in[function.begin * words];
    std::fill_n(first, words, 0);
    for (const SpecialSlot &special : program.specials)
      set(first, special.slot);
    for (const ConstantSlot &constant : program.constants)
      set(first, constant.slot);
    if (program.frame != noSlot)
      set(first, program.frame);
    work.push_back(function.begin);
  }
  auto flowTo = [&](uint32_t to) {
    if (to >= n)
      return;
    bool changed = false;
    for (size_t w = 0; w < words; ++w) {
      uint64_t meet = in[to * words + w] & out[w];
      changed |= meet != in[to * words + w];
      in[to * words + w] = meet;
    }
    if (changed && !queued[to]) {
      queued[to] = true;
      work.push_back(to);
    }
  };
  std::vector<bool> visited(n, false);
  while (!work.empty()) {
    uint32_t at = work.back();
    work.pop_back();
    queued[at] = false;
    visited[at] = true;
    const Inst &inst = program.code[at];
    const InstUse &use = program.uses[at];
    std::copy_n(in.begin() + static_cast<ptrdiff_t>(at * words), words,
                out.begin());
    for (Slot slot : use.writes)
      if (inst.guard == noSlot)
        set(out.data(), slot);
    bool isConditional = inst.guard != noSlot;
    if (inst.flow == Flow::Branch) {
      flowTo(inst.target);
      if (isConditional)
        flowTo(at + 1);
    } else if (inst.flow == Flow::BranchTable) {
      for (uint32_t i = 0; i < inst.target; ++i)
        flowTo(program.slots[inst.list + i]);
      if (isConditional)
        flowTo(at + 1);
    } else if ((inst.flow != Flow::Exit && inst.flow != Flow::Return) ||
               isConditional) {
      flowTo(at + 1);
    }
  }
  for (size_t at = 0; at < n && !program.tracksRegisters; ++at) {
    if (!visited[at])
      continue;
    auto isSet = [&](Slot slot) {
      return in[at * words + slot / 4 / 64] >> (slot / 4 % 64) & 1;
    };
    for (Slot slot : program.uses[at].reads)
      if (!isSet(slot))
        program.tracksRegisters = true;
    if (program.code[at].guard != noSlot && !isSet(program.code[at].guard))
      program.tracksRegisters = true;
  }
}

static void reportUndefined(Exec &x, const Inst &inst, Slot slot,
                            uint32_t lanes, const char *use) {
  auto name = x.cta->program->registerNames.find(slot);
  report(x, inst, firstLane(lanes), "uninitialised",
         cat("register ",
             name == x.cta->program->registerNames.end() ? "?" : name->second,
             " decides ", use, " and holds a value that was never given"));
}

void emulator::trackUndefined(Exec &x, const Inst &inst, uint32_t group,
                              uint32_t active) {
  const InstUse &use = x.cta->program->uses[x.pcOf(inst)];
  std::vector<uint32_t> &undefined = x.warp->undefined;
  bool branches = inst.flow == Flow::Branch || inst.flow == Flow::BranchTable;
  x.active = group;
  if (inst.guard != noSlot) {
    uint32_t bad = undefined[inst.guard / 4] & group;
    if (bad && (branches || !use.critical.empty()))
      reportUndefined(x, inst, inst.guard, bad, "whether this is executed");
  }
  uint32_t tainted = 0;
  for (Slot slot : use.reads)
    tainted |= undefined[slot / 4];
  for (Slot slot : use.critical)
    if (uint32_t bad = undefined[slot / 4] & active)
      reportUndefined(x, inst, slot, bad,
                      branches ? "a branch" : "an address or a stored value");
  if (!use.critical.empty())
    tainted = 0;
  for (Slot slot : use.writes)
    undefined[slot / 4] = (undefined[slot / 4] & ~active) | (tainted & active);
}
