//===- Program.h - A kernel decoded for the interpreter ---------*- C++ -*-===//
//
// Registers live in one arena per warp, a 32-lane array a register (64, 128 or
// 256 bytes) and a lane mask a predicate. An operand is an offset into the
// arena. Constants and special registers have slots in the arena too, filled
// when a warp starts, so that handlers see one kind of operand.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_PROGRAM_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_PROGRAM_H

#include "codegen/device/emulator/Types.h"
#include "codegen/device/emulator/async/WgmmaForm.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::emulator {

struct Exec;
struct Inst;
using Handler = void (*)(Exec &, const Inst &);

enum class Space : uint8_t {
  Generic,
  Global,
  Shared,
  SharedCluster, // any CTA's of the cluster, see clusterRankShift
  Local,
  Const,
  Param,
};

/// What the interpreter loop itself has to know about an instruction.
enum class Flow : uint8_t {
  Plain,
  Branch,      // target
  BranchTable, // a = index, targets in `list`
  Exit,
  Trap,
  Barrier,     // bar.sync and kind
  Converge,    // plain, but all lanes of `mask` (all live ones if noSlot) join
  WarpBarrier, // bar.warp.sync: lanes of `mask` may wait at different places
  Wait,        // the handler may send lanes back to try again (waitAgain)
  Call,        // Program::calls[target]
  Return,
};

struct Inst {
  Handler run = nullptr;
  Slot guard = noSlot;
  Slot mask = noSlot;
  Slot d = noSlot, a = noSlot, b = noSlot, c = noSlot, e = noSlot;
  /// Vectors of registers: Program::slots[list], `count` of them.
  uint32_t list = 0;
  /// A branch's target; otherwise free for the handler.
  uint32_t target = 0;
  int64_t imm = 0;
  int32_t line = 0;
  Flow flow = Flow::Plain;
  bool guardNegated = false;
  bool wideAddress = false; // the base register `a` has 64 bits
  Space space = Space::Generic;
  uint8_t size = 0;  // bytes of one element in memory
  uint8_t count = 0; // elements of a vector access
  /// Of memory accesses and fences.
  Scope scope = Scope::Weak;
  uint8_t order = 0;
  /// Free for the handler: rounding, flags.
  uint8_t mode = 0, flags = 0, extra = 0;
};

/// What an instruction reads and writes, for the check of registers that may be
/// read before they are written.
struct InstUse {
  std::vector<Slot> reads, writes;
  /// The reads that make an address, a branch or a stored value.
  std::vector<Slot> critical;
};

enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NWarpId,
  SmId,
  NSmId,
  GridId,
  LaneMaskEq,
  LaneMaskLt,
  LaneMaskLe,
  LaneMaskGt,
  LaneMaskGe,
  DynamicSharedSize,
  TotalSharedSize,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NClusterIdX,
  NClusterIdY,
  NClusterIdZ,
  ClusterCtaIdX,
  ClusterCtaIdY,
  ClusterCtaIdZ,
  ClusterNctaIdX,
  ClusterNctaIdY,
  ClusterNctaIdZ,
  ClusterCtaRank,
  ClusterNctaRank,
  Clock,
  Clock64,
  GlobalTimer,
  EnvReg, // all read as 0
};

struct SpecialSlot {
  Special which;
  Slot slot;
  uint8_t size;
};

struct ConstantSlot {
  uint64_t bits;
  Slot slot;
  uint8_t size; // 0: a predicate
};

/// A module-scope variable: an allocation made at load.
struct ModuleVariable {
  std::string name;
  uint64_t bytes = 0;
  std::vector<uint8_t> init;
  uint64_t address = 0;
  bool isConst = false;
  /// init[offset] .. +8 holds another variable's address.
  std::vector<std::pair<uint64_t, std::string>> relocations;
};

struct ParamSlot {
  std::string name;
  uint64_t offset = 0, bytes = 0;
};

/// A device function. Its registers have slots of their own, so that a call
/// moves no registers; a function that may be entered again while it runs has
/// the caller save them. Parameters, results and local variables lie in the
/// function's frame in local memory.
struct Function {
  std::string name;
  uint32_t begin = 0;
  uint64_t frameBytes = 0;
  std::vector<ParamSlot> params, results;
  bool isRecursive = false;
  std::vector<std::pair<Slot, uint8_t>> registers; // slot, bytes
};

/// Where a call's arguments and results lie in the caller's frame.
struct CallSite {
  int callee = -1; // or the address in Inst::a
  std::vector<ParamSlot> args, results;
};

struct Program {
  std::string kernel;
  std::vector<Inst> code;
  std::vector<InstUse> uses;
  std::vector<Slot> slots;
  std::vector<Function> functions; // called ones, then the kernel
  std::vector<CallSite> calls;
  /// Function addresses, as `mov` gives them.
  std::map<uint64_t, uint32_t> functionAt;
  uint32_t begin = 0; // of the kernel in `code`
  /// Per lane, 64 bits: begin and end of the frame, relative to the thread's
  /// local memory. noSlot when nothing is called.
  Slot frame = noSlot, frameEnd = noSlot;
  /// `.loc` of each instruction: file and line, 0 if none.
  std::vector<std::pair<int, int>> sources;
  std::map<int, std::string> files;
  std::vector<SpecialSlot> specials;
  std::vector<ConstantSlot> constants;
  /// Registers, then predicates, specials and constants.
  uint32_t arenaBytes = 0;
  std::vector<ParamSlot> params;
  uint64_t paramBytes = 0;
  uint64_t localBytes = 0;
  uint64_t sharedBytes = 0; // static; the dynamic part begins here
  uint64_t sharedAlign = 16;
  std::vector<std::pair<std::string, uint64_t>> sharedNames; // name, offset
  std::vector<int> reqntid, maxntid, reqCluster;
  /// Strong accesses to global memory or fences: CTAs take turns.
  bool hasGlobalSync = false;
  /// Reads through which a CTA may wait for another.
  bool mayWaitForCtas = false;
  bool hasBarriers = false;
  bool hasAsync = false; // mbarriers, bulk copies, wgmma
  std::vector<WgmmaForm> wgmmas;
  /// Registers of wgmmas, and the handlers of other instructions that touch
  /// them, by instruction (async/WatchRegisters.cpp).
  std::vector<Slot> watchedSlots;
  std::map<Slot, uint32_t> watchIndex;
  std::map<uint32_t, Handler> watched;
  /// Registers a thread: .maxnreg, or 0; and CTAs that have to fit.
  int maxRegisters = 0, minCtas = 1;
  /// Registers that some path reads before writing them; empty for nearly all
  /// kernels, and then nothing is tracked at run time.
  bool tracksRegisters = false;
  /// Register names by slot, for messages.
  std::map<Slot, std::string> registerNames;
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_PROGRAM_H
