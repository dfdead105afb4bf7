//===- Mutant.cpp - The bugs that a tester must find ----------------------===//
#include "harness/mutate/Mutant.h"

#include "harness/mutate/Tables.h"

using namespace tandem;
using namespace tandem::harness;

namespace {
struct Note {
  std::string_view op, name, reason;
};
} // namespace

/// Survivors that are proved equivalent.
static const std::vector<Note> &notes() {
  static const std::vector<Note> all = {};
  return all;
}

std::vector<Mutant> tandem::harness::mutantsOf(const OpInfo &op) {
  std::vector<Mutant> mutants;
  addSemanticMutants(op, mutants);
  addPtxMutants(op, mutants);
  for (Mutant &mutant : mutants)
    for (const Note &note : notes())
      if (note.op == mutant.op && note.name == mutant.name)
        mutant.equivalent = note.reason;
  return mutants;
}
