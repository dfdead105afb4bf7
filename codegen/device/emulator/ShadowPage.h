//===- ShadowPage.h - Written bytes and accesses of 4 KiB -------*- C++ -*-===//
//
//   init      one bit a byte: has it been written?
//   lines     last write and two unordered reads of each 64 bytes, while whole
//             warps access them, consecutive lanes consecutive elements: the
//             record says which lane is first and how many bytes each has
//   cells     the same a granule, for lines that anything else has accessed
//
// So the usual access of a warp to 128 bytes touches two records. A granule is
// as large as the first access, at most 16 bytes, until someone accesses less:
// then the page's cells are split.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_SHADOWPAGE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_SHADOWPAGE_H

#include "codegen/device/emulator/Shadow.h"

namespace tandem::emulator {

inline constexpr unsigned lineBytes = 64;
inline constexpr unsigned linesPerPage = pageBytes / lineBytes;

/// Accesses of one page at one granularity.
struct RaceCells {
  explicit RaceCells(unsigned shift);
  unsigned shift; // log2 of the granule's bytes
  std::unique_ptr<AccessId[]> write, readA, readB;
  std::unique_ptr<uint32_t[]> writeAt, readAt; // instruction index
  /// The same accesses in finer granules.
  std::unique_ptr<RaceCells> split(unsigned finer) const;
};

/// One access of consecutive lanes to a line. \p id is of the first lane, each
/// lane has 2^shift bytes.
struct LineRecord {
  AccessId id = 0;
  uint32_t at = 0; // instruction index
  uint32_t shift = 0;
};
struct Line {
  LineRecord write, readA, readB;
};

struct ShadowPage {
  uint64_t init[pageBytes / 64] = {};
  Line lines[linesPerPage];
  /// Lines whose accesses are in `cells`, and the newest stamp there: when all
  /// of them are of earlier launches, the lines begin anew.
  uint64_t inCells = 0;
  uint64_t newestInCells = 0;
  std::unique_ptr<RaceCells> cells;
  /// Taken only while CTAs run in parallel.
  std::atomic_flag busy;
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_SHADOWPAGE_H
