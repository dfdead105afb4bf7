//===- SyncPoint.h - What an arrival tells those who wait -------*- C++ -*-===//
//
// The accesses that happen before everything after a wait: those of the warps
// that arrived, and those that they knew of. Barriers of a cluster and
// mbarriers have one a phase.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_SYNCPOINT_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_SYNCPOINT_H

#include "codegen/device/emulator/Exec.h"

namespace tandem::emulator {

struct SyncPoint {
  SyncCell cell;

  void clear() { cell.published.clear(); }
  /// The accesses of the active lanes so far, and what they know, become part
  /// of it.
  void release(Exec &x);
  /// What it holds happens before what the active lanes do from here on.
  void acquire(Exec &x) const;
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_SYNCPOINT_H
