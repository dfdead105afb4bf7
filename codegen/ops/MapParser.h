//===- MapParser.h - The kernels' reading of MAP's expressions --*- C++ -*-===//
//
// The grammar is in refops/core/MapExpr.h; the parser is not the one there, so
// that one mistake cannot sit in kernel and reference alike. Texts come from
// recipes that are checked, so this one has no messages.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_OPS_MAPPARSER_H
#define TANDEM_CODEGEN_OPS_MAPPARSER_H

#include <cstddef>
#include <string_view>
#include <vector>

namespace tandem::codegen {

/// A number, an operand, or an operator or function of earlier nodes.
struct MapNode {
  enum class Kind { Number, Operand, Call } kind = Kind::Number;
  float number = 0;
  size_t operand = 0;
  /// As in the text; a minus sign in front is `neg`, and `where` has the
  /// relation as its first argument.
  std::string_view name;
  std::vector<size_t> args;
};

/// The nodes of \p text, arguments before their users and the expression itself
/// last. They point into \p text. Empty when it is malformed.
std::vector<MapNode> parseMapText(std::string_view text);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_MAPPARSER_H
