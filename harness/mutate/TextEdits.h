//===- TextEdits.h - Edits of kernel text by pattern ------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_MUTATE_TEXTEDITS_H
#define TANDEM_HARNESS_MUTATE_TEXTEDITS_H

#include "harness/mutate/Plant.h"

namespace tandem::harness {

enum class Where : uint8_t { First, Last, All };

/// Replaces matches of \p pattern (ECMAScript, one line at a time) by
/// \p replacement, which may name groups as `$1`. A replacement may hold line
/// breaks.
TextEdit replaceLines(std::string pattern, std::string replacement,
                      Where where = Where::All);

/// The edits one after the other.
TextEdit inSequence(std::vector<TextEdit> edits);

/// The name that is defined on the first line that matches \p pattern, which
/// has one group for it; empty if there is none.
std::string nameOn(const std::string &text, const std::string &pattern);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_MUTATE_TEXTEDITS_H
