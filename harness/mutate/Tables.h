//===- Tables.h - The tables of mutants by stage ----------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_MUTATE_TABLES_H
#define TANDEM_HARNESS_MUTATE_TABLES_H

#include "harness/mutate/Mutant.h"

namespace tandem::harness {

/// Appends the mutants of \p op.
void addPtxMutants(const OpInfo &op, std::vector<Mutant> &mutants);
void addSemanticMutants(const OpInfo &op, std::vector<Mutant> &mutants);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_MUTATE_TABLES_H
