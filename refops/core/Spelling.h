//===- Spelling.h - "did you mean" ------------------------------*- C++ -*-===//
#ifndef TANDEM_REFOPS_CORE_SPELLING_H
#define TANDEM_REFOPS_CORE_SPELLING_H

#include <span>
#include <string>
#include <string_view>

namespace tandem {

/// The candidate nearest to \p word by edit distance, ignoring case: at most a
/// third of the word's length away (1 for short words), the first among equals.
/// Empty when none is near.
std::string_view nearestSpelling(std::string_view word,
                                 std::span<const std::string_view> candidates);

/// `; did you mean 'eps'?`, or nothing when none is near.
std::string didYouMean(std::string_view word,
                       std::span<const std::string_view> candidates);

/// The user's own text in quotes: control characters escaped, and cut after 60
/// bytes, so that one message stays one readable line.
std::string quote(std::string_view text);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_SPELLING_H
