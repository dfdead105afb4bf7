//===- Mbarrier.cpp - Barriers in shared memory ---------------------------===//
#include "codegen/device/emulator/async/Mbarrier.h"

#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/async/Cluster.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

static constexpr int64_t mostBytes = (1 << 20) - 1;
static constexpr uint32_t mostArrivals = (1 << 20) - 1;

/// The image of the counts: parity, transactions (biased), pending and expected
/// arrivals.
static uint64_t imageOf(const Mbarrier &barrier) {
  uint64_t bytes = static_cast<uint64_t>(barrier.bytes + (1 << 20)) &
                   ((uint64_t(1) << 21) - 1);
  return (barrier.phase & 1) << 63 | uint64_t(1) << 61 | bytes << 40 |
         uint64_t(barrier.pending) << 20 | barrier.expected;
}
static char *bytesOf(Cta &owner, const Mbarrier &barrier) {
  return owner.sharedStorage.data() + barrier.offset;
}
static void store(Cta &owner, const Mbarrier &barrier) {
  uint64_t image = imageOf(barrier);
  std::memcpy(bytesOf(owner, barrier), &image, 8);
}

std::string emulator::describe(const Mbarrier &barrier) {
  std::string missing;
  if (barrier.pending)
    missing = cat(barrier.pending, " of ", barrier.expected, " arrivals");
  if (barrier.bytes)
    missing += cat(missing.empty() ? "" : " and ", barrier.bytes, " bytes");
  return cat("the mbarrier at byte ", barrier.offset,
             " of shared memory (phase ", barrier.phase, " misses ",
             missing.empty() ? "nothing" : missing, ")");
}

Mbarrier *emulator::mbarrierAt(Cta &owner, uint64_t offset) {
  if (!owner.async || offset < owner.async->firstBarrier ||
      offset >= owner.async->endBarriers)
    return nullptr;
  for (Mbarrier &barrier : owner.async->barriers)
    if (barrier.live && barrier.offset == offset)
      return &barrier;
  return nullptr;
}

/// The CTA and offset that an address means.
static Cta *place(Exec &x, const Inst &inst, unsigned lane, Space space,
                  uint64_t address, uint64_t &offset) {
  if (space == Space::Generic) {
    if ((address & windowMask) != sharedWindow) {
      report(x, inst, lane, "out-of-bounds",
             cat(hex(address), " is no address of shared memory"), address);
      return nullptr;
    }
    address &= ~windowMask;
  }
  Cta *owner = ctaOfAddress(*x.cta, address, offset);
  if (space == Space::Shared && address >> clusterRankShift)
    owner = nullptr;
  if (!owner || offset + 8 > owner->shared.bytes || owner->done) {
    report(x, inst, lane,
           owner && owner->done ? "use-after-free" : "out-of-bounds",
           owner && owner->done ? cat("an mbarrier of block ", owner->rank,
                                      " of the cluster, which has exited")
                                : cat("an mbarrier at ", hex(address),
                                      ", outside the shared memory"),
           address);
    return nullptr;
  }
  if (offset % 8) {
    report(x, inst, lane, "misaligned",
           cat("an mbarrier at byte ", offset,
               " of shared memory, which is not a multiple of 8"),
           address);
    return nullptr;
  }
  return owner;
}

Mbarrier *emulator::findMbarrier(Exec &x, const Inst &inst, unsigned lane,
                                 Space space, uint64_t address, Cta *&owner) {
  uint64_t offset = 0;
  owner = place(x, inst, lane, space, address, offset);
  if (!owner)
    return nullptr;
  Mbarrier *barrier = mbarrierAt(*owner, offset);
  if (!barrier) {
    report(x, inst, lane, "barrier",
           cat("there is no initialised mbarrier at byte ", offset,
               " of shared memory"),
           offset);
    return nullptr;
  }
  uint64_t image = 0;
  std::memcpy(&image, bytesOf(*owner, *barrier), 8);
  if (image != imageOf(*barrier)) {
    report(x, inst, lane, "barrier",
           cat(describe(*barrier), " was overwritten since its last use"),
           offset);
    store(*owner, *barrier);
  }
  if (x.launch->options.checkRaces &&
      !knowsAgent(*x.warp, lane, barrier->agent, 1))
    report(x, inst, lane, "race",
           cat("uses the mbarrier at byte ", offset,
               " of shared memory that line ",
               x.cta->program->code[barrier->initAt].line,
               " initialises, and nothing orders the two"),
           offset);
  return barrier;
}

void emulator::initMbarrier(Exec &x, const Inst &inst, unsigned lane,
                            uint64_t offset, uint32_t count) {
  Cta &cta = *x.cta;
  CtaAsync &async = asyncOf(cta);
  if (count < 1 || count > mostArrivals)
    report(x, inst, lane, "barrier",
           cat("an mbarrier for ", count, " arrivals, allowed are 1 to ",
               mostArrivals),
           offset);
  Mbarrier *barrier = mbarrierAt(cta, offset);
  if (barrier) {
    report(x, inst, lane, "barrier",
           cat(describe(*barrier), " is in use since line ",
               cta.program->code[barrier->initAt].line,
               " and was not invalidated"),
           offset);
    barrier->live = false;
  }
  async.barriers.emplace_back();
  barrier = &async.barriers.back();
  barrier->live = true;
  barrier->offset = static_cast<uint32_t>(offset);
  barrier->initAt = x.pcOf(inst);
  barrier->agent = newAgent(cta);
  barrier->expected = barrier->pending = count;
  async.firstBarrier = std::min(async.firstBarrier, barrier->offset);
  async.endBarriers = std::max(async.endBarriers, barrier->offset + 8);
  store(cta, *barrier);
  uint32_t active = x.active;
  x.active = uint32_t(1) << lane;
  learnAgent(x, barrier->agent, 1);
  x.active = active;
}

void emulator::invalidateMbarrier(Exec &x, const Inst &inst, unsigned lane,
                                  Mbarrier &barrier) {
  if (!barrier.copies.empty())
    report(x, inst, lane, "barrier",
           cat("invalidates ", describe(barrier), ", where ",
               barrier.copies.size(), " copies have yet to complete"));
  barrier.live = false;
}

static void completePhase(Cluster &cluster, Cta &owner, Mbarrier &barrier) {
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.completed = std::move(barrier.arriving);
  barrier.arriving = SyncCell();
  barrier.completedWeak = std::move(barrier.arrivingWeak);
  barrier.arrivingWeak = nullptr;
  store(owner, barrier);
  wakeAll(cluster);
}

static void settle(Cluster &cluster, Cta &owner, Mbarrier &barrier) {
  if (!barrier.pending && !barrier.bytes)
    completePhase(cluster, owner, barrier);
  else
    store(owner, barrier);
}

void emulator::releaseAt(Exec &x, unsigned lane, Cta &owner, Mbarrier &barrier,
                         Scope scope, bool isRelaxed) {
  bool isRemote = &owner != x.cta;
  if (!isRelaxed)
    publish(x, laneBit(lane), scope, barrier.arriving, false);
  if (isRelaxed || (isRemote && scope < Scope::Cluster)) {
    // Completed operations stay completed, whoever is told.
    barrier.arrivingWeak =
        joinKnowledge(barrier.arrivingWeak,
                      weakly(*knowledgeOf(*x.warp, *x.cta, laneBit(lane))));
  }
}

void emulator::arriveAt(Exec &x, const Inst &inst, unsigned lane, Cta &owner,
                        Mbarrier &barrier, uint32_t count, bool drops) {
  if (count < 1 || count > mostArrivals) {
    report(x, inst, lane, "barrier",
           cat("arrives ", count, " times, allowed are 1 to ", mostArrivals));
    return;
  }
  if (count > barrier.pending) {
    report(x, inst, lane, "barrier",
           cat("arrives ", count, count == 1 ? " time" : " times", " at ",
               describe(barrier)),
           barrier.offset);
    return;
  }
  barrier.pending -= count;
  if (drops)
    barrier.expected -= count;
  settle(*x.cta->cluster, owner, barrier);
  // Somebody may wait for copies that are only due now.
  if (!barrier.pending)
    wakeAll(*x.cta->cluster);
}

void emulator::addBytes(Exec &x, const Inst &inst, unsigned lane, Cta &owner,
                        Mbarrier &barrier, int64_t bytes) {
  int64_t sum = barrier.bytes + bytes;
  if (bytes > mostBytes || bytes < -mostBytes || sum > mostBytes ||
      sum < -mostBytes) {
    report(x, inst, lane, "barrier",
           cat("the transaction count of ", describe(barrier), " becomes ", sum,
               ", allowed are -", mostBytes, " to ", mostBytes),
           barrier.offset);
    return;
  }
  barrier.bytes = sum;
  settle(*x.cta->cluster, owner, barrier);
}

void emulator::completeCopy(Cluster &cluster, Cta &owner, Mbarrier &barrier,
                            size_t i) {
  BulkCopy copy = std::move(barrier.copies[i]);
  barrier.copies.erase(barrier.copies.begin() + static_cast<ptrdiff_t>(i));
  copy.read();
  copy.write();
  for (uint32_t id : {copy.op, copy.readOp})
    if (AsyncOp *op = cluster.log.find(id)) {
      op->pending = false;
      op->number = barrier.numberOf(barrier.phase);
    }
  barrier.bytes -= static_cast<int64_t>(copy.bytes);
  settle(cluster, owner, barrier);
}

void emulator::completeCopies(Cluster &cluster, Cta &owner, Mbarrier &barrier,
                              bool all) {
  uint64_t phase = barrier.phase;
  while (!barrier.copies.empty() && barrier.phase == phase &&
         (all || !barrier.pending))
    completeCopy(cluster, owner, barrier, 0);
}
