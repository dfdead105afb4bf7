//===- License.h - What a contract may say ----------------------*- C++ -*-===//
//
// The bound is computed from what the kernel promises about itself, so the
// harness owns what it may promise: otherwise codegen would excuse its own
// mistakes with a wider bound. A contract outside this list is a failure
// (TESTING, section 2).
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_COMPARE_LICENSE_H
#define TANDEM_HARNESS_COMPARE_LICENSE_H

#include "refops/core/Contract.h"
#include "refops/core/Recipe.h"

namespace tandem::harness {

/// Whether \p name may stand in the `approx` of a step of \p op.
bool isLicensedApprox(Opcode op, std::string_view name);

/// Checks that \p contract covers every step of \p recipe once and promises
/// nothing that is not licensed. Fails with all complaints,
/// `contract.steps[i].depth: ...`.
Result<void> checkLicense(const Contract &contract, const Recipe &recipe);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_COMPARE_LICENSE_H
