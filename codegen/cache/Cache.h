//===- Cache.h - Compiled kernels on disk -----------------------*- C++ -*-===//
//
// One file an entry in $TANDEM_CACHE_DIR (default: ~/.cache/tandem), named by
// the hash of its key; the first line is the hash of the rest. Files are
// written under another name and renamed, so that any number of processes may
// read and write at once; a file that does not match its hash is ignored and
// replaced. $TANDEM_CACHE_LIMIT is the limit (`512M`), else what the file
// `limit` in the directory says (`tandem cache limit 512M` writes it), else 512
// MiB; beyond it the entries that were not used for longest go. No cache
// directory, or a full disk, means that nothing is cached, never an error.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_CACHE_CACHE_H
#define TANDEM_CODEGEN_CACHE_CACHE_H

#include <optional>
#include <string>
#include <string_view>

namespace tandem::codegen {

/// The hash that names an entry: the key text and the identity of this build of
/// the compiler.
std::string cacheKey(std::string_view keyText);

/// The body stored under \p key, if there is one and it is whole.
std::optional<std::string> cacheRead(const std::string &key);
void cacheWrite(const std::string &key, std::string_view body);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_CACHE_CACHE_H
