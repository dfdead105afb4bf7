//===- Rules.h - What a signature cannot say --------------------*- C++ -*-===//
//
// The few facts about ops that generators need beyond their signatures. An op
// that is not mentioned gets the plain treatment.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_GEN_RULES_H
#define TANDEM_HARNESS_GEN_RULES_H

#include "harness/case/Choices.h"
#include "refops/core/Recipe.h"

#include <map>
#include <string>

namespace tandem::harness {

/// Ops that `fuzz` exercises: defined, and neither NOP nor FUSED.
bool isFuzzable(const OpInfo &op);

/// Whether the op refuses empty dims (`*` for all of them, else one name).
bool refusesEmpty(Opcode op, std::string_view dim);

/// Whether the values of operand \p index meet in a sum or a maximum.
bool isReduced(Opcode op, size_t index);
/// Whether arg \p index is a zero-point: integers by SEMANTICS ("Weight-only
/// quantisation"), in floats.
bool isZeroPoint(Opcode op, size_t index);

/// How many multiply-adds or elements the product of an op's dims may reach
/// for a budget of \p elements: a matrix product reuses its operands.
int64_t workLimit(Opcode op, int64_t elements);

/// Draws params. \p sizes holds the op's named dims; \p rank is the first
/// operand's. \p isAlone: the step is the whole recipe, so that a partial write
/// of its output can be observed.
Params drawParams(Choices &choices, const OpInfo &op,
                  const std::map<std::string, int64_t> &sizes, size_t rank,
                  bool isAlone);

/// Draws schedule parameters for the kernels of \p recipe: none (the minimum)
/// or one. The compiler may refuse what its families cannot do.
std::map<std::string, std::string> drawSchedule(Choices &choices,
                                                const Recipe &recipe);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_GEN_RULES_H
