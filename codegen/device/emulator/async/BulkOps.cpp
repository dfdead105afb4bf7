//===- BulkOps.cpp - What decoded bulk copies do --------------------------===//
#include "codegen/device/emulator/async/BulkOps.h"
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/Mbarrier.h"
#include "codegen/device/emulator/async/TensorTile.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

namespace {
struct Copy {
  Exec &x;
  const Inst &inst;
  unsigned lane;
  const Slot *slots;

  Copy(Exec &x, const Inst &inst, unsigned lane)
      : x(x), inst(inst), lane(lane), slots(&x.cta->program->slots[inst.list]) {
  }

  uint64_t address(SlotIndex at) const {
    auto offset = static_cast<uint64_t>(
        static_cast<int64_t>(static_cast<int32_t>(slots[at + 1])));
    if (slots[at + 2])
      return x.lanes<uint64_t>(slots[at])[lane] + offset;
    return uint32_t(x.lanes<uint32_t>(slots[at])[lane] + offset);
  }
  uint64_t size() const { return x.lanes<uint32_t>(slots[sizeAt])[lane]; }
  void coordinates(int32_t *to) const {
    for (unsigned i = 0; i < inst.count; ++i)
      to[i] = x.lanes<int32_t>(slots[coordinatesAt + i])[lane];
  }

  bool isAligned(uint64_t value, unsigned to, const char *what) const {
    if (value % to == 0)
      return true;
    report(x, inst, lane, "misaligned",
           cat("the copy's ", what, " is ", hex(value),
               ", which is not a multiple of ", to),
           value);
    return false;
  }
  bool fits(const Cta *owner, uint64_t offset, uint64_t bytes) const {
    if (owner && !owner->done && offset + bytes <= owner->shared.bytes)
      return true;
    report(x, inst, lane,
           owner && owner->done ? "use-after-free" : "out-of-bounds",
           owner && owner->done
               ? cat("the copy uses the shared memory of block ", owner->rank,
                     " of the cluster, which has exited")
               : cat("the copy of ", bytes, " bytes at ", hex(offset),
                     " does not lie in shared memory"),
           offset);
    return false;
  }

  /// The map, if it is one.
  const MapCode *map() const {
    uint64_t at = address(otherAt);
    const char *bytes = nullptr;
    if ((at & windowMask) == paramWindow) {
      uint64_t offset = at & ~windowMask;
      const std::vector<char> &params = x.launch->params;
      if (offset + sizeof(MapCode) <= params.size())
        bytes = params.data() + offset;
    } else if (!(at & windowMask) &&
               asyncReadsGlobal(x, inst, lane, at, sizeof(MapCode))) {
      bytes = reinterpret_cast<const char *>(at);
    }
    auto wrong = [&](const std::string &what) {
      report(x, inst, lane, "async", what, at);
      return nullptr;
    };
    if (!bytes)
      return wrong(cat("there is no tensor map at ", hex(at)));
    if (at % tensorMapAlign)
      return wrong(
          cat("a tensor map at ", hex(at), ", which is not a multiple of 64"));
    const auto *code = reinterpret_cast<const MapCode *>(bytes);
    if (const char *why = whyNoMap(*code))
      return wrong(why);
    if (code->rank != inst.count)
      return wrong(cat("the tensor map has ", int(code->rank),
                       " dims, the "
                       "instruction ",
                       int(inst.count)));
    return code;
  }

  Starter starter() const { return {x.warp, lane}; }
};

/// The bytes of a copy into shared memory are unknown until it arrives.
void poison(Cta &owner, uint64_t offset, uint64_t bytes) {
  std::memset(owner.sharedStorage.data() + offset, 0xff, bytes);
}

/// Starts a copy that arrives in the shared memory of \p owner.
void startLoad(const Copy &c, Cta &owner, uint64_t offset, uint64_t bytes,
               uint64_t barrierAddress, uint32_t readOp,
               std::function<void()> write) {
  Cta *at = nullptr;
  Mbarrier *barrier = findMbarrier(c.x, c.inst, c.lane, Space::SharedCluster,
                                   barrierAddress, at);
  if (!barrier)
    return;
  if (at != &owner)
    report(c.x, c.inst, c.lane, "async",
           cat("the copy arrives in block ", owner.rank,
               " and its mbarrier is "
               "in block ",
               at->rank, " of the cluster"));
  AsyncOp &op =
      startOp(c.x, c.inst, c.lane, AsyncKind::BulkWrite, barrier->agent, 0);
  Starter starter = c.starter();
  asyncAccess(c.x, c.inst, {&starter, 1}, owner, offset, bytes, op);
  poison(owner, offset, bytes);
  BulkCopy copy;
  copy.op = op.id;
  copy.readOp = readOp;
  copy.bytes = bytes;
  copy.read = [] {};
  copy.write = [&owner, offset, bytes, write = std::move(write)] {
    write();
    owner.shared.shadow->mark(offset, bytes, true);
  };
  addCopy(c.x, c.inst, c.lane, *at, *barrier, std::move(copy));
}

/// The address of \p offset in the CTA of rank \p rank.
uint64_t inRank(uint32_t rank, uint64_t offset) {
  return uint64_t(rank + 1) << clusterRankShift | offset;
}

/// Calls f(owner, offset, barrier address) for each target of a load: one, or
/// with a mask the same place in several CTAs.
template <typename F>
void forEachTarget(const Copy &c, uint64_t bytes, F f) {
  uint64_t offset = 0, barrierOffset = 0;
  uint64_t to = c.address(sharedAt), barrier = c.address(barrierAt);
  Cta *owner = ctaOfAddress(*c.x.cta, to, offset);
  Slot mask = c.slots[maskAt];
  if (mask == noSlot) {
    if (c.fits(owner, offset, bytes))
      f(*owner, offset, barrier);
    return;
  }
  ctaOfAddress(*c.x.cta, barrier, barrierOffset);
  uint32_t ranks = c.x.lanes<uint16_t>(mask)[c.lane];
  const std::vector<Cta *> &ctas = c.x.cta->cluster->ctas;
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if (!(ranks >> rank & 1))
      continue;
    if (rank >= ctas.size()) {
      report(c.x, c.inst, c.lane, "out-of-bounds",
             cat("the multicast mask names block ", rank, " of a cluster of ",
                 ctas.size()));
      continue;
    }
    if (c.fits(ctas[rank], offset, bytes))
      f(*ctas[rank], offset, inRank(rank, barrierOffset));
  }
}
} // namespace

void emulator::loadTensor(Exec &x, const Inst &i) {
  forEachLane(x.active, [&](unsigned l) {
    Copy c(x, i, l);
    const MapCode *found = c.map();
    if (!found || !c.isAligned(c.address(sharedAt), 128, "target"))
      return;
    MapCode map = *found;
    std::array<int32_t, maxMapRank> origin = {};
    c.coordinates(origin.data());
    bool readable = true;
    forEachTileRow(map, origin.data(), [&](const TileRow &row) {
      uint64_t size = map.elementBytes();
      uint64_t step = size * map.elementStrides[0];
      if (readable && row.end > row.begin)
        readable = asyncReadsGlobal(x, i, l, row.global + row.begin * step,
                                    (row.end - row.begin - 1) * step + size);
    });
    forEachTarget(
        c, map.boxBytes(), [&](Cta &owner, uint64_t offset, uint64_t barrier) {
          startLoad(c, owner, offset, map.boxBytes(), barrier, 0, [=, &owner] {
            if (readable)
              loadTile(map, origin.data(), owner.sharedStorage.data(), offset);
          });
        });
  });
}

void emulator::storeTensor(Exec &x, const Inst &i) {
  forEachLane(x.active, [&](unsigned l) {
    Copy c(x, i, l);
    const MapCode *found = c.map();
    uint64_t offset = 0;
    Cta *owner = ctaOfAddress(*x.cta, c.address(sharedAt), offset);
    if (!found || !c.isAligned(offset, 128, "source") ||
        !c.fits(owner, offset, found->boxBytes()))
      return;
    MapCode map = *found;
    std::array<int32_t, maxMapRank> origin = {};
    c.coordinates(origin.data());
    BulkGroups &groups = groupsOf(x, l);
    AsyncOp &op = startOp(x, i, l, AsyncKind::BulkRead, groups.readAgent,
                          groups.committed + 1);
    Starter starter = c.starter();
    asyncAccess(x, i, {&starter, 1}, *owner, offset, map.boxBytes(), op);
    checkSourceWritten(x, i, l, *owner, offset, map.boxBytes());
    uint64_t size = map.elementBytes(), step = size * map.elementStrides[0];
    auto reduce = static_cast<BulkReduce>(i.mode);
    bool writable = true;
    forEachTileRow(map, origin.data(), [&](const TileRow &row) {
      if (!writable || row.end <= row.begin)
        return;
      uint64_t bytes = (row.end - row.begin - 1) * step + size;
      writable = asyncWritesGlobal(x, i, l, row.global + row.begin * step,
                                   bytes, reduce != BulkReduce::None);
    });
    auto rows = std::make_shared<std::vector<char>>(map.boxBytes());
    BulkCopy copy;
    copy.readOp = op.id;
    copy.read = [=] {
      takeTile(map, owner->sharedStorage.data(), offset, rows->data());
    };
    copy.write = [=] {
      if (!writable)
        return;
      forEachTileRow(map, origin.data(), [&](const TileRow &row) {
        auto *to = reinterpret_cast<char *>(row.global);
        const char *from = rows->data() + row.shared;
        if (step == size) {
          reduceElements(reduce, map.type, to + row.begin * size,
                         from + row.begin * size, row.end - row.begin);
          return;
        }
        for (uint32_t k = row.begin; k < row.end; ++k)
          reduceElements(reduce, map.type, to + k * step, from + k * size, 1);
      });
    };
    addToGroup(x, i, l, std::move(copy));
  });
}

void emulator::prefetchTensor(Exec &x, const Inst &i) {
  forEachLane(x.active, [&](unsigned l) { Copy(x, i, l).map(); });
}

void emulator::loadBytes(Exec &x, const Inst &i) {
  forEachLane(x.active, [&](unsigned l) {
    Copy c(x, i, l);
    uint64_t bytes = c.size(), from = c.address(otherAt);
    if (!c.isAligned(c.address(sharedAt), 16, "target") ||
        !c.isAligned(from, 16, "source") || !c.isAligned(bytes, 16, "size"))
      return;
    bool readable = !bytes || asyncReadsGlobal(x, i, l, from, bytes);
    forEachTarget(c, bytes, [&](Cta &owner, uint64_t offset, uint64_t barrier) {
      startLoad(c, owner, offset, bytes, barrier, 0, [=, &owner] {
        if (readable)
          std::memcpy(owner.sharedStorage.data() + offset,
                      reinterpret_cast<const char *>(from), bytes);
      });
    });
  });
}

void emulator::sendBytes(Exec &x, const Inst &i) {
  forEachLane(x.active, [&](unsigned l) {
    Copy c(x, i, l);
    uint64_t bytes = c.size(), from = c.address(otherAt);
    if (!c.isAligned(c.address(sharedAt), 16, "target") ||
        !c.isAligned(from, 16, "source") || !c.isAligned(bytes, 16, "size") ||
        !c.fits(x.cta, from, bytes))
      return;
    uint64_t offset = 0;
    Cta *owner = ctaOfAddress(*x.cta, c.address(sharedAt), offset);
    if (!c.fits(owner, offset, bytes))
      return;
    Starter starter = c.starter();
    uint32_t readOp = startOp(x, i, l, AsyncKind::BulkRead, 0, 0).id;
    asyncAccess(x, i, {&starter, 1}, *x.cta, from, bytes,
                *x.cta->cluster->log.find(readOp));
    checkSourceWritten(x, i, l, *x.cta, from, bytes);
    Cta *source = x.cta;
    auto reduce = static_cast<BulkReduce>(i.mode);
    auto type = static_cast<MapType>(i.extra);
    auto old = std::make_shared<std::vector<char>>();
    if (reduce != BulkReduce::None)
      old->assign(owner->sharedStorage.data() + offset,
                  owner->sharedStorage.data() + offset + bytes);
    startLoad(c, *owner, offset, bytes, c.address(barrierAt), readOp, [=] {
      char *to = owner->sharedStorage.data() + offset;
      if (!old->empty())
        std::memcpy(to, old->data(), bytes);
      reduceElements(reduce, type, to, source->sharedStorage.data() + from,
                     bytes / mapTypeBytes(type));
    });
  });
}

void emulator::storeBytes(Exec &x, const Inst &i) {
  forEachLane(x.active, [&](unsigned l) {
    Copy c(x, i, l);
    uint64_t bytes = c.size(), to = c.address(otherAt);
    uint64_t from = c.address(sharedAt);
    if (!c.isAligned(from, 16, "source") || !c.isAligned(to, 16, "target") ||
        !c.isAligned(bytes, 16, "size") || !c.fits(x.cta, from, bytes))
      return;
    BulkGroups &groups = groupsOf(x, l);
    AsyncOp &op = startOp(x, i, l, AsyncKind::BulkRead, groups.readAgent,
                          groups.committed + 1);
    Starter starter = c.starter();
    asyncAccess(x, i, {&starter, 1}, *x.cta, from, bytes, op);
    checkSourceWritten(x, i, l, *x.cta, from, bytes);
    auto reduce = static_cast<BulkReduce>(i.mode);
    bool writable = !bytes || asyncWritesGlobal(x, i, l, to, bytes,
                                                reduce != BulkReduce::None);
    auto taken = std::make_shared<std::vector<char>>(bytes);
    Cta *source = x.cta;
    auto type = static_cast<MapType>(i.extra);
    BulkCopy copy;
    copy.readOp = op.id;
    copy.read = [=] {
      std::memcpy(taken->data(), source->sharedStorage.data() + from, bytes);
    };
    copy.write = [=] {
      if (writable)
        reduceElements(reduce, type, reinterpret_cast<char *>(to),
                       taken->data(), bytes / mapTypeBytes(type));
    };
    addToGroup(x, i, l, std::move(copy));
  });
}

void emulator::prefetchBytes(Exec &x, const Inst &i) {
  forEachLane(x.active, [&](unsigned l) {
    Copy c(x, i, l);
    asyncReadsGlobal(x, i, l, c.address(otherAt), c.size());
  });
}
