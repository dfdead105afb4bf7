//===- Cta.cpp - Sets up a CTA --------------------------------------------===//
//
// Storage is kept from CTA to CTA and from launch to launch. What is constant
// in a launch is written once; a CTA costs its coordinates and clean shared
// memory.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Exec.h"
#include "codegen/device/emulator/Specials.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace tandem;
using namespace tandem::emulator;

/// Shared memory has no value before it is written. The schedule's seed chooses
/// among patterns, so that runs that depend on it differ.
static int sharedPoison(const Launch &launch) {
  static constexpr int patterns[] = {0xa5, 0x5a, 0xff, 0x00};
  return patterns[launch.options.scheduleSeed % 4];
}

static bool isPerCta(Special which) {
  switch (which) {
  case Special::CtaidX:
  case Special::CtaidY:
  case Special::CtaidZ:
  case Special::ClusterIdX:
  case Special::ClusterIdY:
  case Special::ClusterIdZ:
  case Special::ClusterCtaIdX:
  case Special::ClusterCtaIdY:
  case Special::ClusterCtaIdZ:
  case Special::ClusterCtaRank:
  case Special::SmId:
    return true;
  default:
    return false;
  }
}

static void writeSpecial(Cta &cta, Warp &warp, const SpecialSlot &special) {
  char *slot = warp.arena + special.slot;
  for (unsigned l = 0; l < warpSize; ++l) {
    uint64_t value = specialValue(special.which, cta, warp, l);
    std::memcpy(slot + special.size * l, &value, special.size);
  }
}

static void writeConstant(Warp &warp, const ConstantSlot &constant) {
  char *slot = warp.arena + constant.slot;
  if (constant.size == 0) {
    uint32_t mask = constant.bits ? ~0u : 0;
    std::memcpy(slot, &mask, sizeof mask);
    return;
  }
  for (unsigned l = 0; l < warpSize; ++l)
    std::memcpy(slot + constant.size * l, &constant.bits, constant.size);
}

/// Storage and what does not change during the launch.
static void prepare(Cta &cta, const Launch &launch) {
  const Program &program = *launch.program;
  cta.launch = &launch;
  cta.program = &program;
  cta.preparedFor = launch.launchNumber;
  int threads = launch.block[0] * launch.block[1] * launch.block[2];
  auto warps = static_cast<size_t>((threads + warpSize - 1) / warpSize);
  cta.warps.resize(warps);
  size_t arena = program.arenaBytes + 64;
  cta.arenaStorage.assign(arena * warps + 64, 0);
  auto base = reinterpret_cast<uintptr_t>(cta.arenaStorage.data());
  char *aligned = cta.arenaStorage.data() + ((64 - base % 64) & 63);
  for (size_t w = 0; w < warps; ++w) {
    Warp &warp = cta.warps[w];
    warp.index = static_cast<int>(w);
    warp.arena = aligned + w * (arena / 64 * 64);
    for (const ConstantSlot &constant : program.constants)
      writeConstant(warp, constant);
    for (const SpecialSlot &special : program.specials)
      writeSpecial(cta, warp, special);
  }
  cta.order.resize(warps);
  std::iota(cta.order.begin(), cta.order.end(), 0);
  if (!cta.shared.shadow || cta.shared.bytes != launch.sharedBytes) {
    // A little more than asked for: the base is aligned by hand.
    cta.sharedStorage.assign(launch.sharedBytes + 1024, 0);
    cta.shared.bytes = launch.sharedBytes;
    cta.shared.name = "shared memory";
    cta.shared.isShared = true;
    cta.shared.host = cta.sharedStorage.data();
    cta.shared.shadow = std::make_unique<Shadow>(launch.sharedBytes);
  }
  cta.local.assign(program.localBytes * warps * warpSize, 0);
  cta.localWritten.assign(program.localBytes * warps * warpSize, 0);
  cta.regionCache.assign(program.code.size(), nullptr);
}

void emulator::beginCta(Cta &cta, const Launch &launch, uint64_t position) {
  if (cta.preparedFor != launch.launchNumber)
    prepare(cta, launch);
  const Program &program = *launch.program;
  auto gx = static_cast<uint64_t>(launch.grid[0]);
  auto gy = static_cast<uint64_t>(launch.grid[1]);
  uint64_t linear = linearAt(launch, position);
  cta.linear = linear;
  cta.id = {static_cast<int64_t>(linear % gx),
            static_cast<int64_t>(linear / gx % gy),
            static_cast<int64_t>(linear / (gx * gy))};
  cta.stamp = launch.firstStamp + position;
  cta.oldestStamp =
      launch.earlier ? launch.earlier->firstStamp : launch.firstStamp;
  cta.clock = 1;
  cta.clockExhausted = false;
  cta.instructions = cta.budgetChecked = 0;
  cta.random = launch.options.scheduleSeed * 0x9e3779b97f4a7c15u + linear;
  cta.aborted = cta.done = false;
  cta.findings.clear();
  cta.output.clear();
  cta.reported.clear();
  cta.shared.oldestStamp = cta.stamp - cta.rank;
  cta.async.reset();
  for (Barrier &barrier : cta.barriers)
    barrier.waiters.clear();
  if (launch.options.scheduleSeed)
    std::iota(cta.order.begin(), cta.order.end(), 0);

  int threads = launch.block[0] * launch.block[1] * launch.block[2];
  for (Warp &warp : cta.warps) {
    int left = threads - warp.index * warpSize;
    warp.live = left >= warpSize ? ~0u : (uint32_t(1) << left) - 1;
    warp.waiting = warp.blocked = warp.retry = warp.retries = 0;
    warp.timedOut = 0;
    warp.async.reset();
    warp.clusterArrived = warp.clusterPassed = 0;
    std::fill_n(warp.pc, warpSize, program.begin);
    if (program.frame != noSlot) {
      Exec x;
      x.arena = warp.arena;
      uint64_t bytes = program.functions.back().frameBytes;
      std::fill_n(x.lanes<uint64_t>(program.frame), warpSize, uint64_t(0));
      std::fill_n(x.lanes<uint64_t>(program.frameEnd), warpSize, bytes);
      for (std::vector<CallRecord> &calls : warp.calls)
        calls.clear();
    }
    warp.clock = 1;
    warp.orderedUpTo = warp.syncedUpTo = 0;
    warp.laneClocks.reset();
    warp.sync.reset();
    warp.seen.fill(0);
    warp.copies.clear();
    warp.copyGroup.fill(0);
    for (const SpecialSlot &special : program.specials)
      if (isPerCta(special.which))
        writeSpecial(cta, warp, special);
    if (program.tracksRegisters) {
      warp.undefined.assign(program.arenaBytes / 4, ~0u);
      for (const SpecialSlot &special : program.specials)
        warp.undefined[special.slot / 4] = 0;
      for (const ConstantSlot &constant : program.constants)
        warp.undefined[constant.slot / 4] = 0;
      if (program.frame != noSlot)
        warp.undefined[program.frame / 4] = 0;
    }
  }
  if (launch.sharedBytes) {
    std::memset(cta.sharedStorage.data(), sharedPoison(launch),
                launch.sharedBytes);
    cta.shared.shadow->clearWritten();
    cta.shared.shadow->sync.reset();
  }
  if (program.localBytes)
    std::fill(cta.localWritten.begin(), cta.localWritten.end(), uint8_t(0));
}
