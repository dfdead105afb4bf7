//===- Checker.cpp - Every access to memory goes through here -------------===//
#include "codegen/device/emulator/Checker.h"

#include "codegen/device/emulator/Races.h"
#include "codegen/device/emulator/Regions.h"
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/Hazards.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

namespace {
class PageLock {
public:
  PageLock(ShadowPage &page, bool needed) : page(needed ? &page : nullptr) {
    if (needed)
      while (page.busy.test_and_set(std::memory_order_acquire)) {
      }
  }
  ~PageLock() {
    if (page)
      page->busy.clear(std::memory_order_release);
  }

private:
  ShadowPage *page;
};
} // namespace

static bool isWritten(const ShadowPage &page, uint64_t offset, unsigned size) {
  uint64_t at = offset % pageBytes;
  uint64_t mask = (size == 64 ? ~uint64_t(0) : (uint64_t(1) << size) - 1)
                  << (at % 64);
  return (page.init[at / 64] & mask) == mask;
}
static void setWritten(ShadowPage &page, uint64_t offset, unsigned size) {
  uint64_t at = offset % pageBytes;
  page.init[at / 64] |= ((uint64_t(1) << size) - 1) << (at % 64);
}

static void reportUnwritten(Exec &x, const Inst &inst, const Region &region,
                            uint64_t offset, unsigned size, unsigned lane) {
  uint64_t first = region.shadow->firstUnwritten(offset, size);
  // An async copy under way explains more than "never written".
  if (region.isShared && isCopyUnderWay(x, region, offset, size))
    return;
  if (region.isShared)
    for (const Warp &warp : x.cta->warps)
      for (const PendingCopy &copy : warp.copies)
        if (copy.target < offset + size && offset < copy.target + copy.size) {
          report(x, inst, lane, "async",
                 cat("reads bytes that the cp.async at line ",
                     x.cta->program->code[copy.at].line,
                     " has not been waited for"),
                 region.base + offset, describe(region, region.base + offset));
          return;
        }
  report(x, inst, lane, "uninitialised",
         cat("reads ", size, " bytes, byte ", first,
             " of which was never written"),
         region.base + offset + first,
         describe(region, region.base + offset + first));
}

/// All \p lanes lie inside \p region, aligned.
static void shadowAccess(Exec &x, const Inst &inst, const Region &region,
                         const uint64_t *address, uint32_t lanes, unsigned size,
                         AccessKind kind, Scope scope, bool isContiguous) {
  const LaunchOptions &options = x.launch->options;
  bool races = options.checkRaces && !x.cta->clockExhausted;
  bool parallel = x.launch->parallel && !region.isShared;
  Shadow &shadow = *region.shadow;
  Order order = orderOf(x, inst, scope, region);
  bool reads = kind != AccessKind::Write;
  if (isContiguous) {
    uint64_t offset = address[0] - region.base;
    uint64_t left = uint64_t(size) * warpSize;
    unsigned lane = 0;
    while (left) {
      auto n =
          static_cast<unsigned>(std::min(left, pageBytes - offset % pageBytes));
      ShadowPage &page = shadow.page(offset);
      PageLock lock(page, parallel);
      uint64_t at = offset % pageBytes;
      for (unsigned done = 0; done < n;) {
        uint64_t bit = (at + done) % 64;
        auto some =
            static_cast<unsigned>(std::min<uint64_t>(64 - bit, n - done));
        uint64_t mask = (some == 64 ? ~uint64_t(0) : (uint64_t(1) << some) - 1)
                        << bit;
        uint64_t &word = page.init[(at + done) / 64];
        if (!reads)
          word |= mask;
        else if ((word & mask) != mask && options.checkInit)
          for (unsigned i = 0; i < some; i += size)
            if (!isWritten(page, offset + done + i, size)) {
              reportUnwritten(x, inst, region, offset + done + i, size,
                              lane + (done + i) / size);
              break;
            }
        done += some;
      }
      if (races)
        raceRange(x, inst, order, region, offset, page, n, size, lane, kind);
      lane += n / size;
      offset += n;
      left -= n;
    }
    return;
  }
  forEachLane(lanes, [&](unsigned l) {
    uint64_t offset = address[l] - region.base;
    ShadowPage &page = shadow.page(offset);
    PageLock lock(page, parallel);
    if (reads && options.checkInit && !isWritten(page, offset, size))
      reportUnwritten(x, inst, region, offset, size, l);
    if (kind != AccessKind::Read)
      setWritten(page, offset, size);
    if (races)
      raceLane(x, inst, order, region, offset, page, size, l, kind);
  });
}

/// What the strong accesses of \p lanes order.
static void synchronise(Exec &x, const Inst &inst, const Region &region,
                        const uint64_t *address, uint32_t lanes,
                        AccessKind kind, Scope scope) {
  std::unique_ptr<SyncTable> &table = region.shadow->sync;
  const WarpSync *sync = x.warp->sync.get();
  bool publishes = (inst.order & releaseOrder) || (sync && sync->hasFenced);
  if (!table && !publishes)
    return;
  forEachLane(lanes, [&](unsigned l) {
    strongAccess(x, l, scope, inst.order, kind != AccessKind::Write,
                 kind != AccessKind::Read, table, address[l] - region.base);
  });
  if (publishes && kind != AccessKind::Read)
    advanceClock(*x.warp, *x.cta);
}

static void reportOutside(Exec &x, const Inst &inst, uint64_t address,
                          unsigned size, unsigned lane, AccessKind kind,
                          const Region *near) {
  if (!x.launch->options.checkMemory)
    return;
  if (near && near->freed && near->holds(address, size)) {
    report(x, inst, lane, "use-after-free",
           cat(verb(kind), " of ", size, " bytes in a freed allocation"),
           address, describe(*near, address));
    return;
  }
  report(x, inst, lane, "out-of-bounds",
         cat(verb(kind), " of ", size, " bytes at ", hex(address),
             ", outside every allocation"),
         address, near ? describe(*near, address) : std::string());
}

static void reportMisaligned(Exec &x, const Inst &inst, uint64_t address,
                             unsigned size, unsigned lane, AccessKind kind) {
  if (x.launch->options.checkMemory)
    report(x, inst, lane, "misaligned",
           cat(verb(kind), " of ", size, " bytes at ", hex(address),
               ", which is not a multiple of ", size),
           address);
}

/// A warp that streams will access a stride further on with the same
/// instruction: what the check needs there comes into the cache meanwhile.
static inline void prefetchNext(const Inst &inst, const Region &region,
                                uint64_t address, unsigned size) {
  struct Seen {
    const Inst *inst = nullptr;
    uint64_t address = 0;
  };
  static thread_local Seen seen[64];
  Seen &last = seen[reinterpret_cast<uintptr_t>(&inst) / sizeof(Inst) % 64];
  uint64_t next = address + (address - last.address);
  bool isStride = last.inst == &inst;
  last = {&inst, address};
  if (!isStride || next == address ||
      !region.holds(next, uint64_t(size) * warpSize))
    return;
  uint64_t offset = next - region.base;
  const char *data = region.host + offset;
  __builtin_prefetch(data);
  __builtin_prefetch(data + 64);
  if (const ShadowPage *page = region.shadow->peek(offset)) {
    __builtin_prefetch(&page->init[offset % pageBytes / 64]);
    const auto *line = reinterpret_cast<const char *>(
        &page->lines[offset % pageBytes / lineBytes]);
    __builtin_prefetch(line);
    __builtin_prefetch(line + 64);
  }
}

/// Global, const and shared memory: \p window regions are searched when
/// \p only is null.
static void accessRegions(Exec &x, const Inst &inst, const Region *only,
                          const uint64_t *address, uint32_t lanes,
                          unsigned size, AccessKind kind, Scope scope,
                          Accessible &out) {
  uint64_t low = ~uint64_t(0), high = 0, bits = 0;
  bool consecutive = lanes == ~0u;
  if (lanes == ~0u) {
    // Vectorises; the usual case.
    uint64_t step = 0;
    for (int l = 0; l < warpSize; ++l)
      step |= (address[l] - address[0]) ^ (uint64_t(size) * unsigned(l));
    consecutive = step == 0;
    if (consecutive) {
      low = bits = address[0];
      high = address[warpSize - 1];
    } else {
      for (int l = 0; l < warpSize; ++l) {
        low = std::min(low, address[l]);
        high = std::max(high, address[l]);
        bits |= address[l];
      }
    }
  } else {
    forEachLane(lanes, [&](unsigned l) {
      low = std::min(low, address[l]);
      high = std::max(high, address[l]);
      bits |= address[l];
    });
  }
  const Region *&cached = x.cta->regionCache[x.pcOf(inst)];
  const Region *region = only ? only : cached;
  bool inside = region && !region->freed && region->holds(low, size) &&
                region->holds(high, size);
  if (!inside && !only) {
    region = findRegion(*x.launch, low, size);
    inside = region && !region->freed && region->holds(high, size);
    if (inside)
      cached = region;
  }
  bool aligned = (bits & (size - 1)) == 0;
  if (inside && aligned) {
    const auto hostOf = [&](uint64_t at) {
      return region->host + (at - region->base);
    };
    out.lanes |= lanes;
    if (consecutive) {
      out.contiguous = hostOf(address[0]);
      prefetchNext(inst, *region, address[0], size);
    } else
      forEachLane(lanes, [&](unsigned l) { out.host[l] = hostOf(address[l]); });
    uint32_t shadowed = lanes;
    // One address for all lanes: two of them tell all there is to tell.
    if (low == high && kind == AccessKind::Read)
      shadowed =
          (lanes & -lanes) | (uint32_t(1) << (31 - __builtin_clz(lanes)));
    shadowAccess(x, inst, *region, address, shadowed, size, kind, scope,
                 consecutive);
    if (scope != Scope::Weak)
      synchronise(x, inst, *region, address, lanes, kind, scope);
    return;
  }
  forEachLane(lanes, [&](unsigned l) {
    const Region *mine = only ? only : findRegion(*x.launch, address[l], size);
    if (!mine || mine->freed || !mine->holds(address[l], size)) {
      reportOutside(x, inst, address[l], size, l, kind,
                    only ? only : nearestRegion(*x.launch, address[l]));
      return;
    }
    if (address[l] & (size - 1)) {
      reportMisaligned(x, inst, address[l], size, l, kind);
      return;
    }
    out.lanes |= uint32_t(1) << l;
    out.host[l] = mine->host + (address[l] - mine->base);
    shadowAccess(x, inst, *mine, address, uint32_t(1) << l, size, kind, scope,
                 false);
    if (scope != Scope::Weak)
      synchronise(x, inst, *mine, address, uint32_t(1) << l, kind, scope);
  });
}

/// Shared memory of any CTA of the cluster: the lanes' CTAs one by one.
static void accessCluster(Exec &x, const Inst &inst, const uint64_t *address,
                          uint32_t lanes, unsigned size, AccessKind kind,
                          Scope scope, Accessible &out) {
  uint64_t offset[warpSize];
  while (lanes) {
    uint64_t unused;
    unsigned first = firstLane(lanes);
    Cta *cta = ctaOfAddress(*x.cta, address[first], unused);
    uint32_t here = 0;
    for (unsigned l = 0; l < warpSize; ++l)
      if (ctaOfAddress(*x.cta, address[l], offset[l]) == cta)
        here |= lanes & (uint32_t(1) << l);
    lanes &= ~here;
    if (cta && !cta->done) {
      accessRegions(x, inst, &cta->shared, offset, here, size, kind, scope,
                    out);
      if (cta->async)
        checkAgainstAsync(x, inst, *cta, offset, here & out.lanes, size, kind);
      continue;
    }
    if (x.launch->options.checkMemory)
      report(x, inst, first, cta ? "use-after-free" : "out-of-bounds",
             cat(verb(kind), " of ", size, " bytes at ", hex(address[first]),
                 cta ? cat(" in the shared memory of block ", cta->rank,
                           " of the cluster, which has exited")
                     : cat(", the cluster has ", x.cta->cluster->ctas.size(),
                           " blocks")),
             address[first]);
  }
}

/// Each thread has localBytes of its own; no one else can reach them.
static void accessLocal(Exec &x, const Inst &inst, const uint64_t *address,
                        uint32_t lanes, unsigned size, AccessKind kind,
                        Accessible &out) {
  Cta &cta = *x.cta;
  uint64_t bytes = cta.program->localBytes;
  forEachLane(lanes, [&](unsigned l) {
    uint64_t offset = address[l];
    if (offset > bytes || size > bytes - offset) {
      if (x.launch->options.checkMemory)
        report(x, inst, l, "out-of-bounds",
               cat(verb(kind), " of ", size, " bytes at ", offset,
                   " of the thread's ", bytes, " bytes of local memory"),
               offset);
      return;
    }
    if (offset & (size - 1)) {
      reportMisaligned(x, inst, offset, size, l, kind);
      return;
    }
    uint64_t at = (uint64_t(x.warp->index) * warpSize + l) * bytes + offset;
    if (kind != AccessKind::Read)
      std::memset(&cta.localWritten[at], 1, size);
    else if (x.launch->options.checkInit &&
             std::memchr(&cta.localWritten[at], 0, size))
      report(x, inst, l, "uninitialised",
             cat("reads ", size, " bytes of local memory at ", offset,
                 " that were never written"),
             offset);
    out.lanes |= uint32_t(1) << l;
    out.host[l] = cta.local.data() + at;
  });
}

static void accessParams(Exec &x, const Inst &inst, const uint64_t *address,
                         uint32_t lanes, unsigned size, AccessKind kind,
                         Accessible &out) {
  const std::vector<char> &params = x.launch->params;
  forEachLane(lanes, [&](unsigned l) {
    if (kind != AccessKind::Read || address[l] > params.size() ||
        size > params.size() - address[l]) {
      if (x.launch->options.checkMemory)
        report(x, inst, l, "out-of-bounds",
               cat(verb(kind), " of ", size, " bytes at ", address[l], " of ",
                   params.size(), " bytes of parameters"),
               address[l]);
      return;
    }
    out.lanes |= uint32_t(1) << l;
    out.host[l] = const_cast<char *>(params.data()) + address[l];
  });
}

void emulator::checkAccess(Exec &x, const Inst &inst, Space space,
                           const uint64_t *address, unsigned size,
                           AccessKind kind, Scope scope, Accessible &out) {
  out.lanes = 0;
  out.contiguous = nullptr;
  switch (space) {
  case Space::Global:
  case Space::Const:
    accessRegions(x, inst, nullptr, address, x.active, size, kind, scope, out);
    return;
  case Space::Shared:
    accessRegions(x, inst, &x.cta->shared, address, x.active, size, kind, scope,
                  out);
    if (x.cta->async)
      checkAgainstAsync(x, inst, *x.cta, address, out.lanes, size, kind);
    return;
  case Space::SharedCluster:
    accessCluster(x, inst, address, x.active, size, kind, scope, out);
    return;
  case Space::Local:
    accessLocal(x, inst, address, x.active, size, kind, out);
    return;
  case Space::Param:
    accessParams(x, inst, address, x.active, size, kind, out);
    return;
  case Space::Generic:
    break;
  }
  // Generic: lanes may point into different windows.
  uint32_t left = x.active;
  uint64_t offset[warpSize];
  while (left) {
    uint64_t window = address[firstLane(left)] & windowMask;
    uint32_t here = 0;
    forEachLane(left, [&](unsigned l) {
      if ((address[l] & windowMask) == window)
        here |= uint32_t(1) << l;
    });
    if (!window) {
      accessRegions(x, inst, nullptr, address, here, size, kind, scope, out);
    } else {
      for (int l = 0; l < warpSize; ++l)
        offset[l] = address[l] & ~windowMask;
      if (window == sharedWindow)
        accessCluster(x, inst, offset, here, size, kind, scope, out);
      else if (window == localWindow)
        accessLocal(x, inst, offset, here, size, kind, out);
      else if (window == paramWindow)
        accessParams(x, inst, offset, here, size, kind, out);
      else
        accessRegions(x, inst, nullptr, address, here, size, kind, scope, out);
    }
    left &= ~here;
  }
}

void emulator::recordShared(Exec &x, const Inst &inst, unsigned lane,
                            uint64_t offset, unsigned size, AccessKind kind) {
  recordAccess(x, inst, x.cta->shared, offset, size, lane, kind, Scope::Weak);
}

void emulator::recordAccess(Exec &x, const Inst &inst, const Region &region,
                            uint64_t offset, unsigned size, unsigned lane,
                            AccessKind kind, Scope scope) {
  uint64_t address[warpSize] = {};
  address[lane] = region.base + offset;
  shadowAccess(x, inst, region, address, laneBit(lane), size, kind, scope,
               false);
}
