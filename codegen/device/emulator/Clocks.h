//===- Clocks.h - What a thread knows to have happened ----------*- C++ -*-===//
//
// Happens-before, in three layers that each cost only where they are used:
//
//   barriers   Warp::orderedUpTo and Warp::seen: up to which clock the accesses
//              of each warp of the CTA come before this warp (Shadow.h)
//   lanes      Warp::syncedUpTo and, after a bar.warp.sync of some lanes only,
//              a clock for each pair of lanes
//   memory     releases and acquires. A release leaves what its thread knows at
//              the location, an acquire takes it up: a vector clock that is
//              kept for whole CTAs where it can and for warps or lanes where it
//              must
//
// As in the PTX memory model, a release is a releasing write, or any strong
// write after a fence; an acquire is an acquiring read, or a fence after a
// strong read. Both sides' scopes have to include the other thread. What a
// location was given lasts through atomics and ends with a plain write.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_CLOCKS_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_CLOCKS_H

#include "codegen/device/emulator/Shadow.h"
#include "codegen/device/emulator/Types.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tandem::emulator {

struct Cta;
struct Exec;
struct Launch;
struct Warp;

// Spaces of keys beside the threads'. The async proxy sees accesses up to the
// clock under proxyKey | key. Agents complete asynchronous operations
// (async/State.h): known as the memory model has it, or only because a wait for
// them was executed before.
inline constexpr uint64_t proxyKey = uint64_t(1) << 60;
inline constexpr uint64_t agentSpace = uint64_t(1) << 61;
inline constexpr uint64_t weakAgent = uint64_t(1) << 62;
/// \p index is no multiple of 2048: those would be clocks of whole CTAs.
inline uint64_t agentKey(uint64_t stamp, uint32_t index) {
  return agentSpace | stamp << 16 | index;
}

/// Up to which clock the accesses of threads of other warps and CTAs happened
/// before; a vector clock.
class Knowledge {
public:
  void learnCta(uint64_t stamp, uint32_t clock) { raise(stamp << 11, clock); }
  void learnWarp(uint64_t stamp, unsigned warp, uint32_t clock) {
    raise(stamp << 11 | (1 + warp), clock);
  }
  void learnLane(uint64_t stamp, unsigned warp, unsigned lane, uint32_t clock) {
    raise(stamp << 11 | (64 + warp * 32 + lane), clock);
  }
  void learn(const Knowledge &other);
  /// Up to which clock all accesses of a warp are known.
  uint32_t ofWarp(uint64_t stamp, unsigned warp) const {
    return std::max(at(stamp << 11), at(stamp << 11 | (1 + warp)));
  }
  /// Whether the access is known to have happened.
  bool covers(AccessId access) const;
  bool empty() const { return clocks.empty(); }
  /// Any key, also of the spaces below.
  void raise(uint64_t key, uint32_t clock);
  uint32_t at(uint64_t key) const;
  /// What \p other knows is visible to the async proxy.
  void learnProxied(const Knowledge &other);
  bool coversProxied(AccessId access) const { return covers(access, proxyKey); }
  /// What \p other knows of agents, as executed before (weakAgent).
  void learnWeakly(const Knowledge &other);

private:
  bool covers(AccessId access, uint64_t space) const;
  /// Sorted by key.
  std::vector<std::pair<uint64_t, uint32_t>> clocks;
};
using SharedKnowledge = std::shared_ptr<const Knowledge>;

/// What one release left at a location (or in a fence, for later writes).
struct Publication {
  Scope scope = Scope::Weak;
  uint64_t stamp = 0; // the CTA that published
  SharedKnowledge knowledge;
};

/// A location through which threads synchronise: a word with strong accesses,
/// a phase of an mbarrier.
struct SyncCell {
  std::vector<Publication> published;
};
/// The locations of an allocation, by offset.
using SyncTable = std::unordered_map<uint64_t, SyncCell>;

/// What a warp has learnt or is about to publish through memory.
struct WarpSync {
  /// What every lane knows, and what single lanes know beyond it.
  SharedKnowledge all;
  std::array<SharedKnowledge, warpSize> own;
  uint32_t knows = 0; // lanes of `own`
  /// The last fence of each lane: a later strong write publishes this.
  std::array<Publication, warpSize> fenced;
  uint32_t hasFenced = 0;
  /// Strong reads that a later fence makes acquires.
  std::array<std::vector<Publication>, warpSize> observed;
  uint32_t hasObserved = 0;
  /// The last publication that each lane took up, to skip it in a spin.
  std::array<SharedKnowledge, warpSize> last;
};
/// laneClocks[l][m]: up to which clock lane m's accesses come before lane l.
using LaneClocks = std::array<std::array<uint32_t, warpSize>, warpSize>;

/// A warp-level synchronisation of \p lanes.
void synchroniseWarp(Warp &warp, Cta &cta, uint32_t lanes);
/// Later accesses of the warp are told apart from earlier ones.
void advanceClock(Warp &warp, Cta &cta);

/// All that \p lanes know now, what they did included. Call advanceClock before
/// their next access.
SharedKnowledge knowledgeOf(const Warp &warp, const Cta &cta, uint32_t lanes);
/// \p lanes of the warp in execution know this from now on.
void learn(Exec &x, uint32_t lanes, const SharedKnowledge &knowledge);

/// Every lane of the warp in execution knows it.
void learnAll(Exec &x, const SharedKnowledge &knowledge);
/// All that either of them knows; each may be null.
SharedKnowledge joinKnowledge(const SharedKnowledge &a,
                              const SharedKnowledge &b);

/// Adds \p publication to those of \p cell.
void leave(SyncCell &cell, const Publication &publication);
/// A release at \p cell. A plain write \p replaces what was there.
void publish(Exec &x, uint32_t lanes, Scope scope, SyncCell &cell,
             bool replaces);
/// An acquire at \p cell.
void acquire(Exec &x, uint32_t lanes, Scope scope, const SyncCell &cell);
/// A fence of the active lanes.
void fence(Exec &x, Scope scope, bool acquires, bool releases);

/// What a strong access of one lane means for \p table: the cell at \p offset
/// is made when there is something to publish.
void strongAccess(Exec &x, unsigned lane, Scope scope, uint8_t order,
                  bool reads, bool writes, std::unique_ptr<SyncTable> &table,
                  uint64_t offset);

/// Whether a strong access of \p scope by CTA \p me reaches CTA \p other.
bool reaches(const Launch &launch, Scope scope, uint64_t me, uint64_t other);

/// At a barrier: the warps \p to learn what the warps \p from know.
void shareKnowledge(Cta &cta, uint32_t from, uint32_t to);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_CLOCKS_H
