//===- State.h - Asynchronous operations in flight --------------*- C++ -*-===//
//
// Each kind of completion has an agent: an mbarrier, the bulk groups of a
// thread, the wgmma groups of a warpgroup. An operation is done for a thread
// that knows its agent up to the operation's number; that knowledge travels
// with everything that synchronises (Clocks.h), so "has somebody waited, and am
// I after that wait?" is one comparison.
//
// Shared memory is remembered in units of 16 bytes: the last asynchronous write
// and the last reads of three agents.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_STATE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_STATE_H

#include "codegen/device/emulator/Clocks.h"
#include "codegen/device/emulator/Exec.h"
#include "codegen/device/emulator/async/MapCode.h"

#include <deque>
#include <functional>
#include <map>

namespace tandem::emulator {

enum class AsyncKind : uint8_t { BulkWrite, BulkRead, WgmmaRead };

/// One operation. Old ones are forgotten; they count as done.
struct AsyncOp {
  uint32_t id = 0;
  uint32_t at = 0; // instruction
  uint64_t agent = 0;
  uint32_t number = 0; // of the agent; not known of a load before it completes
  bool pending = true;
  AsyncKind kind = AsyncKind::BulkWrite;
  uint8_t rank = 0, warp = 0, lane = 0;
};

/// A bulk copy that has been issued and has not arrived.
struct BulkCopy {
  uint32_t op = 0;     // AsyncOp::id of what it writes in shared memory
  uint32_t readOp = 0; // and of what it reads there
  uint32_t at = 0;     // instruction
  uint64_t bytes = 0;
  /// Moves the bytes. A copy out of shared memory first takes them (`read`),
  /// and later puts them where they belong.
  std::function<void()> read, write;
};

struct Mbarrier {
  uint32_t offset = 0; // in its CTA's shared memory
  bool live = false;
  bool fenced = false; // its initialisation is visible to the async proxy
  uint32_t initAt = 0;
  uint64_t agent = 0;
  uint32_t expected = 0, pending = 0;
  int64_t bytes = 0; // transactions expected and not yet there
  uint64_t phase = 0;
  /// Arrivals of the present phase, and of the last complete one.
  SyncCell arriving, completed;
  /// What is known only because it was executed before (docs/decisions/0007).
  SharedKnowledge arrivingWeak, completedWeak;
  std::deque<BulkCopy> copies; // that complete here, in order of issue
  /// The number by which a phase's completion is known: 1 is the
  /// initialisation.
  uint32_t numberOf(uint64_t ofPhase) const {
    return static_cast<uint32_t>(ofPhase + 2);
  }
};

struct WarpGroup; // Wgmma.h

struct AsyncUnit {
  uint32_t write = 0;
  std::array<uint32_t, 3> read = {};
};

/// Of one CTA; made when its kernel has asynchronous instructions.
struct CtaAsync {
  std::deque<Mbarrier> barriers;
  /// Offsets that live mbarriers lie between.
  uint32_t firstBarrier = ~0u, endBarriers = 0;
  std::vector<AsyncUnit> units; // of shared memory
  uint32_t agents = 0;
  std::vector<std::shared_ptr<WarpGroup>> groups;
  /// setmaxnreg: registers a thread of each warp, and the CTA's free ones.
  std::vector<int> registers;
  int64_t freeRegisters = 0;
};

/// Bulk groups of one thread.
struct BulkGroups {
  uint64_t readAgent = 0, agent = 0;
  uint32_t committed = 0;
  std::vector<BulkCopy> open;
  struct Group {
    uint32_t number = 0;
    bool isRead = false;
    std::vector<BulkCopy> copies;
  };
  std::deque<Group> groups;
};

/// What a register of a wgmma is doing.
struct WatchedRegister {
  uint32_t result = 0;    // number of the wgmma that writes it
  uint32_t operand = 0;   // number of the wgmma that reads it as A
  uint32_t touchedAt = 1; // instruction + 2 of the last access without a fence;
                          // 1: no fence yet
  uint32_t shape = 0;     // of the wgmma that wrote it since the fence
};

struct WarpAsync {
  std::map<unsigned, BulkGroups> bulk; // by lane
  std::vector<WatchedRegister> registers;
  /// wgmma, in this warp's order: issued, committed and waited-for ones.
  uint32_t issued = 0, committed = 0, completed = 0;
  std::vector<uint32_t> groupEnds; // `issued` at each commit
  /// Mbarriers that this warp initialised and fenced for the cluster.
  SharedKnowledge initFence;
};

/// Operations of a cluster, the last ones.
class OpLog {
public:
  AsyncOp &add() {
    if (ops.empty())
      ops.resize(capacity);
    AsyncOp &op = ops[++last % capacity];
    op = AsyncOp();
    op.id = last;
    return op;
  }
  /// Null when it was forgotten.
  AsyncOp *find(uint32_t id) {
    if (!id || ops.empty())
      return nullptr;
    AsyncOp &op = ops[id % capacity];
    return op.id == id ? &op : nullptr;
  }
  void clear() {
    ops.clear();
    last = 0;
  }

private:
  static constexpr uint32_t capacity = 1 << 15;
  std::vector<AsyncOp> ops;
  uint32_t last = 0;
};

/// The state of the executing CTA and warp.
CtaAsync &asyncOf(Cta &cta);
WarpAsync &asyncOf(Warp &warp);
/// A new agent of \p cta.
uint64_t newAgent(Cta &cta);

/// Only what \p knowledge says of agents, as executed before.
SharedKnowledge weakly(const Knowledge &knowledge);

/// Whether lane \p lane of \p warp knows \p agent up to \p number; \p isWeak
/// tells that it does only by what was executed before.
bool knowsAgent(const Warp &warp, unsigned lane, uint64_t agent,
                uint32_t number, bool *isWeak = nullptr);
/// The active lanes know it from here on.
void learnAgent(Exec &x, uint64_t agent, uint32_t number);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_STATE_H
