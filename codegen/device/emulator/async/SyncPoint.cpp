//===- SyncPoint.cpp - What an arrival tells those who wait ---------------===//
#include "codegen/device/emulator/async/SyncPoint.h"

using namespace tandem::emulator;

void SyncPoint::release(Exec &x) {
  publish(x, x.active, Scope::Cluster, cell, false);
  advanceClock(*x.warp, *x.cta);
}

void SyncPoint::acquire(Exec &x) const {
  emulator::acquire(x, x.active, Scope::Cluster, cell);
}
