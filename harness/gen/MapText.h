//===- MapText.h - Random expressions for MAP -------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_GEN_MAPTEXT_H
#define TANDEM_HARNESS_GEN_MAPTEXT_H

#include "harness/case/Choices.h"

#include <string>

namespace tandem::harness {

/// A well-formed expression (refops/core/MapExpr.h) that uses each of the first
/// \p numOperands letters. The simplest one is their sum: `a`, `a + b`.
std::string drawMapText(Choices &choices, size_t numOperands);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_GEN_MAPTEXT_H
