//===- Spelling.cpp - "did you mean" --------------------------------------===//
#include "refops/core/Spelling.h"

#include <algorithm>
#include <cctype>
#include <vector>

using namespace tandem;

static char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Edits (insert, delete, replace, swap of neighbours) that turn a into b.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool equal = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1,
                         above[j - 1] + (equal ? size_t(0) : size_t(1))});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string_view
tandem::nearestSpelling(std::string_view word,
                        std::span<const std::string_view> candidates) {
  // Names have at most 20 characters; a longer word is near none, and its
  // table would cost time without bound.
  if (word.empty() || word.size() > 40)
    return {};
  std::string_view nearest;
  size_t best = std::max<size_t>(1, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    const size_t distance = editDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string tandem::didYouMean(std::string_view word,
                               std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearestSpelling(word, candidates);
  if (nearest.empty())
    return {};
  return "; did you mean '" + std::string(nearest) + "'?";
}

std::string tandem::quote(std::string_view text) {
  constexpr size_t longest = 60;
  std::string result = "'";
  for (char c : text.substr(0, longest)) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      constexpr char digits[] = "0123456789abcdef";
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    } else {
      result += c;
    }
  }
  return result + (text.size() > longest ? "...'" : "'");
}
