//===- IntExprParser.cpp - Integer expressions from text ------------------===//
#include "refops/core/IntExpr.h"
#include "refops/core/IntExprLimits.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

using namespace tandem;

/// Nested parentheses and signs, so that parsing does not exhaust its stack.
static constexpr int maxNesting = 100;

namespace tandem {
class IntExprParser {
public:
  using Kind = IntExpr::Node::Kind;

  explicit IntExprParser(std::string_view text) : text(text) {
    expr.source = std::string(text);
    expr.postfix.clear();
  }

  Result<IntExpr> parse() {
    if (!parseOr())
      return failure();
    skipSpace();
    if (at < text.size()) {
      fail("expected an operator, got '" + std::string(1, text[at]) + "'");
      return failure();
    }
    return std::move(expr);
  }

private:
  Error failure() const {
    return Error("expression " + quote(text) + ": column " +
                 std::to_string(errorAt + 1) + ": " + message);
  }

  bool failAt(size_t place, std::string what) {
    if (message.empty()) {
      message = std::move(what);
      errorAt = place;
    }
    return false;
  }
  bool fail(std::string what) { return failAt(at, std::move(what)); }

  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
      ++at;
  }

  bool accept(std::string_view token) {
    skipSpace();
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }

  bool push(Kind kind, int64_t value = 0) {
    expr.postfix.push_back({kind, value});
    if (++held > maxHeldValues)
      return fail("the expression is too deep");
    return true;
  }
  bool binary(Kind kind) {
    expr.postfix.push_back({kind, 0});
    --held;
    return true;
  }
  bool unary(Kind kind) {
    expr.postfix.push_back({kind, 0});
    return true;
  }

  bool parseOr() {
    if (!parseAnd())
      return false;
    while (accept("||"))
      if (!parseAnd() || !binary(Kind::Or))
        return false;
    return true;
  }

  bool parseAnd() {
    if (!parseComparison())
      return false;
    while (accept("&&"))
      if (!parseComparison() || !binary(Kind::And))
        return false;
    return true;
  }

  bool parseComparison() {
    static constexpr std::array<std::pair<std::string_view, Kind>, 6> tokens = {
        {{"==", Kind::Eq},
         {"!=", Kind::Ne},
         {"<=", Kind::Le},
         {">=", Kind::Ge},
         {"<", Kind::Lt},
         {">", Kind::Gt}}};
    if (!parseSum())
      return false;
    for (const auto &[token, kind] : tokens)
      if (accept(token))
        return parseSum() && binary(kind);
    return true;
  }

  bool parseSum() {
    if (!parseTerm())
      return false;
    while (true) {
      const Kind kind = accept("+") ? Kind::Add : Kind::Sub;
      if (kind == Kind::Sub && !accept("-"))
        return true;
      if (!parseTerm() || !binary(kind))
        return false;
    }
  }

  bool parseTerm() {
    if (!parseUnary())
      return false;
    while (true) {
      Kind kind;
      if (accept("*"))
        kind = Kind::Mul;
      else if (accept("/"))
        kind = Kind::Div;
      else if (accept("%"))
        kind = Kind::Mod;
      else
        return true;
      if (!parseUnary() || !binary(kind))
        return false;
    }
  }

  bool parseUnary() {
    if (++nesting > maxNesting)
      return fail("the expression is too deep");
    const bool parsed = parseSigned();
    --nesting;
    return parsed;
  }

  bool parseSigned() {
    if (!accept("-"))
      return parseAtom();
    skipSpace();
    if (at < text.size() && isDigit(text[at])) // the smallest int64 has no
      return parseInteger(true);               // positive counterpart
    return parseUnary() && unary(Kind::Neg);
  }

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isNameStart(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  }

  bool parseInteger(bool isNegative) {
    const size_t start = at;
    while (at < text.size() && isDigit(text[at]))
      ++at;
    const std::string digits =
        (isNegative ? "-" : "") + std::string(text.substr(start, at - start));
    int64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value)
            .ec != std::errc())
      return failAt(start, "the integer does not fit 64 bits");
    return push(Kind::Constant, value);
  }

  std::string_view scanName() {
    const size_t start = at;
    if (at < text.size() && isNameStart(text[at]))
      while (at < text.size() && (isNameStart(text[at]) || isDigit(text[at])))
        ++at;
    return text.substr(start, at - start);
  }

  bool parseAtom() {
    skipSpace();
    if (at == text.size())
      return fail("expected a value, got the end");
    if (isDigit(text[at]))
      return parseInteger(false);
    if (accept("("))
      return parseOr() && expectToken(")");
    if (isNameStart(text[at]))
      return parseNamed();
    return fail("expected a value, got '" + std::string(1, text[at]) + "'");
  }

  bool expectToken(std::string_view token) {
    if (accept(token))
      return true;
    return fail("expected '" + std::string(token) + "', got " +
                (at < text.size() ? "'" + std::string(1, text[at]) + "'"
                                  : std::string("the end")));
  }

  bool parseNamed() {
    const size_t start = at;
    const std::string_view name = scanName();
    const size_t end = at;
    if (accept("("))
      return parseCall(name, start);
    at = end; // a symbol has no spaces in it, or after it
    if (at < text.size() && text[at] == '.') {
      ++at;
      if (scanName().empty())
        return fail("expected a name after '.'");
      if (at < text.size() && text[at] == '[') {
        const size_t digits = ++at;
        while (at < text.size() && isDigit(text[at]))
          ++at;
        if (at == digits)
          return fail("expected an index");
        if (at == text.size() || text[at] != ']')
          return fail("expected ']'");
        ++at;
      }
    }
    const std::string symbol(text.substr(start, at - start));
    const auto found = std::find(expr.names.begin(), expr.names.end(), symbol);
    const int64_t index = found - expr.names.begin();
    if (found == expr.names.end())
      expr.names.push_back(symbol);
    return push(Kind::Symbol, index);
  }

  bool parseCall(std::string_view name, size_t start) {
    struct Function {
      std::string_view name;
      Kind kind;
      int arity;
    };
    static constexpr std::array<Function, 6> functions = {
        {{"ceildiv", Kind::CeilDiv, 2},
         {"min", Kind::Min, 2},
         {"max", Kind::Max, 2},
         {"align", Kind::Align, 2},
         {"pow2", Kind::Pow2, 1},
         {"log2", Kind::Log2, 1}}};
    const auto function =
        std::find_if(functions.begin(), functions.end(),
                     [&](const Function &f) { return f.name == name; });
    if (function == functions.end())
      return failAt(start, "no function is named " + quote(name));
    for (int i = 0; i < function->arity; ++i)
      if ((i > 0 && !expectToken(",")) || !parseOr())
        return false;
    if (!expectToken(")"))
      return false;
    return function->arity == 2 ? binary(function->kind)
                                : unary(function->kind);
  }

  std::string_view text;
  IntExpr expr;
  size_t at = 0;
  size_t held = 0;
  int nesting = 0;
  std::string message;
  size_t errorAt = 0;
};
} // namespace tandem

Result<IntExpr> IntExpr::parse(std::string_view text) {
  return IntExprParser(text).parse();
}
