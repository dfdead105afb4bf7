//===- Races.cpp - Accesses that nothing orders ---------------------------===//
#include "codegen/device/emulator/Races.h"

#include "codegen/device/emulator/Regions.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

Order emulator::orderOf(Exec &x, const Inst &inst, Scope scope,
                        const Region &region) {
  Order order;
  Cta &cta = *x.cta;
  order.scope = scope;
  order.stamp = cta.stamp;
  order.bound = std::max(region.oldestStamp, cta.oldestStamp) << 32;
  order.warp = x.warp;
  order.launch = x.launch;
  order.upTo = x.warp->orderedUpTo;
  order.at = x.pcOf(inst);
  order.me = cta.stamp << 32 | uint64_t(x.warp->index) << warpShift |
             scopeBits(scope) | x.warp->clock;
  return order;
}

bool Order::isKnown(AccessId earlier, unsigned l) const {
  if (stampOf(earlier) == stamp) {
    uint64_t clock = earlier & clockMask;
    unsigned other = warpOf(earlier);
    if (other == static_cast<unsigned>(warp->index)) {
      if (clock <= warp->syncedUpTo)
        return true;
      if (warp->laneClocks && clock <= (*warp->laneClocks)[l][laneOf(earlier)])
        return true;
    } else if (clock <= warp->seen[other]) {
      return true;
    }
  }
  const WarpSync *sync = warp->sync.get();
  return sync && ((sync->all && sync->all->covers(earlier)) ||
                  ((sync->knows >> l & 1) && sync->own[l]->covers(earlier)));
}

bool Order::isMorallyStrong(AccessId earlier) const {
  uint64_t other = stampOf(earlier);
  return reaches(*launch, scope, stamp, other) &&
         reaches(*launch, scopeOf(earlier), other, stamp);
}

const char *emulator::verb(AccessKind kind) {
  return kind == AccessKind::Read    ? "read"
         : kind == AccessKind::Write ? "write"
                                     : "atomic";
}

void emulator::reportEarlierLaunch(Exec &x, const Inst &inst, unsigned lane,
                                   const char *what,
                                   const EarlierLaunch &earlier, uint32_t at,
                                   bool earlierWrites, const Region &region,
                                   uint64_t offset) {
  FindingSide side;
  side.access = earlierWrites ? "write" : "read";
  side.ptxLine = earlier.lines[at];
  std::string other = cat("line ", side.ptxLine, " of '", earlier.kernel, "'");
  report(x, inst, lane, "race",
         cat(what, " the same bytes as the ", side.access, " at ", other,
             ", which was launched before and may still run: no "
             "griddepcontrol.wait came first"),
         region.base + offset, describe(region, region.base + offset), other,
         &side);
}

static void reportRace(Exec &x, const Inst &inst, const Order &order,
                       const Region &region, uint64_t offset, unsigned lane,
                       AccessKind kind, AccessId other, uint32_t otherAt,
                       bool otherWrites) {
  const Launch &launch = *x.launch;
  if (const EarlierLaunch *earlier = earlierLaunchOf(launch, other)) {
    reportEarlierLaunch(x, inst, lane,
                        kind == AccessKind::Read    ? "reads"
                        : kind == AccessKind::Write ? "writes"
                                                    : "changes",
                        *earlier, otherAt, otherWrites, region, offset);
    return;
  }
  const Inst &there = x.cta->program->code[otherAt];
  std::string where =
      threadText(launch, static_cast<int>(warpOf(other)), laneOf(other));
  std::string who = where;
  FindingSide side;
  side.access = otherWrites ? "write" : "read";
  side.ptxLine = there.line;
  side.source = sourceOf(*x.cta->program, otherAt);
  side.block = x.cta->id;
  side.thread =
      threadId(launch, static_cast<int>(warpOf(other)), laneOf(other));
  if (stampOf(other) != order.stamp) {
    auto cta = static_cast<int64_t>(
        linearAt(launch, stampOf(other) - launch.firstStamp));
    int64_t gx = launch.grid[0], gy = launch.grid[1];
    side.block = {cta % gx, cta / gx % gy, cta / (gx * gy)};
    who = cat("block ", side.block[0], ",", side.block[1], ",", side.block[2],
              " ", where);
  }
  report(x, inst, lane, "race",
         cat(verb(kind), " of the same bytes as the ",
             otherWrites ? "write" : "read", " at line ", there.line, " by ",
             who,
             order.scope != Scope::Weak && scopeOf(other) != Scope::Weak
                 ? ", whose scope or mine does not include the other thread"
                 : ", and nothing orders the two"),
         region.base + offset, describe(region, region.base + offset),
         cat("line ", there.line, " ", who), &side);
}

/// One granule, one lane.
static void raceCell(Exec &x, const Inst &inst, const Order &order,
                     const Region &region, uint64_t offset, RaceCells &cells,
                     size_t k, unsigned lane, AccessKind kind) {
  AccessId mine = order.lane(lane);
  AccessId &write = cells.write[k];
  AccessId &readA = cells.readA[k];
  AccessId &readB = cells.readB[k];
  if (!order.holds(write, mine))
    reportRace(x, inst, order, region, offset, lane, kind, write,
               cells.writeAt[k], true);
  if (kind == AccessKind::Read) {
    // A weak read is remembered beside a strong one: it races with more.
    bool keepsWeak = order.scope != Scope::Weak &&
                     scopeOf(readA) == Scope::Weak && readA >= order.bound;
    if (order.isOrdered(readA, mine) && !keepsWeak)
      readA = mine;
    else if (((readA ^ mine) >> laneShift) != 0)
      readB = mine;
    cells.readAt[k] = order.at;
    return;
  }
  if (!order.holds(readA, mine))
    reportRace(x, inst, order, region, offset, lane, kind, readA,
               cells.readAt[k], false);
  else if (!order.holds(readB, mine))
    reportRace(x, inst, order, region, offset, lane, kind, readB,
               cells.readAt[k], false);
  write = mine;
  cells.writeAt[k] = order.at;
}

static RaceCells &cellsFor(ShadowPage &page, unsigned size) {
  auto shift = static_cast<unsigned>(std::min(4, __builtin_ctz(size)));
  if (!page.cells)
    page.cells = std::make_unique<RaceCells>(shift);
  else if (page.cells->shift > shift)
    page.cells = page.cells->split(shift);
  return *page.cells;
}

/// Writes a line's records out as cells.
static void expand(ShadowPage &page, unsigned index, unsigned size) {
  if (page.inCells >> index & 1)
    return;
  Line &line = page.lines[index];
  unsigned finest = size;
  for (const LineRecord *record : {&line.write, &line.readA, &line.readB})
    if (record->id)
      finest = std::min(finest, 1u << record->shift);
  RaceCells &cells = cellsFor(page, finest);
  size_t n = lineBytes >> cells.shift, first = index * n;
  for (size_t k = 0; k < n; ++k) {
    auto idOf = [&](const LineRecord &record) {
      return record.id
                 ? record.id + ((uint64_t(k) << cells.shift >> record.shift)
                                << laneShift)
                 : 0;
    };
    cells.write[first + k] = idOf(line.write);
    cells.writeAt[first + k] = line.write.at;
    cells.readA[first + k] = idOf(line.readA);
    cells.readB[first + k] = idOf(line.readB);
    cells.readAt[first + k] = line.readA.at;
  }
  line = Line();
  page.inCells |= uint64_t(1) << index;
}

/// The lines that [offset, offset + bytes) touches, as cells.
static RaceCells &expandRange(ShadowPage &page, const Order &order,
                              uint64_t offset, unsigned bytes, unsigned size) {
  auto first = static_cast<unsigned>(offset % pageBytes / lineBytes);
  auto last =
      static_cast<unsigned>((offset % pageBytes + bytes - 1) / lineBytes);
  for (unsigned index = first; index <= last; ++index)
    expand(page, index, size);
  page.newestInCells = std::max(page.newestInCells, order.stamp);
  return cellsFor(page, size);
}

/// Cells whose accesses are all of earlier launches are none.
static void renew(ShadowPage &page, const Order &order) {
  if (page.inCells && page.newestInCells < order.bound >> 32)
    page.inCells = 0;
}

/// Four ids at once; both compilers have vectors of this form.
using Four = int64_t __attribute__((vector_size(32)));
static inline Four loadFour(const AccessId *from) {
  Four ids;
  std::memcpy(&ids, from, sizeof ids);
  return ids;
}
/// The ids of the lanes of cells k to k + 3.
static inline Four fourIds(AccessId first, size_t k, unsigned lanesShift) {
  auto at = static_cast<int64_t>(k);
  Four cell = {at, at + 1, at + 2, at + 3};
  return ((cell >> int64_t(lanesShift)) << int64_t(laneShift)) +
         static_cast<int64_t>(first);
}

/// Consecutive lanes from \p lane0 on, through cells.
static void rangeInCells(Exec &x, const Inst &inst, const Order &order,
                         const Region &region, uint64_t offset,
                         ShadowPage &page, unsigned bytes, unsigned size,
                         unsigned lane0, AccessKind kind) {
  RaceCells &cells = expandRange(page, order, offset, bytes, size);
  size_t begin = offset % pageBytes >> cells.shift;
  size_t n = bytes >> cells.shift;
  unsigned perLane = size >> cells.shift; // a power of two
  auto lanesShift = static_cast<unsigned>(__builtin_ctz(perLane));
  AccessId first = order.lane(lane0);
  AccessId *write = &cells.write[begin];
  AccessId *readA = &cells.readA[begin];
  const AccessId *readB = &cells.readB[begin];
  // Four cells at a time; a rest of one to three is left to the slow way.
  const Order o = order;
  Four unclear = {};
  bool reads = kind == AccessKind::Read;
  for (size_t k = 0; k + 4 <= n; k += 4) {
    Four mine = fourIds(first, k, lanesShift);
    unclear |= o.unclear(loadFour(write + k), mine) |
               o.unclear(loadFour(readA + k), mine);
    if (!reads)
      unclear |= o.unclear(loadFour(readB + k), mine);
  }
  if (n % 4 == 0 && !(unclear[0] | unclear[1] | unclear[2] | unclear[3]) &&
      (!reads || order.scope == Scope::Weak)) {
    AccessId *mineTo = reads ? readA : write;
    for (size_t k = 0; k < n; k += 4) {
      Four mine = fourIds(first, k, lanesShift);
      std::memcpy(mineTo + k, &mine, sizeof mine);
    }
    std::fill_n(reads ? &cells.readAt[begin] : &cells.writeAt[begin], n, o.at);
    return;
  }
  for (size_t k = 0; k < n; ++k)
    raceCell(x, inst, order, region, offset + (k << cells.shift), cells,
             begin + k, lane0 + static_cast<unsigned>(k >> lanesShift), kind);
}

/// Whether the recorded access is ordered before all of \p mine, lane by lane.
static inline bool isClear(const Order &order, const LineRecord &earlier,
                           const LineRecord &mine) {
  if (earlier.id < order.bound)
    return true;
  constexpr uint64_t thread = ~((uint64_t(1) << laneShift) - 1);
  if (((earlier.id ^ mine.id) & thread) == 0 && earlier.shift == mine.shift)
    return true;
  return (stampOf(earlier.id) == order.stamp &&
          (earlier.id & clockMask) <= order.upTo) ||
         order.isKnownToAll(earlier.id);
}

/// One line; false when its records do not suffice to decide.
static inline bool raceLine(const Order &order, Line &line,
                            const LineRecord &mine, AccessKind kind) {
  if (!isClear(order, line.write, mine))
    return false;
  if (kind == AccessKind::Read) {
    // Strong reads are kept beside weak ones: the cells do that.
    if (order.scope != Scope::Weak)
      return false;
    (isClear(order, line.readA, mine) ? line.readA : line.readB) = mine;
    return true;
  }
  if (!isClear(order, line.readA, mine) || !isClear(order, line.readB, mine))
    return false;
  line.write = mine;
  return true;
}

void emulator::raceRange(Exec &x, const Inst &inst, const Order &order,
                         const Region &region, uint64_t offset,
                         ShadowPage &page, unsigned bytes, unsigned size,
                         unsigned lane0, AccessKind kind) {
  renew(page, order);
  if ((offset | bytes) % lineBytes) {
    rangeInCells(x, inst, order, region, offset, page, bytes, size, lane0,
                 kind);
    return;
  }
  auto shift = static_cast<unsigned>(__builtin_ctz(size));
  auto index = static_cast<unsigned>(offset % pageBytes / lineBytes);
  unsigned lanes = lineBytes >> shift;
  for (unsigned done = 0; done < bytes; done += lineBytes, ++index) {
    unsigned lane = lane0 + done / lineBytes * lanes;
    LineRecord mine{order.lane(lane), order.at, shift};
    if (!(page.inCells >> index & 1) &&
        raceLine(order, page.lines[index], mine, kind))
      continue;
    rangeInCells(x, inst, order, region, offset + done, page, lineBytes, size,
                 lane, kind);
  }
}

void emulator::raceLane(Exec &x, const Inst &inst, const Order &order,
                        const Region &region, uint64_t offset, ShadowPage &page,
                        unsigned size, unsigned lane, AccessKind kind) {
  renew(page, order);
  RaceCells &cells = expandRange(page, order, offset, size, size);
  size_t begin = offset % pageBytes >> cells.shift;
  size_t n = size >> cells.shift;
  for (size_t k = 0; k < n; ++k)
    raceCell(x, inst, order, region, offset + (k << cells.shift), cells,
             begin + k, lane, kind);
}

RaceCells *emulator::recordedCells(ShadowPage &page, const Order &order,
                                   uint64_t offset, unsigned bytes) {
  renew(page, order);
  auto first = static_cast<unsigned>(offset % pageBytes / lineBytes);
  auto last =
      static_cast<unsigned>((offset % pageBytes + bytes - 1) / lineBytes);
  bool any = false;
  for (unsigned index = first; index <= last; ++index) {
    const Line &line = page.lines[index];
    any |= (page.inCells >> index & 1) || line.write.id >= order.bound ||
           line.readA.id >= order.bound || line.readB.id >= order.bound;
  }
  return any ? &expandRange(page, order, offset, bytes, 16) : nullptr;
}
