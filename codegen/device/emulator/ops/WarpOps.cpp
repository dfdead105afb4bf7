//===- WarpOps.cpp - Exchange between the lanes of a warp -----------------===//
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>
#include <cstring>

using namespace tandem::emulator;

namespace {
enum class Shuffle : uint8_t { Up, Down, Butterfly, Index };
}

/// Sets the member mask, which the interpreter waits for.
static void joins(Builder &b, size_t maskOperand) {
  b.inst->flow = Flow::Converge;
  b.inst->mask = b.read(maskOperand, Type::B32);
}

// b: value; c: lane or distance; e: clamp and segment;
// target: slot of the predicate, or noSlot.
template <Shuffle Mode>
static void shuffle(Exec &x, const Inst &i) {
  uint32_t value[warpSize];
  std::memcpy(value, x.lanes<uint32_t>(i.b), sizeof value);
  const uint32_t *amount = x.lanes<uint32_t>(i.c);
  const uint32_t *control = x.lanes<uint32_t>(i.e);
  uint32_t result[warpSize] = {}, inRange = 0;
  forEachLane(x.active, [&](unsigned lane) {
    auto self = static_cast<int>(lane);
    auto by = static_cast<int>(amount[lane] & 31);
    auto clamp = static_cast<int>(control[lane] & 31);
    auto segment = static_cast<int>(control[lane] >> 8 & 31);
    int most = (self & segment) | (clamp & ~segment);
    int from = self;
    bool ok = false;
    if (Mode == Shuffle::Up) {
      from = self - by;
      ok = from >= most;
    } else {
      from = Mode == Shuffle::Down        ? self + by
             : Mode == Shuffle::Butterfly ? self ^ by
                                          : (self & segment) | (by & ~segment);
      ok = from <= most;
    }
    if (!ok)
      from = self;
    inRange |= uint32_t(ok) << lane;
    if (!(x.active >> from & 1))
      report(
          x, i, lane, "uninitialised",
          cat("takes the value of lane ", from, ", which does not take part"));
    result[lane] = value[from];
  });
  setLanes<uint32_t>(x, i.d, [&](int l) { return result[l]; });
  if (i.target != noSlot)
    setMask(x, i.target, inRange);
}
template <Shuffle Mode>
static void buildShuffle(Builder &b, const Match &) {
  size_t first = b.ast->pairAt == 1 ? 2 : 1;
  if (!b.expect(first + 4))
    return;
  b.inst->b = b.read(first, Type::B32);
  b.inst->c = b.read(first + 1, Type::B32);
  b.inst->e = b.read(first + 2, Type::B32);
  joins(b, first + 3);
  b.inst->d = b.write(0, Type::B32);
  b.inst->target = first == 2 ? b.writePredicate(1) : noSlot;
  b.inst->run = &shuffle<Mode>;
}

// b: predicate, negated if flags; mode: all, any, uni, ballot.
static void vote(Exec &x, const Inst &i) {
  uint32_t set = (x.mask(i.b) ^ (i.flags ? ~0u : 0)) & x.active;
  bool all = set == x.active, any = set != 0;
  if (i.mode == 3) {
    setLanes<uint32_t>(x, i.d, [=](int) { return set; });
    return;
  }
  bool result = i.mode == 0 ? all : i.mode == 1 ? any : all || !any;
  setMask(x, i.d, result ? ~0u : 0);
}
static void buildVote(Builder &b, const Match &m) {
  if (!b.expect(3))
    return;
  b.inst->mode = m.is(1, ".all")   ? 0
                 : m.is(1, ".any") ? 1
                 : m.is(1, ".uni") ? 2
                                   : 3;
  b.inst->b = b.readPredicate(1);
  b.inst->flags = b.operand(1).negated;
  joins(b, 2);
  b.inst->d = b.inst->mode == 3 ? b.write(0, Type::B32) : b.writePredicate(0);
  b.inst->run = vote;
}

template <typename T>
static void match(Exec &x, const Inst &i) {
  const T *value = x.lanes<T>(i.b);
  uint32_t result[warpSize] = {};
  bool all = true;
  forEachLane(x.active, [&](unsigned l) {
    forEachLane(x.active, [&](unsigned other) {
      result[l] |= uint32_t(value[l] == value[other]) << other;
    });
    all &= result[l] == x.active;
  });
  if (i.mode == 0) {
    setLanes<uint32_t>(x, i.d, [&](int l) { return result[l]; });
    return;
  }
  uint32_t everyone = all ? x.active : 0;
  setLanes<uint32_t>(x, i.d, [=](int) { return everyone; });
  if (i.target != noSlot)
    setMask(x, i.target, all ? ~0u : 0);
}
static void buildMatch(Builder &b, const Match &m) {
  size_t first = b.ast->pairAt == 1 ? 2 : 1;
  if (!b.expect(first + 2))
    return;
  Type type = m.type(2);
  b.inst->mode = m.is(0, ".all");
  b.inst->b = b.read(first, type);
  joins(b, first + 1);
  b.inst->d = b.write(0, Type::B32);
  b.inst->target = first == 2 ? b.writePredicate(1) : noSlot;
  b.inst->run = typeSize(type) == 8 ? &match<uint64_t> : &match<uint32_t>;
}

static void reduce(Exec &x, const Inst &i) {
  const uint32_t *value = x.lanes<uint32_t>(i.b);
  uint32_t result = value[firstLane(x.active)];
  bool isSigned = i.flags;
  forEachLane(x.active & (x.active - 1), [&](unsigned l) {
    uint32_t v = value[l];
    bool less = isSigned ? int32_t(v) < int32_t(result) : v < result;
    switch (i.mode) {
    case 0:
      result += v;
      break;
    case 1:
      result = less ? v : result;
      break;
    case 2:
      result = less ? result : v;
      break;
    case 3:
      result &= v;
      break;
    case 4:
      result |= v;
      break;
    default:
      result ^= v;
    }
  });
  setLanes<uint32_t>(x, i.d, [=](int) { return result; });
}
static void buildReduce(Builder &b, const Match &m) {
  if (!b.expect(3))
    return;
  static constexpr std::string_view names[] = {".add", ".min", ".max",
                                               ".and", ".or",  ".xor"};
  for (uint8_t k = 0; k < 6; ++k)
    if (m.is(1, names[k]))
      b.inst->mode = k;
  b.inst->flags = m.is(2, ".s32");
  b.inst->b = b.read(1, Type::B32);
  joins(b, 2);
  b.inst->d = b.write(0, Type::B32);
  b.inst->run = reduce;
}

static void buildActiveMask(Builder &b, const Match &) {
  if (!b.expect(1))
    return;
  b.inst->d = b.write(0, Type::B32);
  b.inst->run = [](Exec &x, const Inst &i) {
    uint32_t active = x.active;
    setLanes<uint32_t>(x, i.d, [=](int) { return active; });
  };
}

/// elect.sync d|p, mask: the lowest lane of the mask is the leader.
static void buildElect(Builder &b, const Match &) {
  if (b.ast->pairAt != 1 || !b.expect(3)) {
    b.fail("'elect.sync' has two results `d|p` and a mask");
    return;
  }
  joins(b, 2);
  b.inst->d = b.write(0, Type::B32);
  b.inst->e = b.writePredicate(1);
  b.inst->run = [](Exec &x, const Inst &i) {
    unsigned leader = firstLane(x.active);
    setLanes<uint32_t>(x, i.d, [=](int) { return leader; });
    setMask(x, i.e, uint32_t(1) << leader);
  };
}

std::span<const Row> tandem::emulator::warpRows() {
  static const Row rows[] = {
      {"shfl", ".sync .up .b32", buildShuffle<Shuffle::Up>},
      {"shfl", ".sync .down .b32", buildShuffle<Shuffle::Down>},
      {"shfl", ".sync .bfly .b32", buildShuffle<Shuffle::Butterfly>},
      {"shfl", ".sync .idx .b32", buildShuffle<Shuffle::Index>},
      {"vote", ".sync .all|.any|.uni .pred", buildVote},
      {"vote", ".sync .ballot .b32", buildVote},
      {"match", ".any|.all .sync .b32|.b64", buildMatch},
      {"redux", ".sync .add|.min|.max|.and|.or|.xor .u32|.s32|.b32",
       buildReduce},
      {"activemask", ".b32", buildActiveMask},
      {"elect", ".sync", buildElect},
  };
  return rows;
}
