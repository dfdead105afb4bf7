//===- BulkOps.cpp - cp.async.bulk and its kind ---------------------------===//
//
// Slots of a decoded copy, from Inst::list on: three addresses of (register,
// offset, wide), the size, the multicast mask, then the coordinates.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/async/BulkCopy.h"
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/Mbarrier.h"
#include "codegen/device/emulator/async/TensorTile.h"
#include "codegen/device/emulator/ops/Families.h"
#include "codegen/device/emulator/ops/Spaces.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

namespace {
using OperandKind = tandem::emulator::Operand::Kind;

// Inst::mode: a BulkReduce. Inst::extra: a MapType. Inst::count: dims.
enum SlotIndex : uint32_t {
  sharedAt = 0,  // in shared memory: the target of loads, the source of stores
  otherAt = 3,   // the tensor map, or the other end of the copy
  barrierAt = 6, // the mbarrier
  sizeAt = 9,
  maskAt = 10,
  coordinatesAt = 11,
};

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

static void loadTensor(Exec &x, const Inst &i) {
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

/// A store or a reduction, in the lane's bulk group.
static void storeTensor(Exec &x, const Inst &i) {
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
    bool writable = true;
    forEachTileRow(map, origin.data(), [&](const TileRow &row) {
      if (!writable || row.end <= row.begin)
        return;
      uint64_t bytes = (row.end - row.begin - 1) * step + size;
      writable =
          asyncWritesGlobal(x, i, l, row.global + row.begin * step, bytes);
    });
    auto rows = std::make_shared<std::vector<char>>(map.boxBytes());
    BulkCopy copy;
    copy.readOp = op.id;
    copy.read = [=] {
      takeTile(map, owner->sharedStorage.data(), offset, rows->data());
    };
    auto reduce = static_cast<BulkReduce>(i.mode);
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

static void prefetchTensor(Exec &x, const Inst &i) {
  forEachLane(x.active, [&](unsigned l) { Copy(x, i, l).map(); });
}

/// Global to shared memory.
static void loadBytes(Exec &x, const Inst &i) {
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

/// Own shared memory to that of a CTA of the cluster, perhaps a reduction.
static void sendBytes(Exec &x, const Inst &i) {
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

/// Shared to global memory.
static void storeBytes(Exec &x, const Inst &i) {
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
    bool writable = !bytes || asyncWritesGlobal(x, i, l, to, bytes);
    auto taken = std::make_shared<std::vector<char>>(bytes);
    Cta *source = x.cta;
    auto reduce = static_cast<BulkReduce>(i.mode);
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

static void prefetchBytes(Exec &x, const Inst &i) {
  forEachLane(x.active, [&](unsigned l) {
    Copy c(x, i, l);
    asyncReadsGlobal(x, i, l, c.address(otherAt), c.size());
  });
}

// Builders -------------------------------------------------------------------

namespace {
class CopyBuilder {
public:
  explicit CopyBuilder(Builder &b) : b(b) {
    b.program->hasAsync = true;
    slots.assign(coordinatesAt, noSlot);
  }
  void address(SlotIndex at, size_t operand, Space space) {
    b.inst->space = space;
    b.address(operand);
    put(at, b.inst->a, b.inst->imm, b.inst->wideAddress);
  }
  /// `[map, {coordinates}]`.
  void map(size_t operand, unsigned dims) {
    const tandem::emulator::Operand &o = b.operand(operand);
    if (o.kind != OperandKind::Address || o.parts.size() != 2 ||
        (o.parts[1].kind != OperandKind::Vector && dims > 1)) {
      b.fail(
          cat("'", b.ast->text(), "' needs [map, {", dims, " coordinates}]"));
      return;
    }
    base(o.parts[0], o.offset);
    b.inst->count = static_cast<uint8_t>(dims);
    uint32_t first = b.vector(o.parts[1], dims, Type::B32, false);
    for (unsigned i = 0; i < dims; ++i)
      slots.push_back(b.program->slots[first + i]);
  }
  /// A map's address: a register, or the name of a parameter.
  void base(const tandem::emulator::Operand &operand, int64_t offset) {
    for (const ParamSlot &param : b.program->params)
      if (param.name == operand.name) {
        put(otherAt, b.constant(paramWindow | param.offset, 8), offset, true);
        return;
      }
    put(otherAt, b.readOperand(operand, Type::B64), offset, true);
  }
  void size(size_t operand) { slots[sizeAt] = b.read(operand, Type::U32); }
  void mask(size_t operand) { slots[maskAt] = b.read(operand, Type::B16); }
  void finish(Handler run) {
    b.inst->list = static_cast<uint32_t>(b.program->slots.size());
    b.program->slots.insert(b.program->slots.end(), slots.begin(), slots.end());
    b.inst->run = run;
  }

private:
  void put(SlotIndex at, Slot slot, int64_t offset, bool wide) {
    if (offset != static_cast<int32_t>(offset))
      b.fail("an address's offset does not fit in 32 bits");
    slots[at] = slot;
    slots[at + 1] = static_cast<uint32_t>(offset);
    slots[at + 2] = wide;
    b.critical(slot);
  }
  Builder &b;
  std::vector<Slot> slots;
};

bool hasPart(const Match &m, std::string_view part) {
  return std::find(m.parts.begin(), m.parts.end(), part) != m.parts.end();
}
/// The digit of `.3d`.
unsigned dimsOf(const Match &m) {
  for (std::string_view part : m.parts)
    if (part.size() == 3 && part[2] == 'd' && part[1] >= '1' && part[1] <= '5')
      return static_cast<unsigned>(part[1] - '0');
  return 0;
}
BulkReduce reduceOf(const Match &m) {
  static constexpr std::string_view names[] = {
      "", ".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"};
  for (size_t i = 1; i < std::size(names); ++i)
    if (hasPart(m, names[i]))
      return static_cast<BulkReduce>(i);
  return BulkReduce::None;
}
/// The element type of a reduction; bytes of none.
MapType elementOf(std::string_view name) {
  static constexpr std::pair<std::string_view, MapType> names[] = {
      {".b32", MapType::U32}, {".u32", MapType::U32},   {".s32", MapType::S32},
      {".b64", MapType::U64}, {".u64", MapType::U64},   {".s64", MapType::S64},
      {".f16", MapType::F16}, {".bf16", MapType::BF16}, {".f32", MapType::F32},
      {".f64", MapType::F64}};
  for (const auto &[known, type] : names)
    if (known == name)
      return type;
  return MapType::U8;
}
} // namespace

static bool refusesMode(Builder &b, const Match &m) {
  if (!hasPart(m, ".im2col") && !hasPart(m, ".im2col_no_offs"))
    return false;
  b.fail(cat("'", b.ast->text(), "': im2col mode is not supported, .tile is"));
  return true;
}

/// [target], [map, {..}], [mbarrier] {, mask} {, policy}.
static void buildLoadTensor(Builder &b, const Match &m) {
  bool multicast = hasPart(m, ".multicast::cluster");
  size_t hints = hasPart(m, ".L2::cache_hint");
  if (refusesMode(b, m) || !b.expect(3 + multicast + hints))
    return;
  CopyBuilder copy(b);
  copy.address(sharedAt, 0, Space::SharedCluster);
  copy.address(barrierAt, 2, Space::SharedCluster);
  copy.map(1, dimsOf(m));
  if (multicast)
    copy.mask(3);
  copy.finish(loadTensor);
}
/// [map, {..}], [source] {, policy}.
static void buildStoreTensor(Builder &b, const Match &m) {
  if (refusesMode(b, m) || !b.expect(2 + hasPart(m, ".L2::cache_hint")))
    return;
  CopyBuilder copy(b);
  copy.address(sharedAt, 1, Space::Shared);
  copy.map(0, dimsOf(m));
  b.inst->mode = static_cast<uint8_t>(reduceOf(m));
  copy.finish(storeTensor);
}
static void buildPrefetchTensor(Builder &b, const Match &m) {
  if (refusesMode(b, m) || !b.expect(1 + hasPart(m, ".L2::cache_hint")))
    return;
  CopyBuilder copy(b);
  copy.map(0, dimsOf(m));
  copy.finish(prefetchTensor);
}
/// prefetch.tensormap [map].
static void buildPrefetchMap(Builder &b, const Match &m) {
  if (!b.expect(1))
    return;
  CopyBuilder copy(b);
  copy.address(otherAt, 0,
               hasPart(m, ".param") ? Space::Param : Space::Generic);
  b.inst->run = [](Exec &, const Inst &) {};
}

/// [target], [source], size {, [mbarrier]} {, mask} {, policy}.
static void buildBytes(Builder &b, const Match &m, Handler run, bool toShared,
                       Space otherSpace, bool hasBarrier) {
  bool multicast = hasPart(m, ".multicast::cluster");
  size_t hints = hasPart(m, ".L2::cache_hint");
  if (!b.expect(3 + hasBarrier + multicast + hints))
    return;
  CopyBuilder copy(b);
  copy.address(sharedAt, toShared ? 0 : 1,
               toShared ? Space::SharedCluster : Space::Shared);
  copy.address(otherAt, toShared ? 1 : 0, otherSpace);
  copy.size(2);
  if (hasBarrier)
    copy.address(barrierAt, 3, Space::SharedCluster);
  if (multicast)
    copy.mask(4);
  BulkReduce reduce = reduceOf(m);
  b.inst->mode = static_cast<uint8_t>(reduce);
  b.inst->extra = static_cast<uint8_t>(elementOf(m.parts.back()));
  copy.finish(run);
}
static void buildLoadBytes(Builder &b, const Match &m) {
  buildBytes(b, m, loadBytes, true, Space::Global, true);
}
static void buildSendBytes(Builder &b, const Match &m) {
  buildBytes(b, m, sendBytes, true, Space::Shared, true);
}
static void buildStoreBytes(Builder &b, const Match &m) {
  buildBytes(b, m, storeBytes, false, Space::Global, false);
}
static void buildPrefetchBytes(Builder &b, const Match &m) {
  if (!b.expect(2 + hasPart(m, ".L2::cache_hint")))
    return;
  CopyBuilder copy(b);
  copy.address(otherAt, 0, Space::Global);
  copy.size(1);
  copy.finish(prefetchBytes);
}
static void buildCommit(Builder &b, const Match &) {
  if (b.expect(0))
    b.inst->run = commitBulkGroup;
}
static void buildWait(Builder &b, const Match &m) {
  if (!b.expect(1))
    return;
  if (b.operand(0).kind != OperandKind::Integer)
    b.fail("the number of groups is a constant");
  b.inst->imm = static_cast<int64_t>(b.operand(0).bits);
  b.inst->flags = m.has(3);
  b.inst->run = waitBulkGroup;
}

std::span<const Row> tandem::emulator::bulkRows() {
#define TANDEM_DIMS ".1d|.2d|.3d|.4d|.5d "
#define TANDEM_MODE ".tile|.im2col|.im2col_no_offs? "
#define TANDEM_ARRIVES ".mbarrier::complete_tx::bytes "
#define TANDEM_HINTS ".multicast::cluster? .L2::cache_hint?"
#define TANDEM_OPS ".add|.min|.max|.inc|.dec|.and|.or|.xor "
#define TANDEM_TYPES ".b32|.u32|.s32|.b64|.u64|.s64|.f16|.bf16|.f32|.f64"
  static const Row rows[] = {
      {"cp",
       ".async .bulk .tensor " TANDEM_DIMS
       ".shared::cluster|.shared::cta .global " TANDEM_MODE TANDEM_ARRIVES
           TANDEM_HINTS,
       buildLoadTensor, "tiled mode; arrives when it is waited for"},
      {"cp",
       ".async .bulk .tensor " TANDEM_DIMS ".global .shared::cta " TANDEM_MODE
       ".bulk_group .L2::cache_hint?",
       buildStoreTensor, "tiled mode"},
      {"cp",
       ".reduce .async .bulk .tensor " TANDEM_DIMS
       ".global .shared::cta " TANDEM_OPS TANDEM_MODE
       ".bulk_group .L2::cache_hint?",
       buildStoreTensor, "tiled mode"},
      {"cp",
       ".async .bulk .prefetch .tensor " TANDEM_DIMS ".L2 .global " TANDEM_MODE
       ".L2::cache_hint?",
       buildPrefetchTensor, "no effect"},
      {"cp",
       ".async .bulk .shared::cluster|.shared::cta .global " TANDEM_ARRIVES
           TANDEM_HINTS,
       buildLoadBytes, "arrives when it is waited for"},
      {"cp", ".async .bulk .shared::cluster .shared::cta " TANDEM_ARRIVES,
       buildSendBytes},
      {"cp", ".async .bulk .global .shared::cta .bulk_group .L2::cache_hint?",
       buildStoreBytes},
      {"cp", ".async .bulk .prefetch .L2 .global .L2::cache_hint?",
       buildPrefetchBytes, "no effect"},
      {"cp",
       ".reduce .async .bulk .shared::cluster .shared::cta " TANDEM_ARRIVES
           TANDEM_OPS TANDEM_TYPES,
       buildSendBytes},
      {"cp",
       ".reduce .async .bulk .global .shared::cta .bulk_group "
       ".L2::cache_hint? .noftz? " TANDEM_OPS TANDEM_TYPES,
       buildStoreBytes},
      {"cp", ".async .bulk .commit_group", buildCommit},
      {"cp", ".async .bulk .wait_group .read?", buildWait},
      {"prefetch", ".param|.const? .tensormap", buildPrefetchMap, "no effect"},
  };
#undef TANDEM_DIMS
#undef TANDEM_MODE
#undef TANDEM_ARRIVES
#undef TANDEM_HINTS
#undef TANDEM_OPS
#undef TANDEM_TYPES
  return rows;
}
