//===- Rendezvous.cpp - Lanes that have to execute together ---------------===//
#include "codegen/device/emulator/Barrier.h"
#include "codegen/device/emulator/WarpRunner.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

void WarpRunner::force() {
  uint32_t pc = noPc;
  forEachLane(warp.blocked, [&](unsigned l) { pc = std::min(pc, warp.pc[l]); });
  group = 0;
  forEachLane(warp.blocked, [&](unsigned l) {
    if (warp.pc[l] == pc)
      group |= uint32_t(1) << l;
  });
  const Inst &inst = code[pc];
  x.active = group;
  uint32_t missing = required(inst, firstLane(group)) & ~group;
  unsigned other = missing ? firstLane(missing) : firstLane(group);
  report(x, inst, firstLane(group), "divergent",
         cat(__builtin_popcount(group),
             " of the lanes that have to execute "
             "this together have arrived; lane ",
             other,
             warp.live >> other & 1
                 ? cat(" is at line ", code[warp.pc[other]].line)
                 : std::string(" has exited")));
  warp.blocked &= ~group;
  if (inst.flow == Flow::Barrier) {
    forEachLane(group, [&](unsigned l) { warp.pc[l] = pc + 1; });
    arriveAtBarrier(x, inst);
    return;
  }
  warp.retry = 0;
  if (inst.run)
    inst.run(x, inst);
  forEachLane(group & ~warp.retry, [&](unsigned l) { warp.pc[l] = pc + 1; });
}

bool WarpRunner::retryBlocked() {
  uint32_t todo = warp.blocked;
  while (todo) {
    uint32_t pc = warp.pc[firstLane(todo)];
    uint32_t here = 0;
    forEachLane(warp.blocked, [&](unsigned l) {
      if (warp.pc[l] == pc)
        here |= uint32_t(1) << l;
    });
    todo &= ~here;
    if (!(required(code[pc], firstLane(here)) & ~here)) {
      warp.blocked &= ~here;
      return true;
    }
  }
  return false;
}

uint32_t WarpRunner::required(const Inst &inst, unsigned l) const {
  return inst.mask == noSlot ? warp.live
                             : x.lanes<uint32_t>(inst.mask)[l] & warp.live;
}

bool WarpRunner::waitsForOthers(const Inst &inst, uint32_t active,
                                uint32_t missing) {
  if (!missing)
    return false;
  if (missing & group) {
    report(x, inst, firstLane(active), "divergent",
           cat("lane ", firstLane(missing & group),
               " has to take part and is predicated off"));
    return false;
  }
  warp.blocked |= active;
  return true;
}

bool WarpRunner::converge(const Inst &inst, uint32_t active) {
  if (!active) {
    ++pc;
    return true;
  }
  // Lanes blocked here join; lanes with other masks form parties of their
  // own.
  uint32_t here = active;
  forEachLane(warp.blocked, [&](unsigned l) {
    if (warp.pc[l] == pc)
      here |= uint32_t(1) << l;
  });
  uint32_t todo = here, ran = 0, sentBack = 0;
  while (todo) {
    unsigned first = firstLane(todo);
    uint32_t needs = required(inst, first);
    uint32_t party = needs & here & ~ran;
    if (!(party >> first & 1)) {
      x.active = active;
      report(x, inst, first, "divergent",
             "the thread is not in its own member mask");
      party |= uint32_t(1) << first;
    }
    todo &= ~party;
    x.active = party;
    if (!waitsForOthers(inst, party, needs & ~party)) {
      x.active = party;
      warp.retry = 0;
      if (inst.run)
        inst.run(x, inst);
      ran |= party & ~warp.retry;
      sentBack |= party & warp.retry;
    }
  }
  if (ran == group && here == active) {
    ++pc;
    return true;
  }
  warp.blocked &= ~(ran | sentBack);
  savePc(group | ran, pc + 1);
  savePc((active & ~ran) | sentBack, pc);
  return false;
}

/// Lanes with one mask form a party; those of it that wait at another
/// bar.warp.sync go on together with those that are here.
bool WarpRunner::warpBarrier(const Inst &inst, uint32_t active) {
  uint32_t todo = active, ran = 0;
  while (todo) {
    unsigned first = firstLane(todo);
    uint32_t needs = required(inst, first);
    x.active = active;
    if (!(needs >> first & 1)) {
      report(x, inst, first, "divergent",
             "the thread is not in its own member mask");
      needs |= uint32_t(1) << first;
    }
    uint32_t elsewhere = 0;
    forEachLane(warp.blocked & needs & ~active, [&](unsigned l) {
      if (code[warp.pc[l]].flow == Flow::WarpBarrier)
        elsewhere |= uint32_t(1) << l;
    });
    uint32_t party = needs & todo;
    todo &= ~party;
    if (waitsForOthers(inst, party, needs & ~party & ~elsewhere))
      continue;
    synchroniseWarp(warp, cta, party | elsewhere);
    forEachLane(elsewhere, [&](unsigned l) { ++warp.pc[l]; });
    warp.blocked &= ~elsewhere;
    ran |= party;
  }
  if (ran == active) {
    ++pc;
    return true;
  }
  savePc(group, pc + 1);
  savePc(active & ~ran, pc);
  return false;
}
