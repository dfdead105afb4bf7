//===- IntExprLimits.h - Limits of integer expressions ----------*- C++ -*-===//
#ifndef TANDEM_REFOPS_CORE_INTEXPRLIMITS_H
#define TANDEM_REFOPS_CORE_INTEXPRLIMITS_H

#include <cstddef>

namespace tandem {

/// Values that evaluation may hold at once. An expression that needs more is
/// refused when parsed, so evaluation has a fixed stack and allocates nothing.
inline constexpr size_t maxHeldValues = 64;

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_INTEXPRLIMITS_H
