//===- TunedSchedules.h - Schedules that were measured ----------*- C++ -*-===//
//
// `tandem tune` measures schedules and keeps those that beat the compiler's own
// rules as records of a database in JSON:
//
//   {"records": [{"key": "9c1e...", "target": "sm_90a", "device": "NVIDIA
//   H200",
//                 "recipe": {...}, "dims": {"M": 8192, ...},
//                 "set": {"group": "16"}, "us": 301.2, "rules_us": 309.9}]}
//
// A record counts for every call whose key is equal: the same recipe but for
// names, the same target, and sizes of the same class. The compiler comes with
// codegen/tune/tuned.json; $TANDEM_TUNED names another database that goes
// before it, or is `off`.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_TUNEDSCHEDULES_H
#define TANDEM_CODEGEN_TUNEDSCHEDULES_H

#include "refops/core/Recipe.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct TunedSchedule {
  std::string key, target, device;
  Recipe recipe;
  DimBindings dims;
  /// CompileOptions::set.
  std::map<std::string, std::string> set;
  /// Microseconds of a launch with `set`, and with the rules' choice.
  double us = 0, rulesUs = 0;
};

/// What a record is found by: a hash of target, recipe without names, and the
/// class of each size, its number of bits. Where all kernels are row-wise, only
/// sizes of last dims count: a row's bits must not depend on how many rows
/// there are. Empty where schedules may not be tuned: an op says `invariant`.
std::string tunedKey(const Recipe &recipe, const DimBindings &dims,
                     std::string_view target);

/// The parameters of the record for a call, or nothing. Fails when
/// $TANDEM_TUNED names a file that is no database, with its place.
Result<std::optional<std::map<std::string, std::string>>>
tunedParameters(const Recipe &recipe, const DimBindings &dims,
                std::string_view target);

/// Reads a database; fails with all errors, each with its place. \p file is
/// only used in messages.
Result<std::vector<TunedSchedule>> readTuned(std::string_view text,
                                             std::string_view file);
std::string writeTuned(const std::vector<TunedSchedule> &records);

/// The text of the database that the compiler comes with.
std::string_view shippedTuned();

} // namespace tandem

#endif // TANDEM_CODEGEN_TUNEDSCHEDULES_H
