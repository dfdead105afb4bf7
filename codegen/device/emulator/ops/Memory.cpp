//===- Memory.cpp - ld, st and hints --------------------------------------===//
#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/ops/Families.h"
#include "codegen/device/emulator/ops/Spaces.h"

#include <algorithm>
#include <cstring>

using namespace tandem::emulator;

// size: bytes of an element in memory; count elements; list: registers.
// M is the element in memory, D the register, which may be wider.

template <typename M, typename D>
static void load(Exec &x, const Inst &i) {
  uint64_t address[warpSize];
  Accessible access;
  unsigned total = sizeof(M) * i.count;
  addressesOf(x, i, address);
  checkAccess(x, i, i.space, address, total, AccessKind::Read, i.scope, access);
  const Slot *slots = &x.cta->program->slots[i.list];
  D values[8][warpSize];
  if (const char *base = access.contiguous) {
    if constexpr (sizeof(M) == sizeof(D))
      if (i.count == 1) {
        std::memcpy(x.lanes<D>(slots[0]), base, sizeof(D) * warpSize);
        return;
      }
    for (unsigned k = 0; k < i.count; ++k)
      for (int l = 0; l < warpSize; ++l) {
        M element;
        std::memcpy(&element, base + total * unsigned(l) + sizeof(M) * k,
                    sizeof(M));
        values[k][l] = static_cast<D>(element);
      }
  } else {
    for (unsigned k = 0; k < i.count; ++k) {
      std::memset(values[k], 0, sizeof values[k]);
      forEachLane(access.lanes, [&](unsigned l) {
        M element;
        std::memcpy(&element, access.host[l] + sizeof(M) * k, sizeof(M));
        values[k][l] = static_cast<D>(element);
      });
    }
  }
  for (unsigned k = 0; k < i.count; ++k)
    setLanes<D>(x, slots[k], [&](int l) { return values[k][l]; });
}

/// ld.param at a fixed place: one value for all lanes, checked when built.
template <typename M, typename D>
static void loadParam(Exec &x, const Inst &i) {
  const Slot *slots = &x.cta->program->slots[i.list];
  for (unsigned k = 0; k < i.count; ++k) {
    M element;
    std::memcpy(&element, x.launch->params.data() + i.target + sizeof(M) * k,
                sizeof(M));
    auto value = static_cast<D>(element);
    setLanes<D>(x, slots[k], [=](int) { return value; });
  }
}

template <typename M, typename D>
static void store(Exec &x, const Inst &i) {
  uint64_t address[warpSize];
  Accessible access;
  unsigned total = sizeof(M) * i.count;
  addressesOf(x, i, address);
  checkAccess(x, i, i.space, address, total, AccessKind::Write, i.scope,
              access);
  const Slot *slots = &x.cta->program->slots[i.list];
  if constexpr (sizeof(M) == sizeof(D))
    if (access.contiguous && i.count == 1) {
      std::memcpy(access.contiguous, x.lanes<D>(slots[0]),
                  sizeof(D) * warpSize);
      return;
    }
  for (unsigned k = 0; k < i.count; ++k) {
    const D *d = x.lanes<D>(slots[k]);
    if (char *base = access.contiguous) {
      for (int l = 0; l < warpSize; ++l) {
        auto element = static_cast<M>(d[l]);
        std::memcpy(base + total * unsigned(l) + sizeof(M) * k, &element,
                    sizeof(M));
      }
      continue;
    }
    forEachLane(access.lanes, [&](unsigned l) {
      auto element = static_cast<M>(d[l]);
      std::memcpy(access.host[l] + sizeof(M) * k, &element, sizeof(M));
    });
  }
}

namespace {
enum class Access : uint8_t { Load, LoadParam, Store };
}
template <typename M, typename D>
static Handler handlerFor(Access access) {
  return access == Access::Load        ? &load<M, D>
         : access == Access::LoadParam ? &loadParam<M, D>
                                       : &store<M, D>;
}
static Handler handlerFor(Access access, Type type, unsigned registerSize) {
  auto wide = [&]<typename M>() -> Handler {
    if constexpr (sizeof(M) == 16)
      return registerSize == 16 ? handlerFor<M, M>(access) : nullptr;
    else if (registerSize == 8)
      return handlerFor<M, uint64_t>(access);
    if constexpr (sizeof(M) <= 4)
      if (registerSize == 4)
        return handlerFor<M, uint32_t>(access);
    if constexpr (sizeof(M) <= 2)
      return handlerFor<M, uint16_t>(access);
    return nullptr;
  };
  switch (type) {
  case Type::S8:
    return wide.template operator()<int8_t>();
  case Type::S16:
    return wide.template operator()<int16_t>();
  case Type::S32:
    return wide.template operator()<int32_t>();
  default:
    break;
  }
  switch (typeSize(type)) {
  case 1:
    return wide.template operator()<uint8_t>();
  case 2:
    return wide.template operator()<uint16_t>();
  case 4:
    return wide.template operator()<uint32_t>();
  case 16:
    return wide.template operator()<unsigned __int128>();
  default:
    return wide.template operator()<uint64_t>();
  }
}

/// What ld and st share. Parts: see the rows; the last two are vector and type.
static void buildAccess(Builder &b, const Match &m, bool isLoad) {
  size_t n = m.parts.size();
  bool hasPolicy = false, isStrong = false;
  b.inst->space = Space::Generic;
  for (std::string_view part : m.parts) {
    hasPolicy |= part == ".L2::cache_hint";
    isStrong |= part == ".volatile" || part == ".relaxed" ||
                part == ".acquire" || part == ".release" || part == ".mmio";
    if (Space space; spaceNamed(part, space))
      b.inst->space = space;
  }
  Type type = m.type(n - 1);
  size_t count = m.is(n - 2, ".v2")   ? 2
                 : m.is(n - 2, ".v4") ? 4
                 : m.is(n - 2, ".v8") ? 8
                                      : 1;
  if (!b.expect(hasPolicy ? 3 : 2))
    return;
  if (typeSize(type) * count > 32 ||
      (typeSize(type) * count > 16 && b.inst->space != Space::Global)) {
    b.fail(cat("'", b.ast->text(), "' moves ", typeSize(type) * count,
               " bytes, more than an access can"));
    return;
  }
  b.inst->size = static_cast<uint8_t>(typeSize(type));
  b.inst->count = static_cast<uint8_t>(count);
  b.inst->scope = isStrong ? scopeNamed(m.parts, Scope::Gpu) : Scope::Weak;
  b.inst->order = orderNamed(m.parts);
  if (isStrong && b.inst->space != Space::Shared) {
    b.program->hasGlobalSync = true;
    b.program->mayWaitForCtas |= isLoad;
  }
  b.address(isLoad ? 1 : 0);
  unsigned size = 0;
  size_t readsBefore = b.use->reads.size();
  b.inst->list =
      b.vector(b.operand(isLoad ? 0 : 1), count, type, isLoad, &size);
  if (!isLoad)
    for (size_t i = readsBefore; i < b.use->reads.size(); ++i)
      b.critical(b.use->reads[i]);
  Access access = isLoad ? Access::Load : Access::Store;
  if (isLoad && b.inst->space == Space::Param) {
    // Where the base is a symbol its slot is a constant of the program.
    for (const ConstantSlot &constant : b.program->constants) {
      if (constant.slot != b.inst->a || !b.inst->wideAddress)
        continue;
      uint64_t at = constant.bits + static_cast<uint64_t>(b.inst->imm);
      uint64_t end = at + typeSize(type) * count;
      if (end > b.program->paramBytes || end < at) {
        b.fail(cat("'", b.ast->text(), "' reads bytes ", at, " to ", end,
                   " of ", b.program->paramBytes, " bytes of parameters"));
        return;
      }
      access = Access::LoadParam;
      b.inst->target = static_cast<uint32_t>(at);
    }
  }
  b.inst->run = handlerFor(access, type, std::max(size, 2u));
  if (!b.inst->run)
    b.fail(cat("'", b.ast->text(), "' needs wider registers"));
}
static void buildLoad(Builder &b, const Match &m) { buildAccess(b, m, true); }
static void buildStore(Builder &b, const Match &m) { buildAccess(b, m, false); }

static void nothing(Exec &, const Inst &) {}
static void buildHint(Builder &b, const Match &) {
  if (b.expect(1, 2))
    b.inst->run = nothing;
}
/// An L2 policy is opaque and has no effect here.
static void buildPolicy(Builder &b, const Match &) {
  if (!b.expect(1, 5))
    return;
  b.inst->d = b.write(0, Type::B64);
  b.inst->run = [](Exec &x, const Inst &i) {
    setLanes<uint64_t>(x, i.d, [](int) { return uint64_t(0); });
  };
}

std::span<const Row> tandem::emulator::memoryRows() {
#define TANDEM_SCOPES ".cta|.cluster|.gpu|.sys"
#define TANDEM_TYPES                                                           \
  ".b8|.b16|.b32|.b64|.b128|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64"
#define TANDEM_HINTS                                                           \
  ".L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|."  \
  "L1::no_allocate? .L2::evict_normal|.L2::evict_first|.L2::evict_last? "      \
  ".L2::cache_hint? .L2::64B|.L2::128B|.L2::256B? "
  static const Row rows[] = {
      {"ld",
       ".weak|.volatile? "
       ".const|.global|.local|.param|.param::entry|.param::func|.shared|"
       ".shared::cta|.shared::cluster? .ca|.cg|.cs|.lu|.cv? .nc? " TANDEM_HINTS
       ".v2|.v4|.v8? " TANDEM_TYPES,
       buildLoad},
      {"ld",
       ".relaxed|.acquire|.mmio .relaxed? " TANDEM_SCOPES
       " .global|.shared|.shared::cta|.shared::cluster? " TANDEM_HINTS
       ".v2|.v4|.v8? " TANDEM_TYPES,
       buildLoad},
      {"ldu", ".global? .v2|.v4? " TANDEM_TYPES, buildLoad},
      {"st",
       ".weak|.volatile? "
       ".global|.local|.param|.param::func|.shared|.shared::cta|.shared::"
       "cluster? "
       ".wb|.cg|.cs|.wt? " TANDEM_HINTS ".v2|.v4|.v8? " TANDEM_TYPES,
       buildStore},
      {"st",
       ".relaxed|.release|.mmio .relaxed? " TANDEM_SCOPES
       " .global|.shared|.shared::cta|.shared::cluster? " TANDEM_HINTS
       ".v2|.v4|.v8? " TANDEM_TYPES,
       buildStore},
      {"prefetch", ".global|.local? .L1|.L2", buildHint, "no effect"},
      {"prefetch", ".global .L2::evict_last|.L2::evict_normal", buildHint},
      {"prefetchu", ".L1", buildHint, "no effect"},
      {"applypriority", ".global? .L2::evict_normal", buildHint, "no effect"},
      {"createpolicy",
       ".fractional .L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::"
       "evict_unchanged .L2::evict_first|.L2::evict_unchanged? .b64",
       buildPolicy, "no effect"},
  };
#undef TANDEM_SCOPES
#undef TANDEM_TYPES
#undef TANDEM_HINTS
  return rows;
}
