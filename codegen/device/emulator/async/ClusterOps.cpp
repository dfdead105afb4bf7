//===- ClusterOps.cpp - barrier.cluster, mapa and getctarank --------------===//
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/ops/Families.h"

using namespace tandem::emulator;

// barrier.cluster has no object in memory: each thread arrives once and waits
// once a phase, and exited threads are not waited for.

static void completeIfAll(Cluster &cluster) {
  for (Cta *cta : cluster.ctas)
    for (const Warp &warp : cta->warps)
      if (warp.live & ~warp.clusterArrived)
        return;
  for (Cta *cta : cluster.ctas)
    for (Warp &warp : cta->warps) {
      warp.clusterPassed |= warp.clusterArrived;
      warp.clusterArrived = 0;
    }
  cluster.completed = std::move(cluster.arriving);
  cluster.arriving = SyncCell();
  cluster.completedWeak = std::move(cluster.arrivingWeak);
  cluster.arrivingWeak = nullptr;
  wakeAll(cluster);
}

/// mode: 1 relaxed.
static void arrive(Exec &x, const Inst &i) {
  Warp &warp = *x.warp;
  if (uint32_t again = x.active & (warp.clusterArrived | warp.clusterPassed))
    report(x, i, firstLane(again), "barrier",
           "arrives at the cluster's barrier a second time without having "
           "waited for it");
  Cluster &cluster = *x.cta->cluster;
  forEachLane(x.active, [&](unsigned l) {
    if (!i.mode) {
      publish(x, laneBit(l), Scope::Cluster, cluster.arriving, false);
      return;
    }
    // Relaxed: what was executed before, what a fence has released, and
    // mbarriers that fence.mbarrier_init has.
    cluster.arrivingWeak = joinKnowledge(
        cluster.arrivingWeak, weakly(*knowledgeOf(warp, *x.cta, laneBit(l))));
    const WarpSync *sync = warp.sync.get();
    if (sync && (sync->hasFenced >> l & 1) &&
        sync->fenced[l].scope >= Scope::Cluster)
      cluster.arriving.published.push_back(sync->fenced[l]);
  });
  if (!i.mode)
    advanceClock(warp, *x.cta);
  else if (warp.async && warp.async->initFence)
    cluster.arriving.published.push_back(
        {Scope::Cluster, x.cta->stamp, warp.async->initFence});
  warp.clusterArrived |= x.active;
  warp.clusterPassed &= ~x.active;
  completeIfAll(cluster);
}

static void wait(Exec &x, const Inst &i) {
  Warp &warp = *x.warp;
  if (uint32_t never = x.active & ~(warp.clusterArrived | warp.clusterPassed)) {
    report(x, i, firstLane(never), "barrier",
           "waits for the cluster's barrier without having arrived at it");
    x.active &= ~never;
  }
  // The others may have exited since.
  if (x.active & warp.clusterArrived)
    completeIfAll(*x.cta->cluster);
  uint32_t through = x.active & warp.clusterPassed;
  warp.clusterPassed &= ~through;
  forEachLane(through, [&](unsigned l) {
    acquire(x, laneBit(l), Scope::Cluster, x.cta->cluster->completed);
    learn(x, laneBit(l), x.cta->cluster->completedWeak);
  });
  if (uint32_t still = x.active & ~through)
    waitAgain(x, still);
}

/// `.aligned`: the lanes of the warp have to arrive together.
template <void (*Run)(Exec &, const Inst &)>
static void buildBarrier(Builder &b, const Match &m) {
  if (!b.expect(0))
    return;
  b.inst->flow = m.has(3) ? Flow::Converge : Flow::Wait;
  b.inst->mode = m.is(2, ".relaxed");
  b.inst->run = Run;
}

/// mapa d, a, rank: \p a is an address in the executing CTA's window, or
/// generic.
template <typename T>
static void mapa(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  const uint32_t *rank = x.lanes<uint32_t>(i.b);
  T result[warpSize] = {};
  size_t ctas = x.cta->cluster->ctas.size();
  forEachLane(x.active, [&](unsigned l) {
    uint64_t address = a[l];
    if (!i.mode) {
      if ((address & windowMask) != sharedWindow)
        report(x, i, l, "out-of-bounds",
               cat(hex(address), " is no address of shared memory"), address);
      address &= ~windowMask;
    }
    if (address >> clusterRankShift)
      report(x, i, l, "out-of-bounds",
             cat(hex(address), " is not in the block's own shared memory"),
             address);
    if (rank[l] >= ctas)
      report(x, i, l, "out-of-bounds",
             cat("rank ", rank[l], " of a cluster of ", ctas, " blocks"));
    address &= (uint64_t(1) << clusterRankShift) - 1;
    address |= uint64_t(rank[l] + 1) << clusterRankShift;
    result[l] = static_cast<T>(i.mode ? address : address | sharedWindow);
  });
  setLanes<T>(x, i.d, [&](int l) { return result[l]; });
}
template <typename T>
static void rankOf(Exec &x, const Inst &i) {
  const T *a = x.lanes<T>(i.a);
  uint32_t own = x.cta->rank;
  setLanes<uint32_t>(x, i.d, [=](int l) {
    auto rank = static_cast<uint32_t>(uint64_t(a[l]) >> clusterRankShift & 255);
    return rank ? rank - 1 : own;
  });
}
/// Parts: .shared::cluster?, type.
static void buildMapa(Builder &b, const Match &m) {
  Type type = m.type(1);
  if (!operandsOf(b, type, {type, Type::U32}))
    return;
  b.inst->mode = m.has(0);
  if (type == Type::U32 && !m.has(0))
    b.fail("32-bit generic addresses are not supported");
  b.inst->run = type == Type::U32 ? &mapa<uint32_t> : &mapa<uint64_t>;
}
static void buildRankOf(Builder &b, const Match &m) {
  Type type = m.type(1);
  if (!operandsOf(b, Type::U32, {type}))
    return;
  if (type == Type::U32 && !m.has(0))
    b.fail("32-bit generic addresses are not supported");
  b.inst->run = type == Type::U32 ? &rankOf<uint32_t> : &rankOf<uint64_t>;
}

std::span<const Row> tandem::emulator::clusterRows() {
  static const Row rows[] = {
      {"barrier", ".cluster .arrive .release|.relaxed? .aligned?",
       buildBarrier<arrive>},
      {"barrier", ".cluster .wait .acquire? .aligned?", buildBarrier<wait>},
      {"mapa", ".shared::cluster? .u32|.u64", buildMapa},
      {"getctarank", ".shared::cluster? .u32|.u64", buildRankOf},
  };
  return rows;
}
