//===- CacheControl.h - The limit of the disk cache, and its owner -*- C++
//-*-===//
#ifndef TANDEM_CODEGEN_CACHECONTROL_H
#define TANDEM_CODEGEN_CACHECONTROL_H

#include "refops/core/Result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

/// Keeps a limit in the cache's directory, for all processes to come, and
/// removes the least recently used kernels beyond it. TANDEM_CACHE_LIMIT wins
/// over it.
Result<void> setCacheLimit(uint64_t bytes);

/// `100000`, `512M`, `2G` (units of 1024) in bytes.
Result<uint64_t> parseCacheSize(std::string_view text);

/// Why a limit that somebody set is not the one in force; empty if it is.
std::string cacheLimitProblem();

/// Identifies this build of the compiler; equal contents, equal id.
const std::string &buildId();

} // namespace tandem

#endif // TANDEM_CODEGEN_CACHECONTROL_H
