//===- Hash.h - Content addresses -------------------------------*- C++ -*-===//
//
// A 128-bit FNV-1a hash: what a case or a cached verdict is called. It is an
// address, not a defence: nobody gains from a collision.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_CASE_HASH_H
#define TANDEM_HARNESS_CASE_HASH_H

#include <string>
#include <string_view>

namespace tandem::harness {

/// 32 hex digits.
std::string contentHash(std::string_view bytes);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_CASE_HASH_H
