//===- BuildIdentity.h - Which build of the compiler this is ----*- C++ -*-===//
#ifndef TANDEM_CODEGEN_CACHE_BUILDIDENTITY_H
#define TANDEM_CODEGEN_CACHE_BUILDIDENTITY_H

#include <string>

namespace tandem::codegen {

/// The build id (a hash of the contents, by the linker) of the file that holds
/// the compiler: `libtandem.so`, or a test that links it in. So every program
/// over one library shares its cache, a copy or a reinstallation of it keeps
/// the cache, and another build never meets its entries. Costs no file access;
/// a file without a build id is read and hashed once.
const std::string &buildIdentity();

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_CACHE_BUILDIDENTITY_H
