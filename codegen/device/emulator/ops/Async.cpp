//===- Async.cpp - cp.async -----------------------------------------------===//
//
// A copy arrives as late as is legal: when the thread waits for its group.
// Until then its target counts as never written, and both ends of that time are
// recorded as writes by the thread, so that whoever reads or still uses the
// target without being ordered shows up as a race.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/async/Mbarrier.h"
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>
#include <cstring>

using namespace tandem::emulator;

static constexpr uint64_t uncommitted = ~uint64_t(0);

static void complete(Exec &x, const PendingCopy &copy) {
  Cta &cta = *x.cta;
  char *target = cta.sharedStorage.data() + copy.target;
  if (copy.sourceSize)
    std::memcpy(target, reinterpret_cast<const char *>(copy.source),
                copy.sourceSize);
  std::memset(target + copy.sourceSize, 0, copy.size - copy.sourceSize);
  recordShared(x, cta.program->code[copy.at], copy.lane, copy.target, copy.size,
               AccessKind::Write);
}

/// Completes the lanes' copies of groups before \p upTo(lane).
template <typename F>
static void completeBefore(Exec &x, F upTo) {
  auto &copies = x.warp->copies;
  auto isDue = [&](const PendingCopy &copy) {
    return (x.active >> copy.lane & 1) && copy.group < upTo(copy.lane);
  };
  for (const PendingCopy &copy : copies)
    if (isDue(copy))
      complete(x, copy);
  std::erase_if(copies, isDue);
}

// a: target base; e: source base; imm: target offset; target: source offset;
// b: source size (or a predicate, flags & 1); size: bytes; flags & 2: 64-bit.
static void start(Exec &x, const Inst &i) {
  uint64_t target[warpSize], source[warpSize];
  addressesOf(x, i, target);
  auto sourceOffset = static_cast<uint64_t>(static_cast<int32_t>(i.target));
  uint32_t sizes[warpSize];
  for (unsigned l = 0; l < warpSize; ++l) {
    source[l] = i.flags & 2 ? x.lanes<uint64_t>(i.e)[l] + sourceOffset
                            : x.lanes<uint32_t>(i.e)[l] + sourceOffset;
    sizes[l] = i.size;
    if (i.b != noSlot)
      sizes[l] = i.flags & 1
                     ? (x.mask(i.b) >> l & 1 ? 0 : i.size)
                     : std::min<uint32_t>(x.lanes<uint32_t>(i.b)[l], i.size);
  }
  uint32_t active = x.active;
  // The target: as a write now.
  Accessible into;
  checkAccess(x, i, Space::Shared, target, i.size, AccessKind::Write,
              Scope::Weak, into);
  uint32_t lanes = into.lanes, full = 0;
  forEachLane(lanes, [&](unsigned l) {
    if (sizes[l] == i.size)
      full |= uint32_t(1) << l;
  });
  // The source: whole accesses, and the rare short ones byte by byte.
  Accessible from;
  x.active = full;
  if (full)
    checkAccess(x, i, Space::Global, source, i.size, AccessKind::Read,
                Scope::Weak, from);
  uint32_t readable = full ? from.lanes : 0;
  forEachLane(lanes & ~full, [&](unsigned l) {
    bool ok = true;
    x.active = uint32_t(1) << l;
    for (uint32_t k = 0; k < sizes[l]; ++k) {
      uint64_t byte[warpSize] = {};
      byte[l] = source[l] + k;
      Accessible one;
      checkAccess(x, i, Space::Global, byte, 1, AccessKind::Read, Scope::Weak,
                  one);
      ok &= one.lanes != 0;
    }
    if (ok)
      readable |= x.active;
  });
  x.active = active;
  bool late = x.launch->options.checkAsync;
  forEachLane(lanes, [&](unsigned l) {
    PendingCopy copy;
    copy.lane = l;
    copy.target = static_cast<uint32_t>(target[l]);
    copy.size = i.size;
    copy.sourceSize = readable >> l & 1 ? sizes[l] : 0;
    copy.source = source[l];
    copy.at = x.pcOf(i);
    copy.group = uncommitted;
    if (!late) {
      complete(x, copy);
      return;
    }
    x.cta->shared.shadow->mark(copy.target, copy.size, false);
    x.warp->copies.push_back(copy);
  });
}

/// Parts: cop, shared, global, L2 hints; operands [target], [source], size,
/// then source size or ignore-source predicate, then policy.
static void buildStart(Builder &b, const Match &m) {
  bool hasPolicy = m.has(3);
  if (!b.expect(3 + (hasPolicy ? 1 : 0), 4 + (hasPolicy ? 1 : 0)))
    return;
  using Kind = tandem::emulator::Operand::Kind;
  if (b.operand(2).kind != Kind::Integer ||
      (b.operand(2).bits != 16 &&
       (m.is(0, ".cg") ||
        (b.operand(2).bits != 4 && b.operand(2).bits != 8)))) {
    b.fail("cp.async copies 4, 8 or 16 bytes, .cg only 16");
    return;
  }
  b.inst->size = static_cast<uint8_t>(b.operand(2).bits);
  b.inst->space = Space::Global;
  b.address(1);
  if (b.inst->imm != static_cast<int32_t>(b.inst->imm)) {
    b.fail("the source's offset does not fit in 32 bits");
    return;
  }
  b.inst->e = b.inst->a;
  b.inst->target = static_cast<uint32_t>(b.inst->imm);
  b.inst->flags = b.inst->wideAddress ? 2 : 0;
  b.inst->space = Space::Shared;
  b.address(0);
  if (b.operands() == (hasPolicy ? 5u : 4u)) {
    bool isPredicate = b.registerSize(b.operand(3)) == 0;
    b.inst->b = isPredicate ? b.readPredicate(3) : b.read(3, Type::U32);
    b.inst->flags |= isPredicate ? 1 : 0;
  }
  b.inst->run = start;
}

static void commit(Exec &x, const Inst &) {
  for (PendingCopy &copy : x.warp->copies)
    if ((x.active >> copy.lane & 1) && copy.group == uncommitted)
      copy.group = x.warp->copyGroup[copy.lane];
  forEachLane(x.active, [&](unsigned l) { ++x.warp->copyGroup[l]; });
}
static void buildCommit(Builder &b, const Match &) {
  if (b.expect(0))
    b.inst->run = commit;
}
static void buildWaitGroup(Builder &b, const Match &) {
  if (!b.expect(1))
    return;
  if (b.operand(0).kind != tandem::emulator::Operand::Kind::Integer)
    b.fail("the number of groups is a constant");
  b.inst->imm = static_cast<int64_t>(b.operand(0).bits);
  b.inst->run = [](Exec &x, const Inst &i) {
    auto keep = static_cast<uint64_t>(i.imm);
    completeBefore(x, [&](unsigned l) {
      uint64_t groups = x.warp->copyGroup[l];
      return groups > keep ? groups - keep : 0;
    });
  };
}
static void buildWaitAll(Builder &b, const Match &) {
  if (!b.expect(0))
    return;
  b.inst->run = [](Exec &x, const Inst &i) {
    commit(x, i);
    completeBefore(x, [&](unsigned) { return uncommitted; });
  };
}

/// cp.async.mbarrier.arrive: the thread's copies so far arrive, and then it
/// does. That may be at any time; here it is at once. flags: .noinc.
static void arriveAfterCopies(Exec &x, const Inst &i) {
  auto &copies = x.warp->copies;
  auto isMine = [&](const PendingCopy &copy) {
    return x.active >> copy.lane & 1;
  };
  for (const PendingCopy &copy : copies)
    if (isMine(copy))
      complete(x, copy);
  std::erase_if(copies, isMine);
  uint64_t address[warpSize];
  addressesOf(x, i, address);
  forEachLane(x.active, [&](unsigned l) {
    Cta *owner = nullptr;
    Mbarrier *barrier = findMbarrier(x, i, l, i.space, address[l], owner);
    if (!barrier)
      return;
    if (!i.flags)
      ++barrier->pending;
    releaseAt(x, l, *owner, *barrier, Scope::Cta, false);
    arriveAt(x, i, l, *owner, *barrier, 1, false);
  });
  advanceClock(*x.warp, *x.cta);
}
static void buildArriveAfterCopies(Builder &b, const Match &m) {
  if (!b.expect(1))
    return;
  b.program->hasAsync = true;
  b.inst->space = m.has(4) ? Space::Shared : Space::Generic;
  b.address(0);
  b.inst->flags = m.has(3);
  b.inst->run = arriveAfterCopies;
}

std::span<const Row> tandem::emulator::asyncRows() {
  static const Row rows[] = {
      {"cp",
       ".async .ca|.cg .shared|.shared::cta .global .L2::cache_hint? "
       ".L2::64B|.L2::128B|.L2::256B?",
       [](Builder &b, const Match &m) {
         Match rest;
         rest.parts = {m.parts[1], m.parts[2], m.parts[3], m.parts[4]};
         buildStart(b, rest);
       },
       "arrives when it is waited for"},
      {"cp", ".async .commit_group", buildCommit},
      {"cp", ".async .wait_group", buildWaitGroup},
      {"cp", ".async .wait_all", buildWaitAll},
      {"cp",
       ".async .mbarrier .arrive .noinc? "
       ".shared|.shared::cta? .b64",
       buildArriveAfterCopies, "the copies and the arrival come at once"},
  };
  return rows;
}
