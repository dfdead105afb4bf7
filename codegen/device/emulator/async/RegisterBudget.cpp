//===- RegisterBudget.cpp - setmaxnreg ------------------------------------===//
//
// A CTA gets as many registers as its launch: what .maxnreg says, or all that
// its threads and .minnctapersm leave of the processor's 65,536. setmaxnreg.dec
// gives some back, and setmaxnreg.inc waits until there are enough: a sum that
// is too large hangs, as it does on the hardware.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/Wgmma.h"
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

static int64_t launched(const Cta &cta) {
  const Program &program = *cta.program;
  if (program.maxRegisters)
    return program.maxRegisters;
  auto threads = static_cast<int64_t>(cta.warps.size()) * warpSize;
  int64_t each = 65536 / (threads * std::max(1, program.minCtas));
  return std::min<int64_t>(each & ~int64_t(7), 256);
}

static CtaAsync &budgetOf(Cta &cta) {
  CtaAsync &async = asyncOf(cta);
  if (async.registers.empty())
    async.registers.assign(cta.warps.size(), static_cast<int>(launched(cta)));
  return async;
}

std::string emulator::registerWait(const Cta &cta, const Inst &inst) {
  std::string warps;
  int64_t sum = 0;
  for (size_t w = 0; w < cta.warps.size(); ++w) {
    sum += int64_t(cta.async->registers[w]) * warpSize;
    if (w % 4 == 0)
      warps += cat(warps.empty() ? "" : ", ", cta.async->registers[w]);
  }
  return cat(inst.imm, " registers a thread: the block got ",
             launched(cta) * static_cast<int64_t>(cta.warps.size()) * warpSize,
             ", of which ", cta.async->freeRegisters,
             " are free; its warpgroups hold ", warps, " a thread (", sum,
             " in all)");
}

/// mode: 1 increase.
static void setRegisters(Exec &x, const Inst &i) {
  CtaAsync &async = budgetOf(*x.cta);
  int &mine = async.registers[static_cast<size_t>(x.warp->index)];
  auto wanted = static_cast<int>(i.imm);
  int64_t needs = int64_t(wanted - mine) * warpSize;
  if (i.mode ? needs < 0 : needs > 0) {
    report(x, i, firstLane(x.active), "registers",
           cat(i.mode ? "increases to " : "decreases to ", wanted,
               " registers a thread and has ", mine));
    return;
  }
  if (needs > async.freeRegisters) {
    waitAgain(x, x.active);
    return;
  }
  async.freeRegisters -= needs;
  mine = wanted;
  if (needs < 0)
    wakeAll(*x.cta->cluster);
}

static void buildSetRegisters(Builder &b, const Match &m) {
  if (!b.expect(1))
    return;
  const tandem::emulator::Operand &count = b.operand(0);
  if (count.kind != tandem::emulator::Operand::Kind::Integer ||
      count.bits < 24 || count.bits > 256 || count.bits % 8) {
    b.fail("a register count is a constant from 24 to 256, a multiple of 8");
    return;
  }
  b.program->hasAsync = true;
  b.inst->imm = static_cast<int64_t>(count.bits);
  b.inst->mode = m.is(0, ".inc");
  b.inst->flow = Flow::Converge;
  b.inst->extra = static_cast<uint8_t>(WaitKind::Registers);
  b.inst->run = setRegisters;
}

/// Visible to the async proxy from here on; and the initialisations of
/// mbarriers to the cluster.
static void fenceInit(Exec &x, const Inst &) {
  if (!x.cta->async)
    return;
  auto known = std::make_shared<Knowledge>();
  for (Mbarrier &barrier : x.cta->async->barriers)
    forEachLane(x.active, [&](unsigned l) {
      if (!barrier.live || !knowsAgent(*x.warp, l, barrier.agent, 1))
        return;
      barrier.fenced = true;
      known->raise(barrier.agent, 1);
    });
  WarpAsync &mine = asyncOf(*x.warp);
  mine.initFence = joinKnowledge(mine.initFence, known);
}
static void buildFenceInit(Builder &b, const Match &) {
  if (b.expect(0))
    b.inst->run = fenceInit;
}
static void buildProxyFence(Builder &b, const Match &) {
  if (b.expect(0))
    b.inst->run = [](Exec &x, const Inst &) { fenceAsyncProxy(x); };
}

std::span<const Row> tandem::emulator::asyncFenceRows() {
  static const Row rows[] = {
      {"setmaxnreg", ".inc|.dec .sync .aligned .u32", buildSetRegisters,
       "the sum over the block's warps is checked"},
      {"fence", ".mbarrier_init .release .cluster", buildFenceInit},
      {"fence",
       ".proxy .async|.async.global|.async.shared::cta|.async.shared::"
       "cluster",
       buildProxyFence},
      {"fence", ".proxy .async .global|.shared::cta|.shared::cluster",
       buildProxyFence},
  };
  return rows;
}
