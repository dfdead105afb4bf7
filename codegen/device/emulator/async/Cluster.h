//===- Cluster.h - CTAs that run together -----------------------*- C++ -*-===//
//
// The CTAs of a cluster take turns, in a seeded order. A CTA without a cluster
// is one of its own. Lanes that wait for something asynchronous (mbarriers,
// barrier.cluster, groups) try again whenever anything has happened here; when
// nothing can happen any more, the cluster is stuck.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_CLUSTER_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_CLUSTER_H

#include "codegen/device/emulator/async/State.h"

namespace tandem::emulator {

struct Cluster {
  const Launch *launch = nullptr;
  std::vector<Cta *> ctas; // by rank
  uint64_t random = 0;
  std::vector<uint32_t> order; // of CTAs, for the scheduler
  /// barrier.cluster: what the present phase has collected, and the last one.
  SyncCell arriving, completed;
  SharedKnowledge arrivingWeak, completedWeak;
  /// Asynchronous operations.
  OpLog log;
  /// How often waits have timed out since anything happened.
  int timeouts = 0;
};

/// Inst::extra of instructions that send lanes back.
enum class WaitKind : uint8_t { Cluster, Mbarrier, Wgmma, Registers };

/// CTAs a cluster, and clusters a grid.
uint64_t clusterSize(const Launch &launch);
/// The cluster that begins at \p position, on \p ctas of the pool.
void beginCluster(Cluster &cluster, const Launch &launch, uint64_t position,
                  const std::vector<Cta *> &ctas);
/// Runs it until all its CTAs have ended, or for about \p quantum warp
/// instructions. True when it has ended.
bool runCluster(Cluster &cluster, uint64_t quantum);

/// Something has happened that lanes may wait for.
void wakeAll(Cluster &cluster);
/// Lanes of \p cta have exited.
void laneExited(Cta &cta);

/// What lane \p lane that was sent back at \p inst waits for, in words.
std::string waitedFor(Cta &cta, Warp &warp, unsigned lane, const Inst &inst);

/// The CTA that a shared::cluster address lies in, and the offset there; null
/// when the cluster has no such rank.
Cta *ctaOfAddress(const Cta &from, uint64_t address, uint64_t &offset);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_CLUSTER_H
