//===- MapExpr.h - Scalar expressions of MAP steps --------------*- C++ -*-===//
//
// MAP computes each element of its result by an expression over the elements
// of its operands, which are called a, b, c, ... in their order:
//
//   {"op": "MAP", "expr": "a * sigmoid(b) + c", "args": [...], "out": ...}
//
//   expr    := term (('+' | '-') term)*
//   term    := unary (('*' | '/') unary)*
//   unary   := '-' unary | primary
//   primary := NUMBER | NAME | '(' expr ')' | FUNCTION '(' expr, ... ')'
//            | 'where' '(' expr RELATION expr ',' expr ',' expr ')'
//   RELATION := '<' | '<=' | '>' | '>=' | '==' | '!='
//   FUNCTION of one:  exp sqrt rsqrt tanh sigmoid erfc abs floor relu silu
//   FUNCTION of two:  min max
//
// Everything is f32: numbers are rounded to it, and each operation and function
// rounds once (or has the error that the contract names). relu(x) is max(x, 0)
// and silu(x) is x * sigmoid(x). NaN wins in min, max and relu; a relation with
// a NaN is false, but '!=' is true. `where` computes both sides.
//
// Only checks and references read this; kernels have a parser of their own, so
// that one mistake cannot sit on both sides of a comparison.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_MAPEXPR_H
#define TANDEM_REFOPS_CORE_MAPEXPR_H

#include "refops/core/Result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tandem {

/// Limits of an expression.
inline constexpr size_t maxMapText = 4096;
inline constexpr size_t maxMapInstructions = 512;
inline constexpr int maxMapDepth = 64;
/// Operands that have a letter.
inline constexpr size_t maxMapOperands = 26;

/// One instruction of the expression in postfix order.
struct MapInstruction {
  enum class Code : uint8_t {
    Number,
    Operand,
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Where,
    Exp,
    Sqrt,
    Rsqrt,
    Tanh,
    Sigmoid,
    Erfc,
    Abs,
    Floor,
    Relu,
    Silu,
    Min,
    Max
  };
  Code code = Code::Number;
  /// Number: its value, rounded to f32.
  float number = 0;
  /// Operand: which one.
  int operand = 0;
};

/// Parses \p text over \p numOperands operands. Fails naming the position, and
/// an operand that the expression does not use.
Result<std::vector<MapInstruction>> parseMapExpr(std::string_view text,
                                                 size_t numOperands);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_MAPEXPR_H
