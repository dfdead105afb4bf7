//===- Barrier.cpp - CTA barriers, and why they do not complete -----------===//
#include "codegen/device/emulator/Barrier.h"

#include "codegen/device/emulator/async/Cluster.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

/// Everything before the barrier happens before everything after it.
static void orderParticipants(Cta &cta, const Barrier &barrier, bool isFull) {
  if (cta.clock >= clockMask) {
    cta.clockExhausted = true;
    return;
  }
  uint32_t from = 0, to = 0;
  for (const BarrierWaiter &waiter : barrier.waiters) {
    from |= uint32_t(1) << waiter.warp;
    to |= waiter.waits ? uint32_t(1) << waiter.warp : 0;
  }
  shareKnowledge(cta, from, to);
  if (isFull) {
    uint32_t upTo = cta.clock++;
    for (Warp &warp : cta.warps) {
      warp.orderedUpTo = warp.syncedUpTo = upTo;
      warp.clock = cta.clock;
      warp.seen.fill(upTo);
    }
    return;
  }
  std::array<uint32_t, 32> joined = {};
  for (const BarrierWaiter &waiter : barrier.waiters) {
    for (size_t w = 0; w < joined.size(); ++w)
      joined[w] = std::max(joined[w], waiter.seen[w]);
    auto self = static_cast<size_t>(waiter.warp);
    joined[self] = std::max(joined[self], waiter.clock);
  }
  ++cta.clock;
  for (const BarrierWaiter &waiter : barrier.waiters) {
    if (!waiter.waits)
      continue;
    Warp &warp = cta.warps[static_cast<size_t>(waiter.warp)];
    for (size_t w = 0; w < joined.size(); ++w)
      warp.seen[w] = std::max(warp.seen[w], joined[w]);
    warp.syncedUpTo = std::max(warp.syncedUpTo, waiter.clock);
    warp.clock = cta.clock;
    warp.orderedUpTo = ~0u;
    for (size_t w = 0; w < cta.warps.size(); ++w)
      warp.orderedUpTo = std::min(warp.orderedUpTo, warp.seen[w]);
  }
}

static void reduce(Cta &cta, const Barrier &barrier) {
  uint32_t count = 0;
  bool all = true, any = false;
  for (const BarrierWaiter &waiter : barrier.waiters) {
    uint32_t set = waiter.predicate & waiter.lanes;
    count += static_cast<uint32_t>(__builtin_popcount(set));
    all &= set == waiter.lanes;
    any |= set != 0;
  }
  for (const BarrierWaiter &waiter : barrier.waiters) {
    auto mode = static_cast<BarrierMode>(waiter.inst->mode);
    Exec x;
    x.arena = cta.warps[static_cast<size_t>(waiter.warp)].arena;
    x.active = waiter.lanes;
    if (mode == BarrierMode::RedPopc)
      setLanes<uint32_t>(x, waiter.inst->d, [&](int) { return count; });
    else if (mode == BarrierMode::RedAnd)
      setMask(x, waiter.inst->d, all ? ~0u : 0);
    else if (mode == BarrierMode::RedOr)
      setMask(x, waiter.inst->d, any ? ~0u : 0);
  }
}

static bool tryComplete(Cta &cta, Barrier &barrier, int64_t expected) {
  if (barrier.waiters.empty())
    return false;
  std::array<uint32_t, 32> arrived = {};
  for (const BarrierWaiter &waiter : barrier.waiters)
    arrived[static_cast<size_t>(waiter.warp)] |= waiter.lanes;
  bool isFull = true;
  for (const Warp &warp : cta.warps)
    isFull &= (warp.live & ~arrived[static_cast<size_t>(warp.index)]) == 0;
  if (expected >= 0) {
    // The hardware counts in warps: an arrival of all live lanes counts 32.
    int64_t count = 0;
    for (const BarrierWaiter &waiter : barrier.waiters) {
      uint32_t live = cta.warps[static_cast<size_t>(waiter.warp)].live;
      count += (live & ~waiter.lanes) == 0 ? warpSize
                                           : __builtin_popcount(waiter.lanes);
    }
    if (count < expected)
      return false;
    for (const BarrierWaiter &waiter : barrier.waiters)
      isFull &= waiter.waits;
  } else if (!isFull) {
    return false;
  }
  orderParticipants(cta, barrier, isFull);
  reduce(cta, barrier);
  for (const BarrierWaiter &waiter : barrier.waiters)
    if (waiter.waits)
      cta.warps[static_cast<size_t>(waiter.warp)].waiting &= ~waiter.lanes;
  barrier.waiters.clear();
  return true;
}

static int64_t expectedAt(Cta &cta, const BarrierWaiter &waiter) {
  if (waiter.inst->b == noSlot)
    return -1;
  const char *arena = cta.warps[static_cast<size_t>(waiter.warp)].arena;
  return reinterpret_cast<const uint32_t *>(
      arena + waiter.inst->b)[firstLane(waiter.lanes)];
}

void emulator::arriveAtBarrier(Exec &x, const Inst &inst) {
  Cta &cta = *x.cta;
  auto mode = static_cast<BarrierMode>(inst.mode);
  unsigned first = firstLane(x.active);
  uint32_t id = x.lanes<uint32_t>(inst.a)[first];
  if (id >= cta.barriers.size()) {
    report(x, inst, first, "barrier",
           cat("barrier ", id, " does not exist, there are 0 to 15"));
    return;
  }
  BarrierWaiter waiter;
  waiter.warp = x.warp->index;
  waiter.lanes = x.active;
  waiter.inst = &inst;
  waiter.waits = mode != BarrierMode::Arrive;
  waiter.clock = x.warp->clock;
  waiter.seen = x.warp->seen;
  if (mode >= BarrierMode::RedPopc)
    waiter.predicate = inst.flags ? ~x.mask(inst.c) : x.mask(inst.c);
  Barrier &barrier = cta.barriers[id];
  int64_t expected = expectedAt(cta, waiter);
  if (expected >= 0 && expected % warpSize != 0)
    report(x, inst, first, "barrier",
           cat("thread count ", expected, " is not a multiple of 32"));
  if (!barrier.waiters.empty()) {
    int64_t before = expectedAt(cta, barrier.waiters.front());
    if (before != expected)
      report(x, inst, first, "barrier",
             cat("barrier ", id, " expects ",
                 expected < 0 ? "all" : std::to_string(expected),
                 " threads here and ",
                 before < 0 ? "all" : std::to_string(before), " at line ",
                 barrier.waiters.front().inst->line));
  }
  barrier.waiters.push_back(waiter);
  if (waiter.waits)
    x.warp->waiting |= x.active;
  else
    advanceClock(*x.warp, cta);
  tryComplete(cta, barrier, expected);
}

void emulator::completeAfterExit(Cta &cta) {
  for (Barrier &barrier : cta.barriers)
    if (!barrier.waiters.empty())
      tryComplete(cta, barrier, expectedAt(cta, barrier.waiters.front()));
}

void emulator::reportDeadlock(Cta &cta) {
  std::string who;
  const BarrierWaiter *first = nullptr;
  int64_t waiting = 0, live = 0;
  for (size_t id = 0; id < cta.barriers.size(); ++id) {
    // By line: how many threads wait there.
    std::map<int, int> byLine;
    for (const BarrierWaiter &waiter : cta.barriers[id].waiters) {
      if (!first)
        first = &waiter;
      if (waiter.waits)
        byLine[waiter.inst->line] += __builtin_popcount(waiter.lanes);
    }
    for (auto [line, count] : byLine) {
      int64_t expected = expectedAt(cta, cta.barriers[id].waiters.front());
      who += cat(who.empty() ? "" : "; ", count, " threads wait at line ", line,
                 " for barrier ", id, " (needs ",
                 expected < 0 ? "all" : std::to_string(expected), ")");
      waiting += count;
    }
  }
  // Lanes that would try again, by line.
  struct Try {
    Warp *warp;
    unsigned lane;
    int count;
  };
  std::map<uint32_t, Try> tries;
  for (Warp &warp : cta.warps)
    forEachLane(warp.retries, [&](unsigned l) {
      ++tries.try_emplace(warp.pc[l], Try{&warp, l, 0}).first->second.count;
    });
  const Inst *firstTry = nullptr;
  for (auto [pc, at] : tries) {
    const Inst &inst = cta.program->code[pc];
    if (!firstTry)
      firstTry = &inst;
    who += cat(who.empty() ? "" : "; ", at.count,
               at.count == 1 ? " thread waits" : " threads wait", " at line ",
               inst.line, " for ", waitedFor(cta, *at.warp, at.lane, inst));
    waiting += at.count;
  }
  int64_t threads = 0;
  for (const Warp &warp : cta.warps)
    live += __builtin_popcount(warp.live);
  for (int dim : cta.launch->block)
    threads = threads ? threads * dim : dim;
  if (threads > live)
    who += cat(who.empty() ? "" : "; ", threads - live, " threads exited");
  if (live > waiting)
    who += cat("; ", live - waiting, " threads wait for lanes of their warp");
  Exec x;
  x.cta = &cta;
  x.launch = cta.launch;
  if (first) {
    x.warp = &cta.warps[static_cast<size_t>(first->warp)];
    report(x, *first->inst, firstLane(first->lanes), "deadlock",
           "no thread of the block can go on: " + who);
  } else {
    x.warp = &cta.warps[0];
    report(x, firstTry ? *firstTry : cta.program->code[cta.program->begin], 0,
           "deadlock", "no thread of the block can go on: " + who);
  }
}
