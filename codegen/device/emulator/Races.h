//===- Races.h - Accesses that nothing orders -------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_RACES_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_RACES_H

#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/ShadowPage.h"

namespace tandem::emulator {

/// Decides whether an earlier access happens before the present one.
struct Order {
  AccessId me; // of lane 0
  uint64_t bound;
  uint64_t stamp;
  uint64_t upTo;
  uint32_t at;
  Scope scope;
  const Warp *warp;
  const Launch *launch;

  AccessId lane(unsigned l) const { return me + (uint64_t(l) << laneShift); }

  /// 0 if the earlier access is old, of this thread, or before the last barrier
  /// of all. Otherwise all ones, and the two may still be ordered. V is one id,
  /// or four: comparisons of the four give all ones where they hold.
  template <typename V>
  V unclear(V earlier, V mine) const {
    constexpr auto thread = ~((int64_t(1) << laneShift) - 1);
    constexpr auto upper = ~((int64_t(1) << 32) - 1);
    auto stampBits = static_cast<int64_t>(stamp << 32);
    auto isYoung = earlier >= static_cast<int64_t>(bound);
    auto isOther = ((earlier ^ mine) & thread) != 0;
    auto isLater = (earlier & int64_t(clockMask)) > int64_t(upTo);
    auto isElsewhere = (earlier & upper) != stampBits;
    if constexpr (std::is_same_v<V, int64_t>)
      return isYoung && isOther && (isLater || isElsewhere) ? -1 : 0;
    else
      return isYoung & isOther & (isLater | isElsewhere);
  }
  bool holds(AccessId earlier, AccessId mine) const {
    return isOrdered(earlier, mine) || isMorallyStrong(earlier);
  }
  bool isOrdered(AccessId earlier, AccessId mine) const {
    return !unclear(static_cast<int64_t>(earlier),
                    static_cast<int64_t>(mine)) ||
           isKnown(earlier, laneOf(mine));
  }
  /// Whether something orders the earlier access before every lane's of this
  /// warp, and before those of the other lanes of its own instruction.
  bool isKnownToAll(AccessId earlier) const {
    if (stampOf(earlier) != stamp)
      return false;
    uint64_t clock = earlier & clockMask;
    unsigned other = warpOf(earlier);
    return clock <= (other == static_cast<unsigned>(warp->index)
                         ? warp->syncedUpTo
                         : warp->seen[other]);
  }
  /// Whether something orders the earlier access before lane \p l's.
  bool isKnown(AccessId earlier, unsigned l) const;
  /// Whether both are strong and each one's scope includes the other: then they
  /// may race.
  bool isMorallyStrong(AccessId earlier) const;
};

Order orderOf(Exec &x, const Inst &inst, Scope scope, const Region &region);

/// The launch before if the earlier access is of it; null if of this one.
inline const EarlierLaunch *earlierLaunchOf(const Launch &launch,
                                            AccessId earlier) {
  return stampOf(earlier) < launch.firstStamp ? launch.earlier : nullptr;
}
/// `write at line 7 of kernel 'k', the launch before`.
void reportEarlierLaunch(Exec &x, const Inst &inst, unsigned lane,
                         const char *what, const EarlierLaunch &earlier,
                         uint32_t at, bool earlierWrites, const Region &region,
                         uint64_t offset);

/// `read`, `write` or `atomic`.
const char *verb(AccessKind kind);

/// Records the access of consecutive lanes from \p lane0 on, \p bytes in one
/// page, and reports what it races with.
void raceRange(Exec &x, const Inst &inst, const Order &order,
               const Region &region, uint64_t offset, ShadowPage &page,
               unsigned bytes, unsigned size, unsigned lane0, AccessKind kind);
/// The same for one lane.
void raceLane(Exec &x, const Inst &inst, const Order &order,
              const Region &region, uint64_t offset, ShadowPage &page,
              unsigned size, unsigned lane, AccessKind kind);

/// The accesses recorded in [offset, offset + bytes) of one page, by granule;
/// null when there are none that count.
RaceCells *recordedCells(ShadowPage &page, const Order &order, uint64_t offset,
                         unsigned bytes);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_RACES_H
