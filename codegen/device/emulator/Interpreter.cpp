//===- Interpreter.cpp - Runs the warps of a CTA --------------------------===//
#include "codegen/device/emulator/Barrier.h"
#include "codegen/device/emulator/WarpRunner.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

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

Turn emulator::runCta(Cta &cta, uint64_t quantum) {
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
        return Turn::Done;
      if (cta.instructions - cta.budgetChecked > 4000000 && overBudget(cta)) {
        reportBudget(cta);
        return Turn::Done;
      }
    }
    if (!anyLive)
      break;
    if (!progress)
      return issued ? Turn::More : Turn::Stuck;
    issued += progress;
  }
  bool done = cta.aborted;
  if (!done)
    done = std::none_of(cta.warps.begin(), cta.warps.end(),
                        [](const Warp &w) { return w.live; });
  if (done && overBudget(cta) && !cta.aborted)
    reportBudget(cta);
  return done ? Turn::Done : Turn::More;
}
