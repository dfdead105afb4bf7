//===- WarpRunner.cpp - A warp in execution -------------------------------===//
#include "codegen/device/emulator/WarpRunner.h"

#include "codegen/device/emulator/Barrier.h"
#include "codegen/device/emulator/Registers.h"
#include "codegen/device/emulator/async/Cluster.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

static constexpr uint64_t fairnessSteps = 20000;

uint64_t WarpRunner::run(uint64_t limit) {
  left = limit;
  while (left && !cta.aborted) {
    uint32_t ready = warp.live & ~warp.waiting & ~warp.blocked;
    if (!ready)
      break;
    select(ready);
    runGroup();
  }
  return limit - left;
}

void WarpRunner::select(uint32_t ready) {
  uint32_t lowest = noPc;
  pc = noPc;
  forEachLane(ready, [&](unsigned l) {
    lowest = std::min(lowest, warp.pc[l]);
    if (rotate && warp.pc[l] > rotateFrom)
      pc = std::min(pc, warp.pc[l]);
  });
  if (pc == noPc)
    pc = lowest;
  rotate = false;
  group = 0;
  mergeAt = noPc;
  forEachLane(ready, [&](unsigned l) {
    if (warp.pc[l] == pc)
      group |= uint32_t(1) << l;
    else if (warp.pc[l] > pc)
      mergeAt = std::min(mergeAt, warp.pc[l]);
  });
  isDiverged = group != ready;
}

void WarpRunner::runGroup() {
  uint64_t steps = isDiverged ? std::min(left, fairnessSteps) : left;
  uint64_t begun = steps;
  auto lanes = static_cast<uint64_t>(__builtin_popcount(group));
  bool expired = true;
  while (steps) {
    if (pc >= mergeAt) {
      expired = false;
      break;
    }
    --steps;
    const Inst &inst = code[pc];
    uint32_t active = group;
    if (inst.guard != noSlot) {
      uint32_t guard = x.mask(inst.guard);
      active &= inst.guardNegated ? ~guard : guard;
    }
    if (tracks)
      trackUndefined(x, inst, group, active);
    if (inst.flow == Flow::Plain) {
      if (active) {
        x.active = active;
        inst.run(x, inst);
      }
      ++pc;
      continue;
    }
    if (!control(inst, active)) {
      expired = false;
      cta.instructions += (begun - steps) * lanes;
      left -= begun - steps;
      return;
    }
  }
  savePc(group, pc);
  cta.instructions += (begun - steps) * lanes;
  left -= begun - steps;
  if (expired && isDiverged) {
    rotate = true;
    rotateFrom = pc;
  }
}

bool WarpRunner::control(const Inst &inst, uint32_t active) {
  x.active = active;
  switch (inst.flow) {
  case Flow::Branch:
    if (active == group) {
      pc = inst.target;
      return true;
    }
    if (!active) {
      ++pc;
      return true;
    }
    savePc(group & ~active, pc + 1);
    savePc(active, inst.target);
    return false;
  case Flow::BranchTable: {
    savePc(group & ~active, pc + 1);
    const uint32_t *index = x.lanes<uint32_t>(inst.a);
    forEachLane(active, [&](unsigned l) {
      if (index[l] < inst.target) {
        warp.pc[l] = cta.program->slots[inst.list + index[l]];
        return;
      }
      report(x, inst, l, "trap",
             cat("branch index ", index[l], " of ", inst.target));
      cta.aborted = true;
    });
    return false;
  }
  case Flow::Exit:
    savePc(group, pc + 1);
    if (active) {
      warp.live &= ~active;
      if (!warp.live || cta.program->hasBarriers)
        completeAfterExit(cta);
      laneExited(cta);
    }
    return false;
  case Flow::Trap:
    savePc(group, pc + 1);
    if (active) {
      report(x, inst, firstLane(active), "trap", "the kernel executed 'trap'");
      cta.aborted = true;
    }
    return false;
  case Flow::Barrier:
    savePc(group, pc + 1);
    if (active) {
      // `.aligned`: all lanes of the warp have to arrive together.
      if (inst.extra && waitsForOthers(inst, active, warp.live & ~active)) {
        savePc(active, pc);
        return false;
      }
      arriveAtBarrier(x, inst);
    }
    return false;
  case Flow::Call:
    return call(inst, active);
  case Flow::Return:
    return leave(active);
  case Flow::Converge:
    return converge(inst, active);
  case Flow::WarpBarrier:
    return warpBarrier(inst, active);
  case Flow::Wait: {
    if (!active) {
      ++pc;
      return true;
    }
    warp.retry = 0;
    inst.run(x, inst);
    if (!warp.retry) {
      ++pc;
      return true;
    }
    savePc(group & ~warp.retry, pc + 1);
    savePc(warp.retry, pc);
    return false;
  }
  case Flow::Plain:
    break;
  }
  return true;
}
