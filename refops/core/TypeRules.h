//===- TypeRules.h - Limits that every tensor type obeys --------*- C++ -*-===//
#ifndef TANDEM_REFOPS_CORE_TYPERULES_H
#define TANDEM_REFOPS_CORE_TYPERULES_H

#include "refops/core/Signature.h"
#include "refops/core/Tensor.h"

#include <string>

namespace tandem {

/// Largest dim, and most elements of a tensor: products with an element size
/// or a stride class stay inside 64 bits.
inline constexpr int64_t maxDim = int64_t(1) << 62;

/// What is wrong with the shape of \p type (rank over 8, a negative or too
/// large dim, too many elements), or nothing.
std::string problemOfShape(const TensorType &type);

/// What no tensor of a call can be, whatever the recipe says: a shape as above,
/// a negative stride, or more elements than 64-bit addresses reach; or nothing.
/// Ask before TensorDesc::extent, which does not look for overflow.
std::string problemOfView(const TensorDesc &desc);

/// Whether \p text may name a dim, an input or an output: a letter or `_`, then
/// letters, digits and `_`, at most 64.
bool isIdentifier(std::string_view text);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_TYPERULES_H
