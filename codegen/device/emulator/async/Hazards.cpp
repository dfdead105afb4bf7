//===- Hazards.cpp - Asynchronous accesses that nothing orders ------------===//
#include "codegen/device/emulator/async/Hazards.h"

#include "codegen/device/emulator/Races.h"
#include "codegen/device/emulator/Regions.h"
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/Mbarrier.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

static constexpr uint64_t unitBytes = 16;

AsyncOp &emulator::startOp(Exec &x, const Inst &inst, unsigned lane,
                           AsyncKind kind, uint64_t agent, uint32_t number) {
  AsyncOp &op = x.cta->cluster->log.add();
  op.at = x.pcOf(inst);
  op.agent = agent;
  op.number = number;
  op.kind = kind;
  op.rank = static_cast<uint8_t>(x.cta->rank);
  op.warp = static_cast<uint8_t>(x.warp->index);
  op.lane = static_cast<uint8_t>(lane);
  return op;
}

static const char *nameOf(AsyncKind kind) {
  return kind == AsyncKind::WgmmaRead ? "wgmma" : "bulk copy";
}
static int lineOf(const Exec &x, uint32_t at) {
  return x.cta->program->code[at].line;
}
static std::string bytesText(uint64_t offset, uint64_t bytes) {
  return cat("bytes ", offset, " to ", offset + bytes, " of shared memory");
}

namespace {
/// Whether an earlier operation is done for some of the starters.
enum class Done : uint8_t { Yes, Weakly, Pending, Unordered };
} // namespace

static Done doneFor(std::span<const Starter> starters, const AsyncOp &op) {
  bool isWeak = false;
  for (const Starter &starter : starters) {
    bool weak = false;
    if (!op.pending &&
        knowsAgent(*starter.warp, starter.lane, op.agent, op.number, &weak)) {
      if (!weak)
        return Done::Yes;
      isWeak = true;
    }
  }
  return isWeak ? Done::Weakly : op.pending ? Done::Pending : Done::Unordered;
}

/// The conflict between a new access and the earlier operation \p op, if it is
/// not done. \p what: `reads` or `writes`. Two operations of which neither
/// takes the other's result race; an ordinary access comes too early.
static void reportConflict(Exec &x, const Inst &inst, unsigned lane,
                           const char *what, uint64_t offset, uint64_t bytes,
                           const AsyncOp &op, Done done, bool isOperation) {
  if (!x.launch->options.checkAsync)
    return;
  int line = lineOf(x, op.at);
  bool earlierWrites = op.kind == AsyncKind::BulkWrite;
  // A product is its warpgroup's.
  int sharers = op.kind == AsyncKind::WgmmaRead ? 4 : 1;
  bool isOwn =
      op.rank == x.cta->rank && op.warp / sharers == x.warp->index / sharers;
  std::string other =
      cat("line ", line, " ", threadText(*x.launch, op.warp, op.lane));
  if (done == Done::Weakly) {
    note(x, inst, lane, "scope",
         cat(what, " ", bytesText(offset, bytes), " after the ",
             nameOf(op.kind), " at line ", line,
             ", which has completed; by the letter of the memory model an "
             "arrival of CTA scope does not tell other blocks so"),
         offset, {}, other);
    return;
  }
  bool isResult = earlierWrites && std::string_view(what) == "reads";
  FindingSide side;
  side.access = earlierWrites ? "write" : "read";
  side.ptxLine = line;
  side.source = sourceOf(*x.cta->program, op.at);
  side.block = x.cta->cluster->ctas[op.rank]->id;
  side.thread = threadId(*x.launch, op.warp, op.lane);
  report(x, inst, lane, isOperation && !isResult && !isOwn ? "race" : "async",
         done == Done::Pending
             ? cat(what, " ", bytesText(offset, bytes), " that the ",
                   nameOf(op.kind), " at line ", line,
                   earlierWrites ? " writes" : " may still read",
                   " and that has not been waited for")
             : cat(what, " ", bytesText(offset, bytes), " that the ",
                   nameOf(op.kind), " at line ", line,
                   earlierWrites ? " wrote" : " read",
                   ", without being ordered after its wait"),
         offset, {}, other, &side);
}

// Ordinary accesses before an operation --------------------------------------

/// Whether a proxy fence lies between the write and the starter.
static bool isFenced(const Starter &starter, AccessId write) {
  const WarpSync *sync = starter.warp->sync.get();
  if (!sync)
    return false;
  if (sync->all && sync->all->coversProxied(write))
    return true;
  return (sync->knows >> starter.lane & 1) &&
         sync->own[starter.lane]->coversProxied(write);
}

static void checkCell(Exec &x, const Inst &inst,
                      std::span<const Starter> starters, const Order &order,
                      const Region &region, uint64_t offset, AccessId earlier,
                      uint32_t at, bool earlierWrites, bool writes,
                      const char *name) {
  if (static_cast<int64_t>(earlier) < static_cast<int64_t>(order.bound))
    return;
  if (const EarlierLaunch *before = earlierLaunchOf(*x.launch, earlier)) {
    reportEarlierLaunch(
        x, inst, starters[0].lane,
        cat("the ", name, writes ? " writes" : " reads").c_str(), *before, at,
        earlierWrites, region, offset);
    return;
  }
  bool isOrdered = false, isVisible = false;
  for (const Starter &starter : starters) {
    Order mine = order;
    mine.warp = starter.warp;
    mine.upTo = starter.warp->orderedUpTo;
    mine.me = (order.me & ~(uint64_t(31) << warpShift)) |
              uint64_t(starter.warp->index) << warpShift;
    if (!mine.isOrdered(earlier, mine.lane(starter.lane)))
      continue;
    isOrdered = true;
    isVisible |= isFenced(starter, earlier);
  }
  unsigned lane = starters[0].lane;
  std::string who =
      threadText(*x.launch, static_cast<int>(warpOf(earlier)), laneOf(earlier));
  std::string other = cat("line ", lineOf(x, at), " ", who);
  if (!isOrdered)
    report(x, inst, lane, "race",
           cat("the ", name, writes ? " writes" : " reads",
               " the same bytes as the ", earlierWrites ? "write" : "read",
               " at line ", lineOf(x, at), " by ", who,
               ", and nothing orders the two"),
           region.base + offset, describe(region, region.base + offset), other);
  else if (earlierWrites && !isVisible)
    report(x, inst, lane, "async",
           cat("the ", name, writes ? " writes over" : " reads", " what line ",
               lineOf(x, at),
               " writes, and no "
               "fence.proxy.async lies between the two"),
           region.base + offset, describe(region, region.base + offset), other);
}

/// Ordinary accesses to [offset, offset + bytes), in one page.
static void checkCells(Exec &x, const Inst &inst,
                       std::span<const Starter> starters, const Region &region,
                       uint64_t offset, uint64_t bytes, bool writes,
                       const char *name) {
  ShadowPage *page = region.shadow->peek(offset);
  if (!page)
    return;
  Order order = orderOf(x, inst, Scope::Weak, region);
  RaceCells *recorded =
      recordedCells(*page, order, offset, static_cast<unsigned>(bytes));
  if (!recorded)
    return;
  RaceCells &cells = *recorded;
  uint64_t first = offset % pageBytes >> cells.shift;
  uint64_t last = (offset % pageBytes + bytes - 1) >> cells.shift;
  for (uint64_t k = first; k <= last; ++k) {
    uint64_t at = offset - offset % pageBytes + (k << cells.shift);
    if (cells.write[k])
      checkCell(x, inst, starters, order, region, at, cells.write[k],
                cells.writeAt[k], true, writes, name);
    if (!writes)
      continue;
    if (cells.readA[k])
      checkCell(x, inst, starters, order, region, at, cells.readA[k],
                cells.readAt[k], false, true, name);
    if (cells.readB[k])
      checkCell(x, inst, starters, order, region, at, cells.readB[k],
                cells.readAt[k], false, true, name);
    // From here on the operation stands for what came before it.
    cells.write[k] = cells.readA[k] = cells.readB[k] = 0;
  }
}

template <typename F>
static void forEachPage(uint64_t offset, uint64_t bytes, F f) {
  while (bytes) {
    uint64_t n = std::min(bytes, pageBytes - offset % pageBytes);
    f(offset, n);
    offset += n;
    bytes -= n;
  }
}

// Operations -----------------------------------------------------------------

void emulator::asyncAccess(Exec &x, const Inst &inst,
                           std::span<const Starter> starters, Cta &owner,
                           uint64_t offset, uint64_t bytes, const AsyncOp &op) {
  bool writes = op.kind == AsyncKind::BulkWrite;
  unsigned lane = starters[0].lane;
  CtaAsync &async = asyncOf(owner);
  if (writes && offset < async.endBarriers &&
      offset + bytes > async.firstBarrier)
    for (const Mbarrier &barrier : async.barriers)
      if (barrier.live && barrier.offset + 8 > offset &&
          barrier.offset < offset + bytes)
        report(x, inst, lane, "barrier",
               cat("the ", nameOf(op.kind), " writes over ", describe(barrier)),
               barrier.offset);
  if (x.launch->options.checkRaces)
    forEachPage(offset, bytes, [&](uint64_t at, uint64_t n) {
      checkCells(x, inst, starters, owner.shared, at, n, writes,
                 nameOf(op.kind));
    });
  OpLog &log = x.cta->cluster->log;
  uint32_t last = 0; // most units have the same history as the one before
  for (uint64_t unit = offset / unitBytes;
       unit < (offset + bytes + unitBytes - 1) / unitBytes; ++unit) {
    AsyncUnit &here = async.units[unit];
    auto check = [&](uint32_t id) {
      if (!id || id == last || id == op.id)
        return;
      last = id;
      const AsyncOp *earlier = log.find(id);
      if (!earlier)
        return;
      // Operations of one warpgroup read and complete in order.
      if (Done done = doneFor(starters, *earlier); done != Done::Yes)
        reportConflict(x, inst, lane, writes ? "writes" : "reads",
                       unit * unitBytes, unitBytes, *earlier, done, true);
    };
    check(here.write);
    if (writes) {
      for (uint32_t id : here.read)
        check(id);
      here.write = op.id;
      here.read = {};
      continue;
    }
    // The place of this agent's last read, of one that is forgotten, or the
    // oldest.
    uint32_t *place = &here.read[0];
    for (uint32_t &id : here.read) {
      const AsyncOp *earlier = log.find(id);
      if (!earlier || earlier->agent == op.agent) {
        place = &id;
        break;
      }
      if (id < *place)
        place = &id;
    }
    *place = op.id;
  }
  if (writes)
    owner.shared.shadow->mark(offset, bytes, false);
}

void emulator::checkSourceWritten(Exec &x, const Inst &inst, unsigned lane,
                                  Cta &owner, uint64_t offset, uint64_t bytes) {
  const Region &region = owner.shared;
  if (!x.launch->options.checkInit || region.shadow->isWritten(offset, bytes) ||
      isCopyUnderWay(x, region, offset, bytes))
    return;
  uint64_t first = region.shadow->firstUnwritten(offset, bytes);
  report(x, inst, lane, "uninitialised",
         cat("reads ", bytes, " bytes asynchronously, byte ", first,
             " of which was never written"),
         offset + first, describe(region, offset + first));
}

bool emulator::isCopyUnderWay(const Exec &x, const Region &region,
                              uint64_t offset, uint64_t bytes) {
  for (const Cta *cta : x.cta->cluster->ctas) {
    if (&cta->shared != &region || !cta->async || cta->async->units.empty())
      continue;
    for (uint64_t unit = offset / unitBytes;
         unit <= (offset + bytes - 1) / unitBytes; ++unit)
      if (const AsyncOp *op =
              x.cta->cluster->log.find(cta->async->units[unit].write))
        if (op->pending && x.launch->options.checkAsync)
          return true;
  }
  return false;
}

static const Region *liveRegion(Exec &x, const Inst &inst, unsigned lane,
                                uint64_t address, uint64_t bytes,
                                const char *what) {
  const Region *region = findRegion(*x.launch, address, bytes);
  if (region && !region->freed)
    return region;
  if (!x.launch->options.checkMemory)
    return nullptr;
  const Region *near = region ? region : nearestRegion(*x.launch, address);
  report(x, inst, lane, region ? "use-after-free" : "out-of-bounds",
         cat("the bulk copy ", what, " ", bytes, " bytes at ", hex(address),
             region ? ", in a freed allocation" : ", outside every allocation"),
         address, near ? describe(*near, address) : std::string());
  return nullptr;
}

bool emulator::asyncReadsGlobal(Exec &x, const Inst &inst, unsigned lane,
                                uint64_t address, uint64_t bytes) {
  const Region *region = liveRegion(x, inst, lane, address, bytes, "reads");
  if (!region)
    return false;
  uint64_t offset = address - region->base;
  if (x.launch->options.checkInit &&
      !region->shadow->isWritten(offset, bytes)) {
    uint64_t first = region->shadow->firstUnwritten(offset, bytes);
    report(x, inst, lane, "uninitialised",
           cat("the bulk copy reads ", bytes, " bytes, byte ", first,
               " of which was never written"),
           address + first, describe(*region, address + first));
  }
  if (x.launch->options.checkRaces) {
    Starter starter{x.warp, lane};
    forEachPage(offset, bytes, [&](uint64_t at, uint64_t n) {
      checkCells(x, inst, {&starter, 1}, *region, at, n, false, "bulk copy");
    });
  }
  return true;
}

bool emulator::asyncWritesGlobal(Exec &x, const Inst &inst, unsigned lane,
                                 uint64_t address, uint64_t bytes,
                                 bool isReduction) {
  const Region *region = liveRegion(x, inst, lane, address, bytes, "writes");
  if (!region)
    return false;
  uint64_t offset = address - region->base;
  while (bytes) {
    // As large as alignment allows.
    uint64_t size = 16;
    while (offset % size || size > bytes)
      size /= 2;
    recordAccess(x, inst, *region, offset, static_cast<unsigned>(size), lane,
                 isReduction ? AccessKind::Atomic : AccessKind::Write,
                 isReduction ? Scope::Gpu : Scope::Weak);
    offset += size;
    bytes -= size;
  }
  return true;
}

// Ordinary accesses after one ------------------------------------------------

void emulator::checkAgainstAsync(Exec &x, const Inst &inst, Cta &owner,
                                 const uint64_t *offset, uint32_t lanes,
                                 unsigned size, AccessKind kind) {
  CtaAsync &async = *owner.async;
  OpLog &log = x.cta->cluster->log;
  bool writes = kind != AccessKind::Read;
  // Done for one lane is done for all when none knows more than the others.
  bool isUniform = !x.warp->sync || !x.warp->sync->knows;
  uint32_t last = 0;
  forEachLane(lanes, [&](unsigned l) {
    uint64_t begin = offset[l], end = begin + size;
    last = isUniform ? last : 0;
    if (writes && begin < async.endBarriers && end > async.firstBarrier)
      for (const Mbarrier &barrier : async.barriers)
        if (barrier.live && barrier.offset + 8 > begin && barrier.offset < end)
          report(x, inst, l, "barrier", cat("writes over ", describe(barrier)),
                 begin);
    auto check = [&](uint32_t id) {
      if (!id || id == last)
        return;
      const AsyncOp *op = log.find(id);
      Starter me{x.warp, l};
      Done done = op ? doneFor({&me, 1}, *op) : Done::Yes;
      if (done != Done::Yes)
        reportConflict(x, inst, l, writes ? "writes" : "reads", begin, size,
                       *op, done, false);
      else
        last = id;
    };
    for (uint64_t unit = begin / unitBytes; unit <= (end - 1) / unitBytes;
         ++unit) {
      const AsyncUnit &here = async.units[unit];
      check(here.write);
      if (writes)
        for (uint32_t id : here.read)
          check(id);
    }
  });
}

void emulator::fenceAsyncProxy(Exec &x) {
  uint64_t stamp = x.cta->stamp;
  auto self = static_cast<unsigned>(x.warp->index);
  if ((x.warp->live & ~x.active) == 0) {
    // All lanes at once: what one of them knows the others fence as well.
    auto proxied = std::make_shared<Knowledge>();
    SharedKnowledge known = knowledgeOf(*x.warp, *x.cta, x.active);
    proxied->learnProxied(*known);
    proxied->raise(proxyKey | stamp << 11 | (1 + self), x.warp->clock);
    learnAll(x, proxied);
  } else {
    forEachLane(x.active, [&](unsigned l) {
      auto proxied = std::make_shared<Knowledge>();
      proxied->learnProxied(*knowledgeOf(*x.warp, *x.cta, laneBit(l)));
      learn(x, laneBit(l), proxied);
    });
  }
  // Their own mbarriers can be used by copies from here on.
  if (x.cta->async)
    for (Mbarrier &barrier : x.cta->async->barriers)
      forEachLane(x.active, [&](unsigned l) {
        barrier.fenced |= knowsAgent(*x.warp, l, barrier.agent, 1);
      });
  advanceClock(*x.warp, *x.cta);
}
