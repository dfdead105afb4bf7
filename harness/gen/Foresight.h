//===- Foresight.h - What a case would prove --------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_GEN_FORESIGHT_H
#define TANDEM_HARNESS_GEN_FORESIGHT_H

#include "harness/case/CaseSpec.h"
#include "harness/compare/Census.h"

namespace tandem::harness {

/// What right outputs of \p spec are full of, as far as the case does not
/// declare it (CaseSpec::expect): the reference runs in plain double. None for
/// a case too large to try, and for one that the reference refuses: the run
/// will tell.
Vacuity foresee(const CaseSpec &spec);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_GEN_FORESIGHT_H
