//===- BulkRows.cpp - The instructions that copy in bulk ------------------===//
#include "codegen/device/emulator/async/BulkOps.h"
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

using OperandKind = tandem::emulator::Operand::Kind;

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
  b.inst->mode = static_cast<uint8_t>(reduceNamed(m.parts));
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
  BulkReduce reduce = reduceNamed(m.parts);
  b.inst->mode = static_cast<uint8_t>(reduce);
  b.inst->extra = static_cast<uint8_t>(elementNamed(m.parts.back()));
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
