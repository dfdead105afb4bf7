//===- MbarrierOps.cpp - The instructions on mbarriers --------------------===//
#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/Mbarrier.h"
#include "codegen/device/emulator/ops/Families.h"
#include "codegen/device/emulator/ops/Spaces.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

namespace {
// Inst::flags.
constexpr uint8_t relaxedFlag = 1, dropFlag = 2, noCompleteFlag = 4,
                  parityFlag = 8, tryFlag = 16, expectFlag = 32;

// A state is opaque: a mark, the pending count before the arrival, the phase.
constexpr uint64_t stateMark = uint64_t(0xb51) << 52;
uint64_t stateOf(const Mbarrier &barrier) {
  return stateMark | uint64_t(barrier.pending) << 32 |
         static_cast<uint32_t>(barrier.phase);
}
bool isState(uint64_t state) { return state >> 52 == stateMark >> 52; }

/// Calls f(lane, owner, barrier) for the active lanes that have one.
template <typename F>
void forEachBarrier(Exec &x, const Inst &i, F f) {
  uint64_t address[warpSize];
  addressesOf(x, i, address);
  forEachLane(x.active, [&](unsigned l) {
    Cta *owner = nullptr;
    if (Mbarrier *barrier = findMbarrier(x, i, l, i.space, address[l], owner))
      f(l, *owner, *barrier);
  });
}
} // namespace

static void init(Exec &x, const Inst &i) {
  uint64_t address[warpSize];
  Accessible access;
  addressesOf(x, i, address);
  checkAccess(x, i, i.space, address, 8, AccessKind::Write, Scope::Weak,
              access);
  forEachLane(access.lanes, [&](unsigned l) {
    initMbarrier(x, i, l, address[l] & ~windowMask, x.lanes<uint32_t>(i.b)[l]);
  });
}
static void invalidate(Exec &x, const Inst &i) {
  forEachBarrier(x, i, [&](unsigned l, Cta &, Mbarrier &barrier) {
    invalidateMbarrier(x, i, l, barrier);
  });
}

/// d: state or noSlot; b: count or bytes, or noSlot; mode: scope.
static void arrive(Exec &x, const Inst &i) {
  uint64_t states[warpSize] = {};
  bool released = false;
  forEachBarrier(x, i, [&](unsigned l, Cta &owner, Mbarrier &barrier) {
    uint32_t operand = i.b == noSlot ? 1 : x.lanes<uint32_t>(i.b)[l];
    releaseAt(x, l, owner, barrier, static_cast<Scope>(i.mode),
              i.flags & relaxedFlag);
    released |= !(i.flags & relaxedFlag);
    states[l] = stateOf(barrier);
    if ((i.flags & noCompleteFlag) && operand >= barrier.pending &&
        barrier.bytes == 0) {
      report(x, i, l, "barrier",
             cat("arrives with .noComplete at ", describe(barrier),
                 " and completes it"));
      return;
    }
    if (i.flags & expectFlag)
      addBytes(x, i, l, owner, barrier, operand);
    arriveAt(x, i, l, owner, barrier, i.flags & expectFlag ? 1 : operand,
             i.flags & dropFlag);
  });
  if (released)
    advanceClock(*x.warp, *x.cta);
  if (i.d != noSlot)
    setLanes<uint64_t>(x, i.d, [&](int l) { return states[l]; });
}

/// mode: scope; flags & expectFlag: expect_tx, else complete_tx.
static void transactions(Exec &x, const Inst &i) {
  forEachBarrier(x, i, [&](unsigned l, Cta &owner, Mbarrier &barrier) {
    int64_t bytes = x.lanes<uint32_t>(i.b)[l];
    addBytes(x, i, l, owner, barrier, i.flags & expectFlag ? bytes : -bytes);
  });
}

/// Whether the phase that lane \p l asks for has completed.
static bool isComplete(Exec &x, const Inst &i, unsigned l,
                       const Mbarrier &barrier) {
  if (i.flags & parityFlag) {
    uint32_t parity = x.lanes<uint32_t>(i.b)[l];
    if (parity > 1)
      report(x, i, l, "barrier",
             cat("waits for the parity ", parity, ", expected 0 or 1"));
    return (barrier.phase & 1) != (parity & 1);
  }
  uint64_t state = x.lanes<uint64_t>(i.b)[l];
  uint32_t behind =
      static_cast<uint32_t>(barrier.phase) - static_cast<uint32_t>(state);
  if (!isState(state) || behind > 1) {
    report(x, i, l, "barrier",
           isState(state)
               ? cat("waits for a phase that was ", behind,
                     " before the "
                     "present one of ",
                     describe(barrier),
                     "; only the present and the last one can be waited for")
               : std::string("waits with a state that no arrival gave"));
    return true;
  }
  return behind != 0;
}

/// Copies come as late as is legal, which is now, or, in a seeded schedule, at
/// some time before.
static void wait(Exec &x, const Inst &i) {
  uint32_t passed = 0, again = 0;
  Cluster &cluster = *x.cta->cluster;
  uint32_t timedOut = x.warp->timedOut & x.active;
  x.warp->timedOut &= ~x.active;
  forEachBarrier(x, i, [&](unsigned l, Cta &owner, Mbarrier &barrier) {
    uint32_t bit = uint32_t(1) << l;
    if (!isComplete(x, i, l, barrier))
      completeCopies(cluster, owner, barrier, false);
    if (!isComplete(x, i, l, barrier)) {
      again |= bit;
      return;
    }
    passed |= bit;
    if (i.flags & relaxedFlag) {
      SharedKnowledge weak = barrier.completedWeak;
      for (const Publication &there : barrier.completed.published)
        weak = joinKnowledge(weak, weakly(*there.knowledge));
      learn(x, laneBit(l), weak);
    } else {
      acquire(x, laneBit(l), static_cast<Scope>(i.mode), barrier.completed);
      learn(x, laneBit(l), barrier.completedWeak);
    }
    // The number of the last complete phase; 1, the initialisation, at first.
    auto known = std::make_shared<Knowledge>();
    known->raise(barrier.agent, barrier.numberOf(barrier.phase) - 1);
    learn(x, laneBit(l), known);
  });
  again &= ~timedOut;
  setMask(x, i.d, passed);
  if (again)
    waitAgain(x, again);
}

static void pendingCount(Exec &x, const Inst &i) {
  const uint64_t *state = x.lanes<uint64_t>(i.a);
  forEachLane(x.active, [&](unsigned l) {
    if (!isState(state[l]))
      report(x, i, l, "barrier", "this is not the state that an arrival gave");
  });
  setLanes<uint32_t>(x, i.d, [=](int l) {
    return static_cast<uint32_t>(state[l] >> 32 & 0xfffff);
  });
}

// Builders ------------------------------------------------------------------

/// Space, scope and relaxed-ness from all parts. Scope is the CTA by default.
static void qualifiers(Builder &b, const Match &m) {
  b.program->hasAsync = true;
  b.inst->space = Space::Generic;
  b.inst->mode = static_cast<uint8_t>(Scope::Cta);
  for (std::string_view part : m.parts) {
    spaceNamed(part, b.inst->space);
    if (part == ".cluster")
      b.inst->mode = static_cast<uint8_t>(Scope::Cluster);
    if (part == ".relaxed")
      b.inst->flags |= relaxedFlag;
  }
}

static void buildInit(Builder &b, const Match &m) {
  if (!b.expect(2))
    return;
  qualifiers(b, m);
  b.address(0);
  b.inst->b = b.read(1, Type::U32);
  b.inst->run = init;
}
static void buildInvalidate(Builder &b, const Match &m) {
  if (!b.expect(1))
    return;
  qualifiers(b, m);
  b.address(0);
  b.inst->run = invalidate;
}

/// `state, [address] {, count}`; a remote barrier gives no state: `_`.
static void buildArrive(Builder &b, const Match &m) {
  bool needsCount = m.is(1, ".expect_tx") || m.is(1, ".noComplete");
  // Older PTX for expect_tx and remote arrivals without a result.
  size_t first =
      b.operand(0).kind == tandem::emulator::Operand::Kind::Address ? 0 : 1;
  if (!b.expect(first + (needsCount ? 2 : 1), first + 2))
    return;
  qualifiers(b, m);
  b.inst->flags |= m.is(1, ".expect_tx")    ? expectFlag
                   : m.is(1, ".noComplete") ? noCompleteFlag
                                            : 0;
  if (m.is(0, ".arrive_drop"))
    b.inst->flags |= dropFlag;
  b.address(first);
  if (b.operands() == first + 2)
    b.inst->b = b.read(first + 1, Type::U32);
  bool isRemote = b.inst->space == Space::SharedCluster;
  bool hasState =
      first == 1 && b.operand(0).kind != tandem::emulator::Operand::Kind::Sink;
  if (isRemote && hasState) {
    b.fail("an arrival at a barrier of another block gives no state");
    return;
  }
  if (hasState)
    b.inst->d = b.write(0, Type::B64);
  b.inst->run = arrive;
}

static void buildTransactions(Builder &b, const Match &m) {
  if (!b.expect(2))
    return;
  qualifiers(b, m);
  b.inst->flags |= m.is(0, ".expect_tx") ? expectFlag : 0;
  b.address(0);
  b.inst->b = b.read(1, Type::U32);
  b.inst->run = transactions;
}

/// Parts: test or try, parity?, semantics, scope, space, b64. `d, [address],
/// state or parity {, time}`.
static void buildWait(Builder &b, const Match &m) {
  bool tries = m.is(0, ".try_wait");
  if (!b.expect(3, tries ? 4 : 3))
    return;
  qualifiers(b, m);
  b.inst->flow = Flow::Wait;
  b.inst->extra = static_cast<uint8_t>(WaitKind::Mbarrier);
  b.inst->flags |= (m.has(1) ? parityFlag : 0) | (tries ? tryFlag : 0);
  b.address(1);
  b.inst->b = b.read(2, m.has(1) ? Type::U32 : Type::B64);
  if (b.operands() == 4)
    b.inst->c = b.read(3, Type::U32);
  b.inst->d = b.writePredicate(0);
  b.inst->run = wait;
}

static void buildPendingCount(Builder &b, const Match &) {
  if (operandsOf(b, Type::U32, {Type::B64}))
    b.inst->run = pendingCount;
}

std::span<const Row> tandem::emulator::mbarrierRows() {
#define TANDEM_OWN ".shared|.shared::cta? .b64"
#define TANDEM_ANY ".shared|.shared::cta|.shared::cluster? .b64"
#define TANDEM_RELEASE ".release|.relaxed? .cta|.cluster? "
#define TANDEM_ACQUIRE ".acquire|.relaxed? .cta|.cluster? "
  static const Row rows[] = {
      {"mbarrier", ".init " TANDEM_OWN, buildInit},
      {"mbarrier", ".inval " TANDEM_OWN, buildInvalidate},
      {"mbarrier",
       ".arrive|.arrive_drop .expect_tx? " TANDEM_RELEASE TANDEM_ANY,
       buildArrive},
      {"mbarrier",
       ".arrive|.arrive_drop .noComplete .release? .cta? " TANDEM_OWN,
       buildArrive},
      {"mbarrier",
       ".expect_tx|.complete_tx .relaxed? .cta|.cluster? " TANDEM_ANY,
       buildTransactions},
      {"mbarrier", ".test_wait|.try_wait .parity? " TANDEM_ACQUIRE TANDEM_OWN,
       buildWait, "a wait that can not end is told as a deadlock"},
      {"mbarrier", ".pending_count .b64", buildPendingCount},
  };
#undef TANDEM_OWN
#undef TANDEM_ANY
#undef TANDEM_RELEASE
#undef TANDEM_ACQUIRE
  return rows;
}
