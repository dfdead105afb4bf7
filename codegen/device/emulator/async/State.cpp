//===- State.cpp - Asynchronous operations in flight ----------------------===//
#include "codegen/device/emulator/async/State.h"

using namespace tandem;
using namespace tandem::emulator;

CtaAsync &emulator::asyncOf(Cta &cta) {
  if (!cta.async)
    cta.async = std::make_shared<CtaAsync>();
  if (cta.async->units.empty())
    cta.async->units.resize((cta.shared.bytes + 15) / 16);
  return *cta.async;
}

WarpAsync &emulator::asyncOf(Warp &warp) {
  if (!warp.async)
    warp.async = std::make_shared<WarpAsync>();
  return *warp.async;
}

uint64_t emulator::newAgent(Cta &cta) {
  CtaAsync &async = asyncOf(cta);
  if (++async.agents % 2048 == 0)
    ++async.agents;
  return agentKey(cta.stamp, async.agents);
}

bool emulator::knowsAgent(const Warp &warp, unsigned lane, uint64_t agent,
                          uint32_t number, bool *isWeak) {
  const WarpSync *sync = warp.sync.get();
  if (!sync)
    return false;
  const Knowledge *own =
      sync->knows >> lane & 1 ? sync->own[lane].get() : nullptr;
  auto knows = [&](uint64_t key) {
    return (sync->all && sync->all->at(key) >= number) ||
           (own && own->at(key) >= number);
  };
  if (knows(agent))
    return true;
  if (!knows(agent | weakAgent))
    return false;
  if (isWeak)
    *isWeak = true;
  return true;
}

void emulator::learnAgent(Exec &x, uint64_t agent, uint32_t number) {
  auto known = std::make_shared<Knowledge>();
  known->raise(agent, number);
  if ((x.warp->live & ~x.active) == 0)
    learnAll(x, known);
  else
    learn(x, x.active, known);
}

SharedKnowledge emulator::weakly(const Knowledge &knowledge) {
  auto weak = std::make_shared<Knowledge>();
  weak->learnWeakly(knowledge);
  return weak;
}
