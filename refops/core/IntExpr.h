//===- IntExpr.h - Integer expressions in launch records --------*- C++ -*-===//
//
// Grids, kernel arguments, reduction depths and preconditions are functions of
// shapes and strides. They are kept as text, `ceildiv(x.shape[0], 4)`, so that
// a launch record is plain data, and parsed once to a postfix program.
//
//   expr := or ; or := and ('||' and)* ; and := cmp ('&&' cmp)*
//   cmp  := sum (('=='|'!='|'<='|'<'|'>='|'>') sum)?
//   sum  := term (('+'|'-') term)* ; term := unary (('*'|'/'|'%') unary)*
//   unary := '-' unary | atom
//   atom := INTEGER | SYMBOL | NAME '(' expr (',' expr)* ')' | '(' expr ')'
//   SYMBOL := NAME ('.' NAME ('[' INTEGER ']')?)?
//
// Arithmetic is 64-bit; '/' and '%' floor towards zero; functions are ceildiv,
// min, max, align (round up to a multiple), pow2 (round up to a power of two)
// and log2 (of such a power). Comparisons give 0 or 1.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_INTEXPR_H
#define TANDEM_REFOPS_CORE_INTEXPR_H

#include "refops/core/Result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

class IntExpr {
public:
  /// The constant 0.
  IntExpr() : IntExpr(0) {}
  IntExpr(int64_t constant);

  /// Fails with the column of the first character that fits no rule.
  static Result<IntExpr> parse(std::string_view text);

  /// The text it was parsed from.
  const std::string &text() const { return source; }
  /// The symbols it reads, in order of first use.
  const std::vector<std::string> &symbols() const { return names; }

  /// Evaluates with \p values[i] for symbols()[i]. Fails on division by zero
  /// and on 64-bit overflow, naming the expression.
  Result<int64_t> evaluate(const std::vector<int64_t> &values) const;
  /// Evaluates with a lookup; fails if \p lookup gives nothing for a symbol.
  Result<int64_t> evaluate(
      const std::function<Result<int64_t>(const std::string &)> &lookup) const;

  bool operator==(const IntExpr &other) const { return source == other.source; }

private:
  struct Node {
    enum class Kind : uint8_t {
      Constant,
      Symbol,
      Add,
      Sub,
      Mul,
      Div,
      Mod,
      Neg,
      Eq,
      Ne,
      Le,
      Lt,
      Ge,
      Gt,
      And,
      Or,
      CeilDiv,
      Min,
      Max,
      Align,
      Pow2,
      Log2
    };
    Kind kind;
    int64_t value = 0; // constant, or index of the symbol
  };
  friend class IntExprParser;
  std::string source;
  std::vector<std::string> names;
  std::vector<Node> postfix;
};

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_INTEXPR_H
