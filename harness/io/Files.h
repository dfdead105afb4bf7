//===- Files.h - Whole files, written by rename -----------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_IO_FILES_H
#define TANDEM_HARNESS_IO_FILES_H

#include "refops/core/Result.h"

#include <string>
#include <string_view>

namespace tandem::harness {

/// Reads a whole file; fails with `FILE: cannot be read: REASON`.
Result<std::string> readFile(const std::string &path);

/// Writes a file beside its place and renames it there, so that a reader never
/// sees half of it; creates missing folders. Nothing is left on failure.
Result<void> writeFile(const std::string &path, std::string_view bytes);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_IO_FILES_H
