//===- Exec.h - The state of a launch, a CTA and a warp ---------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_EXEC_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_EXEC_H

#include "codegen/device/Device.h"
#include "codegen/device/emulator/Clocks.h"
#include "codegen/device/emulator/Program.h"
#include "codegen/device/emulator/Shadow.h"

#include <array>
#include <atomic>
#include <deque>
#include <set>
#include <vector>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tandem::emulator {

// Generic addresses: global memory is the host's, the other windows lie where
// no host address is. Their low 32 bits are 0, as cvta expects.
inline constexpr uint64_t sharedWindow = uint64_t(1) << 60;
inline constexpr uint64_t localWindow = uint64_t(2) << 60;
inline constexpr uint64_t paramWindow = uint64_t(3) << 60;
inline constexpr uint64_t functionWindow = uint64_t(4) << 60;
inline constexpr uint64_t windowMask = uint64_t(15) << 60;
// A shared::cluster address has rank + 1 of the CTA above its offset, as mapa
// makes it; without it, it is the CTA's own (PTX: the shared::cta window lies
// in the shared::cluster one).
inline constexpr unsigned clusterRankShift = 24;

enum class Approximation : uint8_t { Nearest, Low, High, Random };

/// The launch before, which a dependent one overlaps until it waits.
struct EarlierLaunch {
  std::string kernel;
  std::vector<int> lines; // by instruction
  uint64_t firstStamp = 0;
};

/// What all CTAs of a launch share; read-only while they run, but for the
/// counters.
struct Launch {
  const Program *program = nullptr;
  /// Live and freed regions, sorted by base.
  std::vector<const Region *> regions;
  std::vector<char> params;
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int, 3> block = {1, 1, 1};
  std::array<int, 3> cluster = {1, 1, 1};
  uint64_t sharedBytes = 0;
  uint64_t dynamicSharedBytes = 0;
  LaunchOptions options;
  Approximation approximation = Approximation::Nearest;
  uint64_t budget = 0;
  bool parallel = false;
  /// The clusters in the order in which they begin; empty when plain.
  std::vector<uint64_t> order;
  /// Stamps below are of earlier launches; the CTA that begins i-th has
  /// firstStamp + i, so that those of a cluster are neighbours.
  uint64_t firstStamp = 0;
  /// Null when the launch begins after all earlier ones have ended.
  const EarlierLaunch *earlier = nullptr;
  uint64_t clusterCtas = 1;
  uint32_t launchNumber = 1;
  std::atomic<uint64_t> spent = 0;
  std::atomic<bool> stop = false;
};

/// A copy that `cp.async` started and no wait has completed.
struct PendingCopy {
  uint32_t lane = 0;
  uint32_t target = 0; // offset in shared memory
  uint32_t size = 0, sourceSize = 0;
  uint64_t source = 0;
  uint32_t at = 0;    // instruction index
  uint64_t group = 0; // per lane; ~0 until committed
};

/// What a lane goes back to.
struct CallRecord {
  uint32_t back = 0, site = 0, callee = 0;
  uint64_t frame = 0, frameEnd = 0;
  std::vector<uint64_t> saved; // registers of a recursive callee
};

struct Cta;
struct Cluster;
struct CtaAsync;
struct WarpAsync;

struct Warp {
  int index = 0;
  char *arena = nullptr;
  uint32_t live = 0;     // lanes that have not exited
  uint32_t waiting = 0;  // lanes at a CTA barrier
  uint32_t blocked = 0;  // lanes at a warp-level rendezvous
  uint32_t retry = 0;    // lanes that a handler has just sent back
  uint32_t retries = 0;  // lanes of `waiting` that try again when woken
  uint32_t timedOut = 0; // lanes whose try_wait gives up
  // barrier.cluster: lanes that have arrived in the present phase, and lanes
  // whose phase has completed and that have not waited for it.
  uint32_t clusterArrived = 0, clusterPassed = 0;
  uint32_t pc[warpSize] = {};
  /// The checker's clocks (Shadow.h).
  uint32_t clock = 1;
  uint32_t orderedUpTo = 0;
  uint32_t syncedUpTo = 0;            // among the lanes of this warp
  std::array<uint32_t, 32> seen = {}; // by warp
  std::unique_ptr<LaneClocks> laneClocks;
  std::unique_ptr<WarpSync> sync;
  std::vector<PendingCopy> copies;
  std::shared_ptr<WarpAsync> async; // async/State.h
  std::array<std::vector<CallRecord>, warpSize> calls;
  std::array<uint64_t, warpSize> copyGroup = {};
  std::vector<uint32_t> undefined; // lanes without a value, by slot / 4
};

struct BarrierWaiter {
  int warp = 0;
  uint32_t lanes = 0;
  const Inst *inst = nullptr;
  bool waits = true;      // false: bar.arrive
  uint32_t predicate = 0; // of bar.red
  /// The warp's clocks when it arrived.
  uint32_t clock = 0;
  std::array<uint32_t, 32> seen = {};
};

struct Barrier {
  std::vector<BarrierWaiter> waiters;
};

/// One CTA in execution; kept and reused.
struct Cta {
  const Launch *launch = nullptr;
  const Program *program = nullptr;
  uint32_t preparedFor = 0; // launch number
  uint64_t linear = 0;
  std::array<int64_t, 3> id = {0, 0, 0};
  Cluster *cluster = nullptr;
  uint32_t rank = 0; // in the cluster
  bool done = false;
  uint64_t stamp = 0;
  uint64_t oldestStamp = 0; // ids below are no accesses, in global memory
  uint32_t clock = 1;
  bool clockExhausted = false;
  std::vector<Warp> warps;
  std::vector<char> arenaStorage;
  std::vector<char> sharedStorage;
  Region shared;
  std::vector<char> local;
  std::vector<uint8_t> localWritten;
  std::array<Barrier, 16> barriers;
  std::shared_ptr<CtaAsync> async; // async/State.h
  uint64_t instructions = 0;
  uint64_t budgetChecked = 0;
  uint64_t random = 0;
  bool aborted = false;
  std::vector<Finding> findings;
  std::string output; // of printf
  std::set<std::pair<uint32_t, std::string>> reported;
  std::vector<const Region *> regionCache; // by instruction
  std::vector<int> order;                  // of warps, for the scheduler
};

/// What handlers see: the warp in execution and the lanes that take part.
struct Exec {
  char *arena = nullptr;
  uint32_t active = 0;
  Warp *warp = nullptr;
  Cta *cta = nullptr;
  const Launch *launch = nullptr;

  template <typename T>
  T *lanes(Slot slot) const {
    return reinterpret_cast<T *>(arena + slot);
  }
  uint32_t &mask(Slot slot) const {
    return *reinterpret_cast<uint32_t *>(arena + slot);
  }
  uint32_t pcOf(const Inst &inst) const;
};

inline uint32_t Exec::pcOf(const Inst &inst) const {
  return static_cast<uint32_t>(&inst - cta->program->code.data());
}

inline unsigned firstLane(uint32_t mask) {
  return static_cast<unsigned>(__builtin_ctz(mask));
}

inline uint32_t laneBit(unsigned lane) { return uint32_t(1) << lane; }

/// Calls \p f(lane) for each lane of \p mask.
template <typename F>
void forEachLane(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(firstLane(mask));
}

/// Writes f(lane) to the active lanes of \p slot. f is also evaluated for
/// inactive lanes, so that the loop vectorises: it must be total.
template <typename D, typename F>
inline void setLanes(Exec &x, Slot slot, F f) {
  D values[warpSize];
  for (int l = 0; l < warpSize; ++l)
    values[l] = f(l);
  D *d = x.lanes<D>(slot);
  if (x.active == ~0u) {
    __builtin_memcpy(d, values, sizeof values);
    return;
  }
  uint32_t active = x.active;
  for (int l = 0; l < warpSize; ++l)
    d[l] = (active >> l & 1) ? values[l] : d[l];
}

/// The lanes where f(lane) holds.
template <typename F>
inline uint32_t maskOf(F f) {
  alignas(16) uint8_t flags[warpSize];
  for (int l = 0; l < warpSize; ++l)
    flags[l] = f(l) ? 0xff : 0;
#ifdef __SSE2__
  auto half = [&](int at) {
    return static_cast<uint32_t>(_mm_movemask_epi8(
        _mm_load_si128(reinterpret_cast<const __m128i *>(flags + at))));
  };
  return half(0) | half(16) << 16;
#else
  uint32_t bits = 0;
  for (int l = 0; l < warpSize; ++l)
    bits |= uint32_t(flags[l] & 1) << l;
  return bits;
#endif
}
inline void setMask(Exec &x, Slot slot, uint32_t bits) {
  uint32_t &d = x.mask(slot);
  d = (d & ~x.active) | (bits & x.active);
}

/// Reports a finding at \p inst by \p lane, once per instruction and kind.
void report(Exec &x, const Inst &inst, unsigned lane, std::string_view kind,
            std::string message, uint64_t address = 0,
            std::string allocation = {}, std::string other = {},
            const FindingSide *side = nullptr);

/// `kernel.cu:12`, where the instruction has a `.loc`.
std::string sourceOf(const Program &program, uint32_t pc);

/// The same for what is worth knowing and not wrong.
void note(Exec &x, const Inst &inst, unsigned lane, std::string_view kind,
          std::string message, uint64_t address = 0,
          std::string allocation = {}, std::string other = {});

/// `thread 3,0,0`, and with block for another CTA.
std::array<int64_t, 3> threadId(const Launch &launch, int warp, unsigned lane);
std::string threadText(const Launch &launch, int warp, unsigned lane);

/// The next 64 pseudo-random bits (splitmix64).
inline uint64_t nextRandom(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// The linear id in the grid of the CTA that begins at \p position of the
/// launch.
uint64_t linearAt(const Launch &launch, uint64_t position);
/// Sets up the CTA that begins at \p position.
void beginCta(Cta &cta, const Launch &launch, uint64_t position);
enum class Turn : uint8_t { Done, More, Stuck };
/// Runs one CTA until it ends, has run for long enough, or no warp of it can go
/// on without others.
Turn runCta(Cta &cta, uint64_t quantum);

/// Handlers of Flow::Wait and Flow::Converge: \p lanes wait, and execute the
/// instruction again when something has happened in the cluster.
inline void waitAgain(Exec &x, uint32_t lanes) {
  x.warp->retry |= lanes;
  x.warp->retries |= lanes;
  x.warp->waiting |= lanes;
}

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_EXEC_H
