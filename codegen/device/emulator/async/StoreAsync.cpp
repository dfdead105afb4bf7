//===- StoreAsync.cpp - st.async and red.async ----------------------------===//
//
// A store whose arrival a barrier counts. It arrives as late as is legal, and
// its target has no value until then. For the race check it is a write by the
// thread that sends it; what that thread knows is released by the arrival
// (PTX ISA: the signal at the mbarrier has release semantics at cluster scope).
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/async/BulkCopy.h"
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/Mbarrier.h"
#include "codegen/device/emulator/ops/Families.h"

#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

// a, imm: target; e, target: the mbarrier's register and offset; list: the
// values; mode: a BulkReduce; extra: a MapType; flags: the mbarrier's register
// has 64 bits.
static void send(Exec &x, const Inst &i) {
  uint64_t target[warpSize];
  addressesOf(x, i, target);
  const unsigned bytes = unsigned(i.size) * i.count;
  auto reduce = static_cast<BulkReduce>(i.mode);
  auto type = static_cast<MapType>(i.extra);
  Accessible access;
  checkAccess(
      x, i, Space::SharedCluster, target, bytes,
      reduce == BulkReduce::None ? AccessKind::Write : AccessKind::Atomic,
      reduce == BulkReduce::None ? Scope::Weak : Scope::Cluster, access);
  const Slot *values = &x.cta->program->slots[i.list];
  const auto offsetOfBarrier = static_cast<uint64_t>(
      static_cast<int64_t>(static_cast<int32_t>(i.target)));
  forEachLane(access.lanes, [&](unsigned l) {
    uint64_t at = i.flags ? x.lanes<uint64_t>(i.e)[l] + offsetOfBarrier
                          : uint32_t(x.lanes<uint32_t>(i.e)[l] +
                                     static_cast<uint32_t>(i.target));
    uint64_t offset = 0;
    Cta *owner = ctaOfAddress(*x.cta, target[l], offset), *counter = nullptr;
    Mbarrier *barrier =
        findMbarrier(x, i, l, Space::SharedCluster, at, counter);
    if (!barrier)
      return;
    if (counter != owner)
      report(x, i, l, "async",
             cat("the store goes to block ", owner->rank,
                 " of the cluster and its mbarrier is in block ",
                 counter->rank));
    std::array<char, 16> value = {};
    for (unsigned v = 0; v < i.count; ++v)
      std::memcpy(&value[v * i.size], x.arena + values[v] + size_t(l) * i.size,
                  i.size);
    if (reduce == BulkReduce::None)
      owner->shared.shadow->mark(offset, bytes, false);
    Publication arrival = {Scope::Cluster, x.cta->stamp,
                           knowledgeOf(*x.warp, *x.cta, laneBit(l))};
    BulkCopy copy;
    copy.at = x.pcOf(i);
    copy.bytes = bytes;
    copy.read = [] {};
    copy.write = [=] {
      reduceElements(reduce, type, owner->sharedStorage.data() + offset,
                     value.data(), bytes / mapTypeBytes(type));
      owner->shared.shadow->mark(offset, bytes, true);
      leave(barrier->arriving, arrival);
    };
    barrier->copies.push_back(std::move(copy));
    if (!x.launch->options.checkAsync)
      completeCopies(*x.cta->cluster, *counter, *barrier, true);
  });
  advanceClock(*x.warp, *x.cta);
  wakeAll(*x.cta->cluster);
}

/// [target], value, [mbarrier].
static void build(Builder &b, const Match &m, unsigned count) {
  if (!b.expect(3))
    return;
  Type type = m.type(m.parts.size() - 1);
  b.program->hasAsync = true;
  b.inst->space = Space::SharedCluster;
  b.address(2);
  if (b.inst->imm != static_cast<int32_t>(b.inst->imm)) {
    b.fail("the mbarrier's offset does not fit in 32 bits");
    return;
  }
  b.inst->e = b.inst->a;
  b.inst->target = static_cast<uint32_t>(b.inst->imm);
  b.inst->flags = b.inst->wideAddress;
  b.address(0);
  b.inst->size = static_cast<uint8_t>(typeSize(type));
  b.inst->count = static_cast<uint8_t>(count);
  b.inst->list = b.vector(b.operand(1), count, type, false);
  b.inst->mode = static_cast<uint8_t>(reduceNamed(m.parts));
  b.inst->extra = static_cast<uint8_t>(elementNamed(m.parts.back()));
  b.inst->run = send;
}
static void buildStore(Builder &b, const Match &m) {
  std::string_view vector = m.parts[4];
  build(b, m, vector == ".v4" ? 4 : vector == ".v2" ? 2 : 1);
}
static void buildReduce(Builder &b, const Match &m) { build(b, m, 1); }

std::span<const Row> tandem::emulator::storeAsyncRows() {
#define TANDEM_COUNTED ".shared::cluster .mbarrier::complete_tx::bytes "
  static const Row rows[] = {
      {"st",
       ".async .weak? " TANDEM_COUNTED
       ".v2|.v4? .b32|.u32|.s32|.f32|.b64|.u64|.s64|.f64",
       buildStore, "arrives when it is waited for"},
      {"red",
       ".async .relaxed .cluster " TANDEM_COUNTED
       ".inc|.dec|.min|.max|.add|.and|.or|.xor .b32|.u32|.s32|.u64",
       buildReduce, "arrives when it is waited for"},
  };
#undef TANDEM_COUNTED
  return rows;
}
