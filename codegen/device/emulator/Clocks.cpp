//===- Clocks.cpp - What a thread knows to have happened ------------------===//
#include "codegen/device/emulator/Clocks.h"

#include "codegen/device/emulator/Exec.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

// Knowledge -----------------------------------------------------------------

void Knowledge::raise(uint64_t key, uint32_t clock) {
  auto place = std::lower_bound(
      clocks.begin(), clocks.end(), key,
      [](const auto &entry, uint64_t wanted) { return entry.first < wanted; });
  if (place != clocks.end() && place->first == key)
    place->second = std::max(place->second, clock);
  else
    clocks.insert(place, {key, clock});
}

uint32_t Knowledge::at(uint64_t key) const {
  auto place = std::lower_bound(
      clocks.begin(), clocks.end(), key,
      [](const auto &entry, uint64_t wanted) { return entry.first < wanted; });
  return place != clocks.end() && place->first == key ? place->second : 0;
}

void Knowledge::learn(const Knowledge &other) {
  if (clocks.empty()) {
    clocks = other.clocks;
    return;
  }
  std::vector<std::pair<uint64_t, uint32_t>> joined;
  joined.reserve(clocks.size() + other.clocks.size());
  auto a = clocks.begin();
  auto b = other.clocks.begin();
  // The clock of the CTA at hand: what says less of its warps is dropped.
  uint64_t cta = ~uint64_t(0);
  uint32_t ofCta = 0;
  auto add = [&](uint64_t key, uint32_t clock) {
    if ((key & 2047) == 0) {
      cta = key >> 11;
      ofCta = clock;
    } else if (key >> 11 == cta && clock <= ofCta) {
      return;
    }
    joined.emplace_back(key, clock);
  };
  while (a != clocks.end() || b != other.clocks.end()) {
    if (b == other.clocks.end() || (a != clocks.end() && a->first < b->first)) {
      add(a->first, a->second);
      ++a;
    } else if (a == clocks.end() || b->first < a->first) {
      add(b->first, b->second);
      ++b;
    } else {
      add(a->first, std::max(a->second, b->second));
      ++a;
      ++b;
    }
  }
  clocks = std::move(joined);
}

bool Knowledge::covers(AccessId access) const { return covers(access, 0); }

bool Knowledge::covers(AccessId access, uint64_t space) const {
  uint64_t stamp = space | stampOf(access) << 11;
  uint64_t clock = access & clockMask;
  unsigned warp = warpOf(access);
  return clock <= at(stamp) || clock <= at(stamp | (1 + warp)) ||
         clock <= at(stamp | (64 + warp * 32 + laneOf(access)));
}

void Knowledge::learnProxied(const Knowledge &other) {
  for (const auto &[key, clock] : other.clocks)
    if (key < proxyKey)
      raise(key | proxyKey, clock);
}

void Knowledge::learnWeakly(const Knowledge &other) {
  for (const auto &[key, clock] : other.clocks)
    if (key & agentSpace)
      raise(key | weakAgent, clock);
}

// Warps ---------------------------------------------------------------------

void emulator::advanceClock(Warp &warp, Cta &cta) {
  if (cta.clock >= clockMask) {
    cta.clockExhausted = true;
    return;
  }
  warp.clock = ++cta.clock;
}

static WarpSync &syncOf(Warp &warp) {
  if (!warp.sync)
    warp.sync = std::make_unique<WarpSync>();
  return *warp.sync;
}

/// What all of \p lanes know beyond what every lane of the warp does.
static SharedKnowledge joinedOwn(const WarpSync &sync, uint32_t lanes) {
  lanes &= sync.knows;
  if (!lanes)
    return nullptr;
  SharedKnowledge first = sync.own[firstLane(lanes)];
  lanes &= lanes - 1;
  if (!lanes)
    return first;
  auto joined = std::make_shared<Knowledge>(*first);
  forEachLane(lanes, [&](unsigned l) {
    if (sync.own[l] != first)
      joined->learn(*sync.own[l]);
  });
  return joined;
}

SharedKnowledge emulator::joinKnowledge(const SharedKnowledge &a,
                                        const SharedKnowledge &b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  auto joined = std::make_shared<Knowledge>(*a);
  joined->learn(*b);
  return joined;
}

/// All lanes of the warp know what each of them did.
static void shareWithinWarp(WarpSync &sync) {
  if (!sync.knows)
    return;
  sync.all = joinKnowledge(sync.all, joinedOwn(sync, ~0u));
  sync.knows = 0;
  sync.own.fill(nullptr);
}

void emulator::synchroniseWarp(Warp &warp, Cta &cta, uint32_t lanes) {
  if ((warp.live & ~lanes) == 0) {
    warp.syncedUpTo = warp.clock;
    if (warp.sync)
      shareWithinWarp(*warp.sync);
    advanceClock(warp, cta);
    return;
  }
  if (!warp.laneClocks)
    warp.laneClocks = std::make_unique<LaneClocks>();
  LaneClocks &clocks = *warp.laneClocks;
  std::array<uint32_t, warpSize> joined = {};
  forEachLane(lanes, [&](unsigned l) {
    for (unsigned m = 0; m < warpSize; ++m)
      joined[m] = std::max(joined[m], clocks[l][m]);
  });
  forEachLane(lanes, [&](unsigned l) { joined[l] = warp.clock; });
  forEachLane(lanes, [&](unsigned l) { clocks[l] = joined; });
  if (warp.sync && (warp.sync->knows & lanes)) {
    SharedKnowledge known = joinedOwn(*warp.sync, lanes);
    forEachLane(lanes, [&](unsigned l) { warp.sync->own[l] = known; });
    warp.sync->knows |= lanes;
  }
  advanceClock(warp, cta);
}

void emulator::shareKnowledge(Cta &cta, uint32_t from, uint32_t to) {
  SharedKnowledge known;
  forEachLane(from, [&](unsigned w) {
    if (const WarpSync *sync = cta.warps[w].sync.get())
      known =
          joinKnowledge(known, joinKnowledge(sync->all, joinedOwn(*sync, ~0u)));
  });
  if (known)
    forEachLane(to, [&](unsigned w) {
      WarpSync &sync = syncOf(cta.warps[w]);
      shareWithinWarp(sync);
      sync.all = joinKnowledge(sync.all, known);
    });
}

SharedKnowledge emulator::knowledgeOf(const Warp &warp, const Cta &cta,
                                      uint32_t lanes) {
  auto result = std::make_shared<Knowledge>();
  if (const WarpSync *sync = warp.sync.get()) {
    if (sync->all)
      result->learn(*sync->all);
    if (SharedKnowledge own = joinedOwn(*sync, lanes))
      result->learn(*own);
  }
  if (warp.orderedUpTo)
    result->learnCta(cta.stamp, warp.orderedUpTo);
  for (size_t w = 0; w < cta.warps.size(); ++w)
    if (warp.seen[w] > warp.orderedUpTo)
      result->learnWarp(cta.stamp, static_cast<unsigned>(w), warp.seen[w]);
  auto self = static_cast<unsigned>(warp.index);
  bool isWhole = (warp.live & ~lanes) == 0;
  uint32_t synced = isWhole ? warp.clock : warp.syncedUpTo;
  if (synced > warp.orderedUpTo)
    result->learnWarp(cta.stamp, self, synced);
  if (isWhole)
    return result;
  forEachLane(lanes, [&](unsigned lane) {
    if (warp.laneClocks)
      for (unsigned m = 0; m < warpSize; ++m)
        if (uint32_t clock = (*warp.laneClocks)[lane][m]; clock > synced)
          result->learnLane(cta.stamp, self, m, clock);
    result->learnLane(cta.stamp, self, lane, warp.clock);
  });
  return result;
}

void emulator::learn(Exec &x, uint32_t lanes,
                     const SharedKnowledge &knowledge) {
  if (!knowledge)
    return;
  Warp &warp = *x.warp;
  WarpSync &sync = syncOf(warp);
  if ((warp.live & ~lanes) == 0) {
    if (sync.all == knowledge)
      return;
    sync.all = joinKnowledge(sync.all, knowledge);
    // The part about the own CTA also goes where the fast check looks.
    uint32_t least = ~0u;
    for (size_t w = 0; w < x.cta->warps.size(); ++w) {
      uint32_t &seen = warp.seen[w];
      seen = std::max(
          seen, knowledge->ofWarp(x.cta->stamp, static_cast<unsigned>(w)));
      if (w != static_cast<size_t>(warp.index))
        least = std::min(least, seen);
    }
    least = std::min(least, warp.syncedUpTo);
    warp.orderedUpTo = std::max(warp.orderedUpTo, least);
    return;
  }
  forEachLane(lanes, [&](unsigned lane) {
    if (sync.last[lane] == knowledge)
      return;
    sync.last[lane] = knowledge;
    sync.own[lane] = joinKnowledge(sync.own[lane], knowledge);
    sync.knows |= uint32_t(1) << lane;
  });
}

void emulator::learnAll(Exec &x, const SharedKnowledge &knowledge) {
  WarpSync &sync = syncOf(*x.warp);
  sync.all = joinKnowledge(sync.all, knowledge);
}

// Releases and acquires -----------------------------------------------------

bool emulator::reaches(const Launch &launch, Scope scope, uint64_t me,
                       uint64_t other) {
  switch (scope) {
  case Scope::Weak:
    return false;
  case Scope::Cta:
    return me == other;
  case Scope::Cluster:
    return (me - launch.firstStamp) / launch.clusterCtas ==
           (other - launch.firstStamp) / launch.clusterCtas;
  case Scope::Gpu:
    break;
  }
  return true;
}

void emulator::leave(SyncCell &cell, const Publication &publication) {
  for (Publication &there : cell.published)
    if (there.scope == publication.scope &&
        (there.stamp == publication.stamp || there.scope == Scope::Gpu)) {
      there.knowledge = joinKnowledge(there.knowledge, publication.knowledge);
      return;
    }
  cell.published.push_back(publication);
}

void emulator::publish(Exec &x, uint32_t lanes, Scope scope, SyncCell &cell,
                       bool replaces) {
  if (replaces)
    cell.published.clear();
  leave(cell, {scope, x.cta->stamp, knowledgeOf(*x.warp, *x.cta, lanes)});
}

static void acquireFrom(Exec &x, uint32_t lanes, Scope scope,
                        const std::vector<Publication> &published) {
  uint64_t me = x.cta->stamp;
  for (const Publication &there : published)
    if (reaches(*x.launch, there.scope, there.stamp, me) &&
        reaches(*x.launch, scope, me, there.stamp))
      learn(x, lanes, there.knowledge);
}

void emulator::acquire(Exec &x, uint32_t lanes, Scope scope,
                       const SyncCell &cell) {
  acquireFrom(x, lanes, scope, cell.published);
}

void emulator::fence(Exec &x, Scope scope, bool acquires, bool releases) {
  WarpSync &sync = syncOf(*x.warp);
  if (acquires && (sync.hasObserved & x.active)) {
    forEachLane(sync.hasObserved & x.active, [&](unsigned l) {
      acquireFrom(x, uint32_t(1) << l, scope, sync.observed[l]);
      sync.observed[l].clear();
    });
    sync.hasObserved &= ~x.active;
  }
  if (!releases)
    return;
  forEachLane(x.active, [&](unsigned l) {
    sync.fenced[l] = {scope, x.cta->stamp,
                      knowledgeOf(*x.warp, *x.cta, uint32_t(1) << l)};
  });
  sync.hasFenced |= x.active;
  advanceClock(*x.warp, *x.cta);
}

void emulator::strongAccess(Exec &x, unsigned lane, Scope scope, uint8_t order,
                            bool reads, bool writes,
                            std::unique_ptr<SyncTable> &table,
                            uint64_t offset) {
  if (reads && table) {
    if (auto found = table->find(offset); found != table->end()) {
      if (order & acquireOrder) {
        acquire(x, uint32_t(1) << lane, scope, found->second);
      } else if (!found->second.published.empty()) {
        WarpSync &sync = syncOf(*x.warp);
        sync.observed[lane] = found->second.published;
        sync.hasObserved |= uint32_t(1) << lane;
      }
    }
  }
  if (!writes)
    return;
  bool isFenced = x.warp->sync && (x.warp->sync->hasFenced >> lane & 1);
  bool releases = order & releaseOrder;
  if (!releases && !isFenced) {
    if (!reads && table)
      table->erase(offset);
    return;
  }
  if (!table)
    table = std::make_unique<SyncTable>();
  SyncCell &cell = (*table)[offset];
  if (!reads)
    cell.published.clear();
  if (isFenced) {
    Publication fenced = x.warp->sync->fenced[lane];
    fenced.scope = std::min(fenced.scope, scope);
    leave(cell, fenced);
  }
  if (releases)
    publish(x, uint32_t(1) << lane, scope, cell, false);
}
