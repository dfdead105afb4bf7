//===- BulkCopy.cpp - Bulk copies and their groups ------------------------===//
#include "codegen/device/emulator/async/BulkCopy.h"

#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/Mbarrier.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

void emulator::addCopy(Exec &x, const Inst &inst, unsigned lane, Cta &owner,
                       Mbarrier &barrier, BulkCopy copy) {
  copy.at = x.pcOf(inst);
  if (x.launch->options.checkAsync && !barrier.fenced)
    report(x, inst, lane, "async",
           cat("completes at the mbarrier that line ",
               x.cta->program->code[barrier.initAt].line,
               " initialises, and neither fence.mbarrier_init nor "
               "fence.proxy.async lies between the two"),
           barrier.offset);
  for (uint32_t id : {copy.op, copy.readOp})
    if (AsyncOp *op = x.cta->cluster->log.find(id))
      op->agent = barrier.agent;
  barrier.copies.push_back(std::move(copy));
  if (!x.launch->options.checkAsync)
    completeCopies(*x.cta->cluster, owner, barrier, true);
  else
    wakeAll(*x.cta->cluster);
}

BulkGroups &emulator::groupsOf(Exec &x, unsigned lane) {
  BulkGroups &groups = asyncOf(*x.warp).bulk[lane];
  if (!groups.agent) {
    groups.agent = newAgent(*x.cta);
    groups.readAgent = newAgent(*x.cta);
  }
  return groups;
}

/// The copy has taken its source.
static void take(Cluster &cluster, BulkCopy &copy) {
  if (!copy.read)
    return;
  copy.read();
  copy.read = nullptr;
  if (AsyncOp *op = cluster.log.find(copy.readOp))
    op->pending = false;
}
static void complete(Cluster &cluster, BulkCopy &copy) {
  take(cluster, copy);
  if (copy.write)
    copy.write();
  copy.write = nullptr;
}

void emulator::addToGroup(Exec &x, const Inst &inst, unsigned lane,
                          BulkCopy copy) {
  copy.at = x.pcOf(inst);
  if (!x.launch->options.checkAsync)
    complete(*x.cta->cluster, copy);
  groupsOf(x, lane).open.push_back(std::move(copy));
}

void emulator::commitBulkGroup(Exec &x, const Inst &) {
  forEachLane(x.active, [&](unsigned l) {
    BulkGroups &groups = groupsOf(x, l);
    groups.groups.push_back({++groups.committed, false, {}});
    groups.groups.back().copies = std::move(groups.open);
    groups.open.clear();
  });
}

void emulator::waitBulkGroup(Exec &x, const Inst &inst) {
  uint32_t active = x.active;
  auto keep = static_cast<uint64_t>(inst.imm);
  bool readsOnly = inst.flags;
  Cluster &cluster = *x.cta->cluster;
  forEachLane(active, [&](unsigned l) {
    auto &lanes = asyncOf(*x.warp).bulk;
    if (!lanes.contains(l))
      return;
    BulkGroups &groups = groupsOf(x, l);
    if (groups.committed <= keep)
      return;
    auto upTo = static_cast<uint32_t>(groups.committed - keep);
    for (BulkGroups::Group &group : groups.groups) {
      if (group.number > upTo)
        break;
      for (BulkCopy &copy : group.copies)
        readsOnly ? take(cluster, copy) : complete(cluster, copy);
    }
    while (!readsOnly && !groups.groups.empty() &&
           groups.groups.front().number <= upTo)
      groups.groups.pop_front();
    x.active = uint32_t(1) << l;
    learnAgent(x, groups.readAgent, upTo);
    if (!readsOnly)
      learnAgent(x, groups.agent, upTo);
  });
  x.active = active;
}

bool emulator::completeOne(Cluster &cluster) {
  struct Choice {
    Cta *owner;
    Mbarrier *barrier;
    BulkCopy *copy;
    size_t index;
  };
  std::vector<Choice> choices;
  for (Cta *cta : cluster.ctas) {
    if (cta->async)
      for (Mbarrier &barrier : cta->async->barriers)
        for (size_t i = 0; i < barrier.copies.size(); ++i)
          choices.push_back({cta, &barrier, nullptr, i});
    for (Warp &warp : cta->warps)
      if (warp.async)
        for (auto &[lane, groups] : warp.async->bulk)
          for (BulkGroups::Group &group : groups.groups)
            for (BulkCopy &copy : group.copies)
              if (copy.read || copy.write)
                choices.push_back({cta, nullptr, &copy, 0});
  }
  if (choices.empty())
    return false;
  const Choice &chosen = choices[nextRandom(cluster.random) % choices.size()];
  if (chosen.barrier)
    completeCopy(cluster, *chosen.owner, *chosen.barrier, chosen.index);
  else if (chosen.copy->read)
    take(cluster, *chosen.copy);
  else
    complete(cluster, *chosen.copy);
  return true;
}

void emulator::finishAsync(Cta &cta) {
  Cluster &cluster = *cta.cluster;
  Exec x;
  x.cta = &cta;
  x.launch = cta.launch;
  bool reports = cta.launch->options.checkAsync && !cta.aborted;
  for (Warp &warp : cta.warps) {
    if (!warp.async)
      continue;
    x.warp = &warp;
    for (auto &[lane, groups] : warp.async->bulk) {
      auto end = [&](std::vector<BulkCopy> &copies, const char *why) {
        for (BulkCopy &copy : copies) {
          if (copy.readOp && copy.read && reports)
            report(x, cta.program->code[copy.at], lane, "async",
                   cat("the block ends before this copy has read its source "
                       "in the block's shared memory; ",
                       why));
          complete(cluster, copy);
        }
      };
      for (BulkGroups::Group &group : groups.groups)
        end(group.copies, "no cp.async.bulk.wait_group waits for it");
      end(groups.open, "no cp.async.bulk.commit_group follows it");
      groups.groups.clear();
      groups.open.clear();
    }
  }
  if (!cta.async)
    return;
  for (Mbarrier &barrier : cta.async->barriers)
    while (!barrier.copies.empty()) {
      x.warp = &cta.warps[0];
      if (reports)
        report(x, cta.program->code[barrier.copies.front().at], 0, "async",
               cat("the block ends before this copy has arrived in its shared "
                   "memory; nobody waits for ",
                   describe(barrier)));
      completeCopy(cluster, cta, barrier, 0);
    }
}
