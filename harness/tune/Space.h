//===- Space.h - Schedules that tuning may try ------------------*- C++ -*-===//
//
// Parameters as data, one list a family of kernels. What does not fit a device
// is left out before anything is measured: the compiler refuses what makes no
// kernel, and `misfit` what no multiprocessor could hold.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_TUNE_SPACE_H
#define TANDEM_HARNESS_TUNE_SPACE_H

#include "codegen/Compiler.h"

#include <span>

namespace tandem::tune {

/// One parameter of CompileOptions::set, and the values worth trying.
struct Axis {
  std::string_view parameter;
  std::vector<std::string_view> values;
};

/// The axes of a family (ProgramLaunch::family), those that decide most first:
/// every pair of values of the first two is tried. Empty for a family without
/// parameters.
std::span<const Axis> axesOf(std::string_view family);

/// Why no multiprocessor of an sm_90 device can hold a CTA of one of the
/// kernels: shared memory, threads. Empty where all fit.
std::string misfit(const Program &program);

} // namespace tandem::tune

#endif // TANDEM_HARNESS_TUNE_SPACE_H
