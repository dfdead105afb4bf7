//===- Interpreter.cpp - Runs the warps of a CTA --------------------------===//
#include "codegen/device/emulator/Barrier.h"
#include "codegen/device/emulator/WarpRunner.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

/// The next 64 pseudo-random bits (splitmix64).
static uint64_t nextRandom(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
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
