//===- Verdict.cpp - What became of a case --------------------------------===//
#include "harness/compare/Verdict.h"

#include <algorithm>

using namespace tandem::harness;

std::string_view tandem::harness::verdictName(Verdict verdict) {
  static constexpr std::string_view names[numVerdicts] = {
      "PASSED", "FAILED", "MISTRUSTED", "UNCHECKED", "SKIPPED"};
  return names[static_cast<size_t>(verdict)];
}

std::string FailureClass::text() const {
  std::string joined;
  for (const std::string &op : ops)
    joined += (joined.empty() ? "" : "+") + op;
  return stage + " " + kind + " in " + joined;
}

bool tandem::harness::isSameBug(const FailureClass &original,
                                const FailureClass &smaller) {
  return original.stage == smaller.stage && original.kind == smaller.kind &&
         std::includes(original.ops.begin(), original.ops.end(),
                       smaller.ops.begin(), smaller.ops.end());
}
