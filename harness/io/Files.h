//===- Files.h - Whole files, written by rename -----------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_IO_FILES_H
#define TANDEM_HARNESS_IO_FILES_H

#include "refops/core/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::harness {

/// What nothing but tensors exceeds: recipes, launch records, PTX, cases.
inline constexpr uint64_t maxTextBytes = uint64_t(64) << 20;
inline constexpr uint64_t maxTensorFileBytes = uint64_t(1) << 40;
/// From a pipe or a device, which may never end.
inline constexpr uint64_t maxStreamBytes = uint64_t(1) << 30;

/// Reads a whole file; fails with `FILE: cannot be read: REASON`, and when it
/// has more than \p limit bytes.
Result<std::string> readFile(const std::string &path,
                             uint64_t limit = maxTextBytes);

struct FileContents {
  std::string path;
  std::string_view bytes;
};

/// Writes files beside their places and renames them there when all are whole,
/// so that a reader never sees half of one, and a failure leaves what was
/// there. Creates missing folders, writes through symbolic links, keeps the
/// mode of a file that it replaces, and writes pipes and devices in place.
/// Fails if two have one place.
Result<void> writeFiles(const std::vector<FileContents> &files);
Result<void> writeFile(const std::string &path, std::string_view bytes);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_IO_FILES_H
