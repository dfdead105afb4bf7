//===- Shadow.cpp - What the checker remembers of each byte ---------------===//
#include "codegen/device/emulator/Shadow.h"

#include "codegen/device/emulator/Clocks.h"
#include "codegen/device/emulator/ShadowPage.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace tandem::emulator;

RaceCells::RaceCells(unsigned shift) : shift(shift) {
  size_t n = pageBytes >> shift;
  write = std::make_unique<AccessId[]>(n);
  readA = std::make_unique<AccessId[]>(n);
  readB = std::make_unique<AccessId[]>(n);
  writeAt = std::make_unique<uint32_t[]>(n);
  readAt = std::make_unique<uint32_t[]>(n);
}

std::unique_ptr<RaceCells> RaceCells::split(unsigned finer) const {
  auto result = std::make_unique<RaceCells>(finer);
  for (size_t i = 0; i < pageBytes >> finer; ++i) {
    size_t from = i >> (shift - finer);
    result->write[i] = write[from];
    result->readA[i] = readA[from];
    result->readB[i] = readB[from];
    result->writeAt[i] = writeAt[from];
    result->readAt[i] = readAt[from];
  }
  return result;
}

// calloc maps large tables lazily: a sparse allocation of 20 GB costs only the
// pages of the table that are used.
Shadow::Shadow(uint64_t bytes)
    : pages((bytes + pageBytes - 1) / pageBytes + 1),
      table(static_cast<std::atomic<uintptr_t> *>(
          std::calloc(pages, sizeof(std::atomic<uintptr_t>)))) {
  if (!table)
    throw std::bad_alloc(); // Heap::allocate makes an Error of it
}

Shadow::~Shadow() {
  for (uint64_t i = 0; i < pages; ++i)
    if (uintptr_t entry = table[i].load(std::memory_order_relaxed); entry > 1)
      delete reinterpret_cast<ShadowPage *>(entry);
  std::free(table);
}

ShadowPage &Shadow::make(uint64_t offset) {
  std::atomic<uintptr_t> &entry = table[offset / pageBytes];
  uintptr_t seen = entry.load(std::memory_order_acquire);
  if (seen > 1)
    return *reinterpret_cast<ShadowPage *>(seen);
  auto fresh = std::make_unique<ShadowPage>();
  if (seen == 1)
    std::memset(fresh->init, 0xff, sizeof fresh->init);
  if (entry.compare_exchange_strong(seen,
                                    reinterpret_cast<uintptr_t>(fresh.get()),
                                    std::memory_order_acq_rel))
    return *fresh.release();
  return *reinterpret_cast<ShadowPage *>(seen);
}

static void setBits(uint64_t *words, uint64_t begin, uint64_t end, bool value) {
  while (begin < end) {
    uint64_t bit = begin % 64;
    uint64_t n = std::min<uint64_t>(64 - bit, end - begin);
    uint64_t mask = (n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1) << bit;
    uint64_t &word = words[begin / 64];
    word = value ? word | mask : word & ~mask;
    begin += n;
  }
}

void Shadow::mark(uint64_t offset, uint64_t bytes, bool written) {
  uint64_t end = offset + bytes;
  while (offset < end) {
    uint64_t inPage = offset % pageBytes;
    uint64_t n = std::min(pageBytes - inPage, end - offset);
    std::atomic<uintptr_t> &entry = table[offset / pageBytes];
    uintptr_t seen = entry.load(std::memory_order_relaxed);
    // Storing what is there already would touch the table's pages.
    if (seen == uintptr_t(written)) {
      // nothing to do
    } else if (seen <= 1 && n == pageBytes)
      entry.store(written, std::memory_order_relaxed);
    else
      setBits(page(offset).init, inPage, inPage + n, written);
    offset += n;
  }
}

uint64_t Shadow::firstUnwritten(uint64_t offset, uint64_t bytes) const {
  for (uint64_t i = 0; i < bytes; ++i) {
    uintptr_t seen =
        table[(offset + i) / pageBytes].load(std::memory_order_relaxed);
    if (seen == 1)
      continue;
    if (seen == 0)
      return i;
    uint64_t at = (offset + i) % pageBytes;
    const auto *page = reinterpret_cast<const ShadowPage *>(seen);
    if (!(page->init[at / 64] >> (at % 64) & 1))
      return i;
  }
  return bytes;
}

bool Shadow::isWritten(uint64_t offset, uint64_t bytes) const {
  uint64_t end = offset + bytes;
  while (offset < end) {
    uint64_t n = std::min(pageBytes - offset % pageBytes, end - offset);
    uintptr_t seen = table[offset / pageBytes].load(std::memory_order_relaxed);
    if (seen == 0)
      return false;
    if (seen > 1) {
      const auto *page = reinterpret_cast<const ShadowPage *>(seen);
      for (uint64_t at = offset % pageBytes, left = n; left;) {
        uint64_t some = std::min(64 - at % 64, left);
        uint64_t mask = (some == 64 ? ~uint64_t(0) : (uint64_t(1) << some) - 1)
                        << at % 64;
        if ((page->init[at / 64] & mask) != mask)
          return false;
        at += some;
        left -= some;
      }
    }
    offset += n;
  }
  return true;
}

void Shadow::clearWritten() {
  for (uint64_t i = 0; i < pages; ++i) {
    uintptr_t entry = table[i].load(std::memory_order_relaxed);
    if (entry > 1)
      std::memset(reinterpret_cast<ShadowPage *>(entry)->init, 0,
                  sizeof(ShadowPage::init));
    else if (entry == 1)
      table[i].store(0, std::memory_order_relaxed);
  }
}

void Shadow::forgetAccesses() {
  for (uint64_t i = 0; i < pages; ++i)
    if (uintptr_t entry = table[i].load(std::memory_order_relaxed); entry > 1) {
      auto *page = reinterpret_cast<ShadowPage *>(entry);
      page->cells.reset();
      page->inCells = page->newestInCells = 0;
      std::fill(std::begin(page->lines), std::end(page->lines), Line());
    }
  sync.reset();
}
