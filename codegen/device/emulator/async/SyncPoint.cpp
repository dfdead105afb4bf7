//===- SyncPoint.cpp - What an arrival tells those who wait ---------------===//
#include "codegen/device/emulator/async/SyncPoint.h"

#include <algorithm>

using namespace tandem::emulator;

void SyncPoint::release(Exec &x) {
  Warp &warp = *x.warp;
  size_t rank = x.cta->rank;
  if (seen.size() <= rank)
    seen.resize(rank + 1);
  std::array<uint32_t, 32> &mine = seen[rank];
  for (size_t w = 0; w < mine.size(); ++w)
    mine[w] = std::max(mine[w], warp.seen[w]);
  auto self = static_cast<size_t>(warp.index);
  mine[self] = std::max(mine[self], warp.clock);
  synchroniseWarp(warp, *x.cta);
}

void SyncPoint::acquire(Exec &x) const {
  Warp &warp = *x.warp;
  size_t rank = x.cta->rank;
  if (seen.size() > rank) {
    for (size_t w = 0; w < warp.seen.size(); ++w)
      warp.seen[w] = std::max(warp.seen[w], seen[rank][w]);
    warp.orderedUpTo = ~0u;
    for (size_t w = 0; w < x.cta->warps.size(); ++w)
      warp.orderedUpTo = std::min(warp.orderedUpTo, warp.seen[w]);
  }
  synchroniseWarp(warp, *x.cta);
}
