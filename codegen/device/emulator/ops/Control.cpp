//===- Control.cpp - Branches, barriers, fences ---------------------------===//
#include "codegen/device/emulator/Barrier.h"
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/ops/Families.h"
#include "codegen/device/emulator/ops/Spaces.h"

using namespace tandem::emulator;

static void nothing(Exec &, const Inst &) {}

static void buildBranch(Builder &b, const Match &) {
  if (!b.expect(1))
    return;
  b.inst->flow = Flow::Branch;
  b.inst->target = b.label(b.operand(0).name);
}
static void buildBranchTable(Builder &b, const Match &) {
  if (!b.expect(2))
    return;
  const auto *targets = b.branchTable(b.operand(1).name);
  if (!targets) {
    b.fail(cat("'", b.operand(1).name, "' names no .branchtargets"));
    return;
  }
  b.inst->flow = Flow::BranchTable;
  b.inst->a = b.read(0, Type::U32);
  b.critical(b.inst->a);
  b.inst->list = static_cast<uint32_t>(b.program->slots.size());
  b.inst->target = static_cast<uint32_t>(targets->size());
  for (const std::string &target : *targets)
    b.program->slots.push_back(b.label(target));
}
static void buildExit(Builder &b, const Match &) {
  if (b.expect(0))
    b.inst->flow = Flow::Exit;
}
static void buildTrap(Builder &b, const Match &) {
  if (b.expect(0))
    b.inst->flow = Flow::Trap;
}

/// `bar` is always aligned, `barrier` when it says so.
static void asBarrier(Builder &b, BarrierMode mode, bool isAligned) {
  b.inst->flow = Flow::Barrier;
  b.inst->mode = static_cast<uint8_t>(mode);
  b.inst->extra = isAligned;
  b.program->hasBarriers = true;
}
static bool isAligned(const Builder &b, const Match &m) {
  if (b.ast->opcode == "bar")
    return true;
  for (std::string_view part : m.parts)
    if (part == ".aligned")
      return true;
  return false;
}
static void buildBarrier(Builder &b, const Match &m) {
  bool arrives = m.is(1, ".arrive");
  if (!b.expect(arrives ? 2 : 1, 2))
    return;
  asBarrier(b, arrives ? BarrierMode::Arrive : BarrierMode::Sync,
            isAligned(b, m));
  b.inst->a = b.read(0, Type::U32);
  if (b.operands() == 2)
    b.inst->b = b.read(1, Type::U32);
}
/// d, barrier, [count,] predicate.
static void buildBarrierReduce(Builder &b, const Match &m) {
  if (!b.expect(3, 4))
    return;
  bool isPopc = m.is(2, ".popc");
  asBarrier(b,
            isPopc            ? BarrierMode::RedPopc
            : m.is(2, ".and") ? BarrierMode::RedAnd
                              : BarrierMode::RedOr,
            isAligned(b, m));
  size_t last = b.operands() - 1;
  b.inst->a = b.read(1, Type::U32);
  if (last == 3)
    b.inst->b = b.read(2, Type::U32);
  b.inst->c = b.readPredicate(last);
  b.inst->flags = b.operand(last).negated;
  b.inst->d = isPopc ? b.write(0, Type::U32) : b.writePredicate(0);
}
static void buildWarpBarrier(Builder &b, const Match &) {
  if (!b.expect(1))
    return;
  b.inst->flow = Flow::WarpBarrier;
  b.inst->mask = b.read(0, Type::B32);
}

/// Order in memory is that of execution here; fences matter to the checker.
/// `membar` and a fence without semantics are both sides of one.
static void buildFence(Builder &b, const Match &m) {
  if (!b.expect(0))
    return;
  b.inst->scope = scopeNamed(m.parts, Scope::Gpu);
  b.inst->order = orderNamed(m.parts);
  if (!b.inst->order)
    b.inst->order = acquireOrder | releaseOrder;
  if (b.inst->scope == Scope::Gpu)
    b.program->hasGlobalSync = true;
  b.inst->run = [](Exec &x, const Inst &i) {
    fence(x, i.scope, i.order & acquireOrder, i.order & releaseOrder);
  };
}
static void buildProxyFence(Builder &b, const Match &) {
  if (b.expect(0))
    b.inst->run = nothing;
}
static void buildNothing(Builder &b, const Match &) {
  if (b.expect(0, 1))
    b.inst->run = nothing;
}

/// From here on the launch before has ended. One thread's wait counts for all
/// of the cluster: how others learn of it is not followed.
static void waitForEarlier(Exec &x, const Inst &) {
  for (Cta *cta : x.cta->cluster->ctas)
    cta->oldestStamp = x.launch->firstStamp;
}
static void buildDependentWait(Builder &b, const Match &) {
  if (b.expect(0))
    b.inst->run = waitForEarlier;
}

std::span<const Row> tandem::emulator::controlRows() {
  static const Row rows[] = {
      {"bra", ".uni?", buildBranch},
      {"brx", ".idx .uni?", buildBranchTable},
      {"exit", "", buildExit},
      {"trap", "", buildTrap},
      {"brkpt", "", buildNothing, "no effect"},
      {"bar", ".cta? .sync|.arrive", buildBarrier},
      {"bar", ".cta? .red .popc .u32", buildBarrierReduce},
      {"bar", ".cta? .red .and|.or .pred", buildBarrierReduce},
      {"barrier", ".cta? .sync|.arrive .aligned?", buildBarrier},
      {"barrier", ".cta? .red .popc .aligned? .u32", buildBarrierReduce},
      {"barrier", ".cta? .red .and|.or .aligned? .pred", buildBarrierReduce},
      {"bar", ".warp .sync", buildWarpBarrier},
      {"membar", ".cta|.gl|.sys", buildFence},
      {"fence", ".sc|.acq_rel|.acquire|.release? .cta|.cluster|.gpu|.sys",
       buildFence},
      {"fence", ".proxy .alias", buildProxyFence},
      {"nanosleep", ".u32", buildNothing, "no effect"},
      {"pmevent", ".mask?", buildNothing, "no effect"},
      {"griddepcontrol", ".launch_dependents", buildNothing,
       "no effect: launches run one after the other"},
      {"griddepcontrol", ".wait", buildDependentWait,
       "what the launch before has accessed races until then"},
  };
  return rows;
}
