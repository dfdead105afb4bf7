//===- Interpreter.cpp - Runs the warps of a CTA --------------------------===//
//
// Each lane has a program counter. The lanes with the smallest one form the
// group that runs; a group that reaches another one's counter merges with it,
// which reconverges structured control flow at its join. A group that spins
// yields to the others after a while, as independent thread scheduling demands.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Barrier.h"
#include "codegen/device/emulator/Exec.h"
#include "codegen/device/emulator/Registers.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

namespace {
constexpr uint64_t fairnessSteps = 20000;
constexpr uint32_t noPc = ~0u;

/// The next 64 pseudo-random bits (splitmix64).
uint64_t nextRandom(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class WarpRunner {
public:
  WarpRunner(Cta &cta, Warp &warp)
      : cta(cta), warp(warp), code(cta.program->code.data()),
        tracks(cta.program->tracksRegisters && cta.launch->options.checkInit) {
    x.arena = warp.arena;
    x.warp = &warp;
    x.cta = &cta;
    x.launch = cta.launch;
  }

  /// Runs until no lane is ready or \p limit instructions have been issued.
  /// Returns how many were.
  uint64_t run(uint64_t limit) {
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

  /// Nothing else can run: lanes that wait for others of their warp are told so
  /// and go on without them.
  void force() {
    uint32_t pc = noPc;
    forEachLane(warp.blocked,
                [&](unsigned l) { pc = std::min(pc, warp.pc[l]); });
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
    if (inst.run)
      inst.run(x, inst);
    forEachLane(group, [&](unsigned l) { warp.pc[l] = pc + 1; });
  }

  /// Releases blocked lanes whose partners have exited meanwhile.
  bool retryBlocked() {
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

private:
  void select(uint32_t ready) {
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

  void savePc(uint32_t lanes, uint32_t to) {
    forEachLane(lanes, [&](unsigned l) { warp.pc[l] = to; });
  }

  /// Runs the group until it ends, waits, splits or meets another.
  void runGroup() {
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

  /// An instruction that the loop must know about. False: the group has ended
  /// and all lanes' counters are saved.
  bool control(const Inst &inst, uint32_t active) {
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
        if (!warp.live)
          completeAfterExit(cta);
        else if (cta.program->hasBarriers)
          completeAfterExit(cta);
      }
      return false;
    case Flow::Trap:
      savePc(group, pc + 1);
      if (active) {
        report(x, inst, firstLane(active), "trap",
               "the kernel executed 'trap'");
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
    case Flow::Converge:
      return converge(inst, active);
    case Flow::WarpBarrier:
      return warpBarrier(inst, active);
    case Flow::Plain:
      break;
    }
    return true;
  }

  /// The lanes that have to take part, as lane \p l says.
  uint32_t required(const Inst &inst, unsigned l) const {
    return inst.mask == noSlot ? warp.live
                               : x.lanes<uint32_t>(inst.mask)[l] & warp.live;
  }

  /// Blocks \p active when \p missing lanes may still come. Lanes that are at
  /// the same place but predicated off never will: reported at once.
  bool waitsForOthers(const Inst &inst, uint32_t active, uint32_t missing) {
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

  bool converge(const Inst &inst, uint32_t active) {
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
    uint32_t todo = here, ran = 0;
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
        if (inst.run)
          inst.run(x, inst);
        ran |= party;
      }
    }
    if (ran == group && here == active) {
      ++pc;
      return true;
    }
    warp.blocked &= ~ran;
    savePc(group | ran, pc + 1);
    savePc(active & ~ran, pc);
    return false;
  }

  bool warpBarrier(const Inst &inst, uint32_t active) {
    if (!active) {
      ++pc;
      return true;
    }
    uint32_t needs = required(inst, firstLane(active));
    uint32_t arrived = active;
    forEachLane(warp.blocked, [&](unsigned l) {
      const Inst &other = code[warp.pc[l]];
      if (other.flow == Flow::WarpBarrier && (needs >> l & 1))
        arrived |= uint32_t(1) << l;
    });
    if (waitsForOthers(inst, active, needs & ~arrived)) {
      savePc(group & ~active, pc + 1);
      savePc(active, pc);
      return false;
    }
    synchroniseWarp(warp, cta);
    if (arrived == active) {
      ++pc;
      return true;
    }
    savePc(group, pc + 1);
    forEachLane(arrived & ~active & warp.blocked,
                [&](unsigned l) { ++warp.pc[l]; });
    warp.blocked &= ~arrived;
    return false;
  }

  Exec x;
  Cta &cta;
  Warp &warp;
  const Inst *code;
  bool tracks;
  uint32_t group = 0;
  uint32_t pc = 0;
  uint32_t mergeAt = noPc;
  bool isDiverged = false;
  bool rotate = false;
  uint32_t rotateFrom = 0;
  uint64_t left = 0;
};
} // namespace

/// Adds to the launch's budget; true when it is used up.
static bool overBudget(Cta &cta) {
  uint64_t delta = cta.instructions - cta.budgetChecked;
  cta.budgetChecked = cta.instructions;
  Launch &launch = const_cast<Launch &>(*cta.launch);
  return launch.spent.fetch_add(delta, std::memory_order_relaxed) + delta >
         launch.budget;
}

static void reportBudget(Cta &cta) {
  Exec x;
  x.cta = &cta;
  x.launch = cta.launch;
  for (Warp &warp : cta.warps) {
    uint32_t ready = warp.live & ~warp.waiting & ~warp.blocked;
    if (!ready)
      continue;
    x.warp = &warp;
    unsigned lane = firstLane(ready);
    report(x, cta.program->code[warp.pc[lane]], lane, "budget",
           cat("the launch has run ", cta.launch->budget,
               " thread-instructions without ending"));
    break;
  }
  cta.aborted = true;
  const_cast<Launch &>(*cta.launch).stop = true;
}

bool emulator::runCta(Cta &cta, uint64_t quantum) {
  uint64_t seed = cta.launch->options.scheduleSeed;
  uint64_t issued = 0;
  while (issued < quantum && !cta.aborted) {
    uint64_t progress = 0;
    bool anyLive = false;
    // A seeded schedule visits the warps in random order for random times.
    if (seed)
      for (size_t i = cta.order.size(); i > 1; --i)
        std::swap(cta.order[i - 1], cta.order[nextRandom(cta.random) % i]);
    for (int w : cta.order) {
      Warp &warp = cta.warps[static_cast<size_t>(w)];
      if (!warp.live)
        continue;
      anyLive = true;
      uint64_t limit = 1 << 18;
      if (seed)
        limit = 1 + nextRandom(cta.random) %
                        (uint64_t(1) << (nextRandom(cta.random) % 9));
      WarpRunner runner(cta, warp);
      uint64_t ran = runner.run(limit);
      if (!ran && warp.blocked && runner.retryBlocked())
        ran = 1;
      progress += ran;
      if (cta.aborted || cta.launch->stop.load(std::memory_order_relaxed))
        return true;
      if (cta.instructions - cta.budgetChecked > 4000000 && overBudget(cta)) {
        reportBudget(cta);
        return true;
      }
    }
    if (!anyLive)
      break;
    issued += progress;
    if (progress)
      continue;
    auto blocked = std::find_if(cta.warps.begin(), cta.warps.end(),
                                [](const Warp &w) { return w.blocked; });
    if (blocked != cta.warps.end()) {
      WarpRunner(cta, *blocked).force();
      continue;
    }
    reportDeadlock(cta);
    cta.aborted = true;
    return true;
  }
  bool done = cta.aborted;
  if (!done)
    done = std::none_of(cta.warps.begin(), cta.warps.end(),
                        [](const Warp &w) { return w.live; });
  if (done && overBudget(cta) && !cta.aborted)
    reportBudget(cta);
  return done;
}
