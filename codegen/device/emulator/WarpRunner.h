//===- WarpRunner.h - A warp in execution -----------------------*- C++ -*-===//
//
// Each lane has a program counter. The lanes with the smallest one form the
// group that runs; a group that reaches another one's counter merges with it,
// which reconverges structured control flow at its join. A group that spins
// yields to the others after a while, as independent thread scheduling demands.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_WARPRUNNER_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_WARPRUNNER_H

#include "codegen/device/emulator/Exec.h"

namespace tandem::emulator {

inline constexpr uint32_t noPc = ~0u;

class WarpRunner {
public:
  WarpRunner(Cta &cta, Warp &warp)
      : cta(cta), warp(warp), code(cta.program->code.data()),
        tracks(cta.program->tracksRegisters && cta.launch->options.checkInit) {
    x.arena = warp.arena;
    x.warp = &warp;
    x.cta = &cta;
    x.launch = cta.launch;
  }
  /// Runs until no lane is ready or \p limit instructions have been issued.
  /// Returns how many were.
  uint64_t run(uint64_t limit);
  /// Nothing else can run: lanes that wait for others of their warp are told so
  /// and go on without them.
  void force();
  /// Releases blocked lanes whose partners have exited meanwhile.
  bool retryBlocked();

private:
  void select(uint32_t ready);
  void savePc(uint32_t lanes, uint32_t to) {
    forEachLane(lanes, [&](unsigned l) { warp.pc[l] = to; });
  }
  /// Runs the group until it ends, waits, splits or meets another.
  void runGroup();
  /// An instruction that the loop must know about. False: the group has ended
  /// and all lanes' counters are saved.
  bool control(const Inst &inst, uint32_t active);
  /// The lanes that have to take part, as lane \p l says.
  uint32_t required(const Inst &inst, unsigned l) const;
  /// Blocks \p active when \p missing lanes may still come. Lanes that are at
  /// the same place but predicated off never will: reported at once.
  bool waitsForOthers(const Inst &inst, uint32_t active, uint32_t missing);
  bool converge(const Inst &inst, uint32_t active);
  bool call(const Inst &inst, uint32_t active);
  bool leave(uint32_t active);
  bool warpBarrier(const Inst &inst, uint32_t active);

  Exec x;
  Cta &cta;
  Warp &warp;
  const Inst *code;
  bool tracks;
  uint32_t group = 0;
  uint32_t pc = 0;
  uint32_t mergeAt = noPc;
  bool isDiverged = false;
  bool rotate = false;
  uint32_t rotateFrom = 0;
  uint64_t left = 0;
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_WARPRUNNER_H
