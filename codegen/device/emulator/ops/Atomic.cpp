//===- Atomic.cpp - atom and red ------------------------------------------===//
//
// The lanes of a warp take their turns in lane order. A kernel with atomics on
// global memory never runs its CTAs in parallel, so an update is never split.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/ops/AtomicOps.h"
#include "codegen/device/emulator/ops/Families.h"
#include "codegen/device/emulator/ops/Spaces.h"

#include <cstring>

using namespace tandem::emulator;
using namespace tandem::emulator::atomics;

template <typename Op, typename T>
static void atomic(Exec &x, const Inst &i) {
  uint64_t address[warpSize];
  Accessible access;
  addressesOf(x, i, address);
  checkAccess(x, i, i.space, address, sizeof(T), AccessKind::Atomic, i.scope,
              access);
  const T *b = x.lanes<T>(i.b);
  const T *c = x.lanes<T>(i.c == noSlot ? i.b : i.c);
  T before[warpSize] = {};
  forEachLane(access.lanes, [&](unsigned l) {
    char *where =
        access.contiguous ? access.contiguous + sizeof(T) * l : access.host[l];
    std::memcpy(&before[l], where, sizeof(T));
    T after = Op::template apply<T>(before[l], b[l], c[l],
                                    i.space != Space::Shared &&
                                        i.space != Space::SharedCluster);
    std::memcpy(where, &after, sizeof(T));
  });
  if (i.d != noSlot)
    setLanes<T>(x, i.d, [&](int l) { return before[l]; });
}

template <typename Op>
static Handler integerAtomic(Type type) {
  return withInteger(type,
                     []<typename T>() -> Handler { return &atomic<Op, T>; });
}
template <typename Op>
static Handler bitAtomic(Type type) {
  return typeSize(type) == 16  ? &atomic<Op, unsigned __int128>
         : typeSize(type) == 8 ? &atomic<Op, uint64_t>
         : typeSize(type) == 4 ? &atomic<Op, uint32_t>
                               : &atomic<Op, uint16_t>;
}
static Handler handlerFor(std::string_view op, Type type) {
  if (op == ".add") {
    switch (type) {
    case Type::F32:
      return &atomic<Add, float>;
    case Type::F64:
      return &atomic<Add, double>;
    case Type::F16:
      return &atomic<AddHalves<false>, uint16_t>;
    case Type::F16x2:
      return &atomic<AddHalves<false>, uint32_t>;
    case Type::BF16:
      return &atomic<AddHalves<true>, uint16_t>;
    case Type::BF16x2:
      return &atomic<AddHalves<true>, uint32_t>;
    default:
      return integerAtomic<Add>(type);
    }
  }
  if (op == ".min")
    return integerAtomic<Min>(type);
  if (op == ".max")
    return integerAtomic<Max>(type);
  if (op == ".and")
    return bitAtomic<And>(type);
  if (op == ".or")
    return bitAtomic<Or>(type);
  if (op == ".xor")
    return bitAtomic<Xor>(type);
  if (op == ".exch")
    return bitAtomic<Exchange>(type);
  if (op == ".cas")
    return bitAtomic<CompareAndSwap>(type);
  if (op == ".inc")
    return &atomic<Increment, uint32_t>;
  return &atomic<Decrement, uint32_t>;
}

/// Parts: semantics, scope, space, scope (as nvcc writes it), operation, hint
/// or noftz, type.
template <bool HasResult>
static void buildAtomic(Builder &b, const Match &m) {
  std::string_view op = m.parts[4];
  Type type = m.type(m.parts.size() - 1);
  size_t sources = op == ".cas" ? 2 : 1;
  size_t first = HasResult ? 2 : 1;
  bool hasPolicy = m.is(5, ".L2::cache_hint");
  if (!b.expect(first + sources + (hasPolicy ? 1 : 0)))
    return;
  b.inst->space = Space::Generic;
  spaceNamed(m.parts[2], b.inst->space);
  if (b.inst->space != Space::Shared && b.inst->space != Space::SharedCluster)
    b.program->hasGlobalSync = true;
  b.inst->scope = scopeNamed(m.parts, Scope::Gpu);
  b.inst->order = orderNamed(m.parts);
  b.address(first - 1);
  b.inst->b = b.read(first, type);
  b.critical(b.inst->b);
  if (sources == 2)
    b.inst->c = b.read(first + 1, type);
  if (HasResult)
    b.inst->d = b.write(0, type);
  b.inst->run = handlerFor(op, type);
}

std::span<const Row> tandem::emulator::atomicRows() {
#define TANDEM_PREFIX                                                          \
  ".relaxed|.acquire|.release|.acq_rel? .cta|.cluster|.gpu|.sys? "             \
  ".global|.shared|.shared::cta|.shared::cluster? "                            \
  ".cta|.cluster|.gpu|.sys? "
#define TANDEM_HINT " .L2::cache_hint? "
#define TANDEM_ROWS(NAME, BUILD)                                               \
  {NAME, TANDEM_PREFIX ".add" TANDEM_HINT ".u32|.s32|.u64|.s64|.f32|.f64",     \
   BUILD},                                                                     \
      {NAME, TANDEM_PREFIX ".add .noftz .f16|.f16x2|.bf16|.bf16x2", BUILD},    \
      {NAME, TANDEM_PREFIX ".min|.max" TANDEM_HINT ".u32|.s32|.u64|.s64",      \
       BUILD},                                                                 \
      {NAME, TANDEM_PREFIX ".and|.or|.xor" TANDEM_HINT ".b32|.b64", BUILD}, {  \
    NAME, TANDEM_PREFIX ".inc|.dec" TANDEM_HINT ".u32", BUILD                  \
  }
  static const Row rows[] = {
      TANDEM_ROWS("atom", buildAtomic<true>),
      {"atom", TANDEM_PREFIX ".exch" TANDEM_HINT ".b32|.b64|.b128",
       buildAtomic<true>},
      {"atom", TANDEM_PREFIX ".cas" TANDEM_HINT ".b16|.b32|.b64|.b128",
       buildAtomic<true>},
      TANDEM_ROWS("red", buildAtomic<false>),
  };
#undef TANDEM_PREFIX
#undef TANDEM_HINT
#undef TANDEM_ROWS
  return rows;
}
