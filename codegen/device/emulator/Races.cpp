//===- Races.cpp - Accesses that nothing orders ---------------------------===//
#include "codegen/device/emulator/Races.h"

#include "codegen/device/emulator/Regions.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

Order emulator::orderOf(Exec &x, const Inst &inst, bool strong, bool isShared) {
  Order order;
  Cta &cta = *x.cta;
  order.strong = strong;
  order.stamp = cta.stamp;
  order.bound = (isShared ? cta.stamp : cta.oldestStamp) << 32;
  order.warp = x.warp;
  order.upTo = x.warp->orderedUpTo;
  order.at = x.pcOf(inst);
  order.crossCta = !isShared && x.launch->checkCrossCta;
  order.me = cta.stamp << 32 | uint64_t(x.warp->index) << warpShift |
             (strong ? strongBit : 0) | x.warp->clock;
  return order;
}

const char *emulator::verb(AccessKind kind) {
  return kind == AccessKind::Read    ? "read"
         : kind == AccessKind::Write ? "write"
                                     : "atomic";
}

static void reportRace(Exec &x, const Inst &inst, const Order &order,
                       const Region &region, uint64_t offset, unsigned lane,
                       AccessKind kind, AccessId other, uint32_t otherAt,
                       bool otherWrites) {
  const Launch &launch = *x.launch;
  const Inst &there = x.cta->program->code[otherAt];
  std::string where =
      threadText(launch, static_cast<int>(warpOf(other)), laneOf(other));
  std::string who = where;
  if (stampOf(other) != order.stamp) {
    uint64_t cta = stampOf(other) - launch.firstStamp;
    auto gx = static_cast<uint64_t>(launch.grid[0]);
    auto gy = static_cast<uint64_t>(launch.grid[1]);
    who = cat("block ", cta % gx, ",", cta / gx % gy, ",", cta / (gx * gy), " ",
              where);
  }
  report(x, inst, lane, "race",
         cat(verb(kind), " of the same bytes as the ",
             other & strongBit ? "atomic"
             : otherWrites     ? "write"
                               : "read",
             " at line ", there.line, " by ", who,
             ", and nothing orders the two"),
         region.base + offset, describe(region, region.base + offset),
         cat("line ", there.line, " ", who));
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
    if (order.holds(readA, mine) && !(readA & strongBit && !order.strong))
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

void emulator::raceRange(Exec &x, const Inst &inst, const Order &order,
                         const Region &region, uint64_t offset,
                         ShadowPage &page, unsigned bytes, unsigned size,
                         unsigned lane0, AccessKind kind) {
  RaceCells &cells = cellsFor(page, size);
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
  if (n % 4 == 0 && !(unclear[0] | unclear[1] | unclear[2] | unclear[3])) {
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

void emulator::raceLane(Exec &x, const Inst &inst, const Order &order,
                        const Region &region, uint64_t offset, ShadowPage &page,
                        unsigned size, unsigned lane, AccessKind kind) {
  RaceCells &cells = cellsFor(page, size);
  size_t begin = offset % pageBytes >> cells.shift;
  size_t n = size >> cells.shift;
  for (size_t k = 0; k < n; ++k)
    raceCell(x, inst, order, region, offset + (k << cells.shift), cells,
             begin + k, lane, kind);
}
