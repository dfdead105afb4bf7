//===- CallReader.h - What the operands of an emulated call are -*- C++ -*-===//
//
// The member "call" of the launch file of `tandem emulate`:
//
//   "call": { "x": {"shape": [4, 64], "file": "x.npy"},
//             "y": {"shape": [4, 64]} }
//
// An operand takes "strides", and "file", or "values" (a kind of
// harness/gen/Values.h) and "seed"; an output is poison when it says neither.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_TOOLS_CALLREADER_H
#define TANDEM_HARNESS_TOOLS_CALLREADER_H

#include "refops/core/LaunchRecord.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace tandem::tools {

struct CallOperand {
  TensorDesc desc;
  /// Row-major; nothing when the operand starts as poison.
  std::optional<std::vector<std::byte>> elements;
};

/// The operands of \p record in order. Fails naming \p file and the member.
Result<std::vector<CallOperand>> readCall(const LaunchRecord &record,
                                          const nlohmann::json &call,
                                          const std::string &file);

} // namespace tandem::tools

#endif // TANDEM_HARNESS_TOOLS_CALLREADER_H
