//===- Cluster.cpp - CTAs that run together -------------------------------===//
#include "codegen/device/emulator/async/Cluster.h"

#include "codegen/device/emulator/Barrier.h"
#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/WarpRunner.h"
#include "codegen/device/emulator/async/BulkCopy.h"
#include "codegen/device/emulator/async/Mbarrier.h"
#include "codegen/device/emulator/async/Wgmma.h"

#include <algorithm>
#include <numeric>

using namespace tandem;
using namespace tandem::emulator;

uint64_t emulator::clusterSize(const Launch &launch) {
  return static_cast<uint64_t>(launch.cluster[0]) *
         static_cast<uint64_t>(launch.cluster[1]) *
         static_cast<uint64_t>(launch.cluster[2]);
}

/// Splits \p index by \p sizes, the first one fastest.
static std::array<uint64_t, 3> split(uint64_t index,
                                     const std::array<uint64_t, 3> &sizes) {
  return {index % sizes[0], index / sizes[0] % sizes[1],
          index / sizes[0] / sizes[1]};
}

uint64_t emulator::linearAt(const Launch &launch, uint64_t position) {
  uint64_t ctas = clusterSize(launch), index = position / ctas;
  if (!launch.order.empty())
    index = launch.order[index];
  std::array<uint64_t, 3> size, clusters, grid;
  for (size_t i = 0; i < 3; ++i) {
    grid[i] = static_cast<uint64_t>(launch.grid[i]);
    size[i] = static_cast<uint64_t>(launch.cluster[i]);
    clusters[i] = grid[i] / size[i];
  }
  std::array<uint64_t, 3> origin = split(index, clusters);
  std::array<uint64_t, 3> at = split(position % ctas, size);
  for (size_t i = 0; i < 3; ++i)
    at[i] += origin[i] * size[i];
  return at[0] + grid[0] * (at[1] + grid[1] * at[2]);
}

void emulator::beginCluster(Cluster &cluster, const Launch &launch,
                            uint64_t position, const std::vector<Cta *> &ctas) {
  cluster.launch = &launch;
  cluster.ctas = ctas;
  cluster.arriving = cluster.completed = SyncCell();
  cluster.arrivingWeak = cluster.completedWeak = nullptr;
  cluster.log.clear();
  cluster.timeouts = 0;
  cluster.random =
      launch.options.scheduleSeed * 0x9e3779b97f4a7c15u + ~position;
  cluster.order.resize(ctas.size());
  std::iota(cluster.order.begin(), cluster.order.end(), 0u);
  for (size_t rank = 0; rank < ctas.size(); ++rank) {
    Cta &cta = *ctas[rank];
    cta.cluster = &cluster;
    cta.rank = static_cast<uint32_t>(rank);
    beginCta(cta, launch, position * ctas.size() + rank);
  }
}

static void wake(Cluster &cluster) {
  for (Cta *cta : cluster.ctas)
    for (Warp &warp : cta->warps) {
      warp.waiting &= ~warp.retries;
      warp.retries = 0;
    }
}

void emulator::wakeAll(Cluster &cluster) {
  cluster.timeouts = 0;
  wake(cluster);
}

/// Nothing can run: waits with a time limit may give up, as often as it takes a
/// kernel that counts them to say so.
static bool timeOut(Cluster &cluster) {
  constexpr int mostTimeouts = 64;
  if (++cluster.timeouts > mostTimeouts)
    return false;
  bool any = false;
  for (Cta *cta : cluster.ctas)
    for (Warp &warp : cta->warps)
      forEachLane(warp.retries, [&](unsigned l) {
        const Inst &inst = cta->program->code[warp.pc[l]];
        if (inst.flow != Flow::Wait ||
            static_cast<WaitKind>(inst.extra) != WaitKind::Mbarrier)
          return;
        warp.timedOut |= uint32_t(1) << l;
        any = true;
      });
  if (any)
    wake(cluster);
  return any;
}

/// A seeded schedule completes operations at any time.
static void completeSome(Cluster &cluster) {
  while (nextRandom(cluster.random) % 4 == 0) {
    bool any = completeOne(cluster);
    for (Cta *cta : cluster.ctas)
      any |= computeOneWgmma(*cta, nextRandom(cluster.random));
    if (!any)
      return;
  }
}

/// Nothing can run. Lanes that wait for others of their warp are told so; false
/// when there are none.
static bool forceOne(Cluster &cluster) {
  for (Cta *cta : cluster.ctas)
    for (Warp &warp : cta->warps)
      if (warp.blocked) {
        WarpRunner(*cta, warp).force();
        return true;
      }
  return false;
}

static void endAll(Cluster &cluster) {
  for (Cta *cta : cluster.ctas)
    cta->aborted = cta->done = true;
}

bool emulator::runCluster(Cluster &cluster, uint64_t quantum) {
  const Launch &launch = *cluster.launch;
  bool isAlone = cluster.ctas.size() == 1;
  uint64_t turn = isAlone ? quantum : std::min<uint64_t>(quantum, 4000);
  const bool isEndless = quantum == ~uint64_t(0);
  for (uint64_t left = quantum; left;
       left -= isEndless ? 0 : std::min(left, turn)) {
    if (launch.options.scheduleSeed)
      for (size_t i = cluster.order.size(); i > 1; --i)
        std::swap(cluster.order[i - 1],
                  cluster.order[nextRandom(cluster.random) % i]);
    if (launch.options.scheduleSeed && launch.program->hasAsync)
      completeSome(cluster);
    bool moved = false, isDone = true;
    for (uint32_t rank : cluster.order) {
      Cta &cta = *cluster.ctas[rank];
      if (cta.done)
        continue;
      Turn outcome = runCta(cta, turn);
      if (launch.stop || cta.aborted) {
        endAll(cluster);
        return true;
      }
      cta.done = outcome == Turn::Done;
      if (cta.done)
        finishAsync(cta);
      moved |= outcome != Turn::Stuck;
      isDone &= cta.done;
    }
    if (isDone)
      return true;
    if (moved || completeOne(cluster) || timeOut(cluster) || forceOne(cluster))
      continue;
    for (Cta *cta : cluster.ctas)
      if (!cta->done)
        reportDeadlock(*cta);
    endAll(cluster);
    return true;
  }
  return false;
}

void emulator::laneExited(Cta &cta) {
  // Others may wait for this lane at barrier.cluster.
  for (const Warp &warp : cta.warps)
    if (warp.retries) {
      wakeAll(*cta.cluster);
      return;
    }
  if (cta.cluster->ctas.size() > 1)
    wakeAll(*cta.cluster);
}

static std::string clusterWait(const Cta &cta) {
  uint32_t arrived = 0, all = 0;
  for (const Cta *peer : cta.cluster->ctas)
    for (const Warp &warp : peer->warps) {
      all += static_cast<uint32_t>(__builtin_popcount(warp.live));
      arrived += static_cast<uint32_t>(__builtin_popcount(warp.clusterArrived));
    }
  return cat("the cluster's barrier (", arrived, " of ", all,
             " threads have arrived)");
}

std::string emulator::waitedFor(Cta &cta, Warp &warp, unsigned lane,
                                const Inst &inst) {
  switch (static_cast<WaitKind>(inst.extra)) {
  case WaitKind::Cluster:
    return clusterWait(cta);
  case WaitKind::Mbarrier: {
    Exec x;
    x.arena = warp.arena;
    uint64_t address[warpSize];
    addressesOf(x, inst, address);
    const Mbarrier *barrier = mbarrierAt(cta, address[lane] & ~windowMask);
    return barrier ? describe(*barrier) : "an mbarrier";
  }
  case WaitKind::Wgmma:
    return wgmmaWait(cta, warp);
  case WaitKind::Registers:
    return registerWait(cta, inst);
  }
  return {};
}

Cta *emulator::ctaOfAddress(const Cta &from, uint64_t address,
                            uint64_t &offset) {
  uint64_t rank = address >> clusterRankShift;
  offset = address & ((uint64_t(1) << clusterRankShift) - 1);
  const std::vector<Cta *> &ctas = from.cluster->ctas;
  if (rank == 0)
    return ctas[from.rank];
  return rank <= ctas.size() ? ctas[rank - 1] : nullptr;
}
