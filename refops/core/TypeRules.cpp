//===- TypeRules.cpp - Limits that every tensor type obeys ----------------===//
#include "refops/core/TypeRules.h"

#include <cctype>

using namespace tandem;

std::string tandem::problemOfShape(const TensorType &type) {
  if (type.shape.size() > maxRank)
    return "rank " + std::to_string(type.shape.size()) +
           " is above the limit of " + std::to_string(maxRank);
  __int128 elements = 1;
  bool isEmpty = false;
  for (const Dim &dim : type.shape) {
    if (dim.isSymbol())
      continue;
    if (dim.size() < 0)
      return "dim " + dim.text() + " is negative";
    if (dim.size() > maxDim)
      return "dim " + dim.text() + " is above the limit of 2^62";
    isEmpty |= dim.size() == 0;
    if (elements <= maxDim)
      elements *= dim.size() ? dim.size() : 1;
  }
  if (!isEmpty && elements > maxDim)
    return "it has more than 2^62 elements";
  return {};
}

bool tandem::isIdentifier(std::string_view text) {
  if (text.empty() || text.size() > 64)
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (!std::isalpha(c) && c != '_' && (i == 0 || !std::isdigit(c)))
      return false;
  }
  return true;
}
