//===- NamedDims.h - Sizes of dims that have a meaning ----------*- C++ -*-===//
#ifndef TANDEM_HARNESS_GEN_NAMEDDIMS_H
#define TANDEM_HARNESS_GEN_NAMEDDIMS_H

#include "harness/case/Choices.h"
#include "refops/core/OpInfo.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tandem::harness {

/// The order in which an op's dims are drawn, where one depends on another
/// (heads on the heads that they share, groups on K); others come as they
/// stand.
std::vector<std::string> drawingOrder(Opcode op,
                                      std::vector<std::string> names);

/// A size for dim \p name of \p op where any number would not do: head dims,
/// head counts, cache lengths, quantisation groups. Absent for plain dims.
/// \p sizes holds the dims drawn so far; \p room limits the product.
std::optional<int64_t> drawNamedDim(Choices &choices, Opcode op,
                                    const std::string &name,
                                    const std::map<std::string, int64_t> &sizes,
                                    int64_t room);

/// Whether the dim must be a number of the recipe: others are computed from it.
bool isComputedFrom(const OpInfo &op, const std::string &name);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_GEN_NAMEDDIMS_H
