//===- IntExpr.cpp - Integer expressions in launch records ----------------===//
#include "refops/core/IntExpr.h"

#include "refops/core/Spelling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cctype>
#include <charconv>
#include <limits>

using namespace tandem;

/// Values that evaluation may hold at once. An expression that needs more is
/// refused when parsed, so evaluation has a fixed stack and allocates nothing.
static constexpr size_t maxHeld = 64;
/// Nested parentheses and signs, so that parsing does not exhaust its stack.
static constexpr int maxNesting = 100;

IntExpr::IntExpr(int64_t constant) : source(std::to_string(constant)) {
  postfix.push_back({Node::Kind::Constant, constant});
}

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
    if (++held > maxHeld)
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

namespace {
/// Why an operation has no value; None when it has one.
enum class Trouble : uint8_t { None, DivisionByZero, Overflow, Domain };
} // namespace

static Trouble divideUp(int64_t a, int64_t b, int64_t &result) {
  if (b == 0)
    return Trouble::DivisionByZero;
  if (b == -1)
    return __builtin_sub_overflow(int64_t(0), a, &result) ? Trouble::Overflow
                                                          : Trouble::None;
  result = a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
  return Trouble::None;
}

template <typename Kind>
static Trouble applyBinary(Kind kind, int64_t a, int64_t b, int64_t &result) {
  switch (kind) {
  case Kind::Add:
    return __builtin_add_overflow(a, b, &result) ? Trouble::Overflow
                                                 : Trouble::None;
  case Kind::Sub:
    return __builtin_sub_overflow(a, b, &result) ? Trouble::Overflow
                                                 : Trouble::None;
  case Kind::Mul:
    return __builtin_mul_overflow(a, b, &result) ? Trouble::Overflow
                                                 : Trouble::None;
  case Kind::Div:
  case Kind::Mod:
    if (b == 0)
      return Trouble::DivisionByZero;
    if (b == -1) { // the smallest int64 divided by -1 traps
      if (kind == Kind::Mod) {
        result = 0;
        return Trouble::None;
      }
      return divideUp(a, b, result);
    }
    result = kind == Kind::Div ? a / b : a % b;
    return Trouble::None;
  case Kind::Eq:
    result = a == b;
    return Trouble::None;
  case Kind::Ne:
    result = a != b;
    return Trouble::None;
  case Kind::Le:
    result = a <= b;
    return Trouble::None;
  case Kind::Lt:
    result = a < b;
    return Trouble::None;
  case Kind::Ge:
    result = a >= b;
    return Trouble::None;
  case Kind::Gt:
    result = a > b;
    return Trouble::None;
  case Kind::CeilDiv:
    return divideUp(a, b, result);
  case Kind::Min:
    result = std::min(a, b);
    return Trouble::None;
  case Kind::Max:
    result = std::max(a, b);
    return Trouble::None;
  case Kind::Align: {
    if (b <= 0)
      return b == 0 ? Trouble::DivisionByZero : Trouble::Domain;
    int64_t quotient = 0;
    const Trouble trouble = divideUp(a, b, quotient);
    if (trouble != Trouble::None)
      return trouble;
    return __builtin_mul_overflow(quotient, b, &result) ? Trouble::Overflow
                                                        : Trouble::None;
  }
  default:
    assert(false && "not a binary operation");
    return Trouble::Domain;
  }
}

template <typename Kind>
static Trouble applyUnary(Kind kind, int64_t a, int64_t &result) {
  switch (kind) {
  case Kind::Neg:
    return __builtin_sub_overflow(int64_t(0), a, &result) ? Trouble::Overflow
                                                          : Trouble::None;
  case Kind::Pow2:
    if (a > int64_t(1) << 62)
      return Trouble::Overflow;
    result =
        a <= 1 ? 1
               : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(a)));
    return Trouble::None;
  default:
    assert(kind == Kind::Log2 && "not a unary operation");
    if (a <= 0 || !std::has_single_bit(static_cast<uint64_t>(a)))
      return Trouble::Domain;
    result = std::countr_zero(static_cast<uint64_t>(a));
    return Trouble::None;
  }
}

Result<int64_t> IntExpr::evaluate(const std::vector<int64_t> &values) const {
  assert(values.size() >= names.size() && "one value a symbol");
  std::array<int64_t, maxHeld> stack;
  // Bit i: stack[i] has no value. `0 && x` and `1 || x` have one whatever x is,
  // so that a condition can guard a division.
  uint64_t invalid = 0;
  Trouble first = Trouble::None;
  size_t top = 0;
  const auto isInvalid = [&](size_t slot) { return invalid >> slot & 1; };
  const auto setInvalid = [&](size_t slot, bool value) {
    invalid = (invalid & ~(uint64_t(1) << slot)) | uint64_t(value) << slot;
  };

  for (const Node &node : postfix) {
    using Kind = Node::Kind;
    switch (node.kind) {
    case Kind::Constant:
    case Kind::Symbol:
      stack[top] = node.kind == Kind::Constant
                       ? node.value
                       : values[static_cast<size_t>(node.value)];
      setInvalid(top++, false);
      break;
    case Kind::Neg:
    case Kind::Pow2:
    case Kind::Log2: {
      if (isInvalid(top - 1))
        break;
      const Trouble trouble =
          applyUnary(node.kind, stack[top - 1], stack[top - 1]);
      if (trouble != Trouble::None) {
        setInvalid(top - 1, true);
        first = first == Trouble::None ? trouble : first;
      }
      break;
    }
    case Kind::And:
    case Kind::Or: {
      const bool decides = node.kind == Kind::Or;
      --top;
      const bool left = !isInvalid(top - 1) && (stack[top - 1] != 0) == decides;
      const bool right = !isInvalid(top) && (stack[top] != 0) == decides;
      const bool isUnknown =
          !left && !right && (isInvalid(top - 1) || isInvalid(top));
      stack[top - 1] = left || right ? decides : !decides;
      setInvalid(top - 1, isUnknown);
      break;
    }
    default: {
      --top;
      if (isInvalid(top - 1) || isInvalid(top)) {
        setInvalid(top - 1, true);
        break;
      }
      const Trouble trouble =
          applyBinary(node.kind, stack[top - 1], stack[top], stack[top - 1]);
      if (trouble != Trouble::None) {
        setInvalid(top - 1, true);
        first = first == Trouble::None ? trouble : first;
      }
    }
    }
  }
  assert(top == 1 && "a parsed expression leaves one value");
  if (!isInvalid(0))
    return stack[0];
  const char *why = first == Trouble::DivisionByZero ? "division by zero"
                    : first == Trouble::Overflow
                        ? "the result does not fit 64 bits"
                        : "log2 of no power of two, or align to a negative";
  return Error("expression " + quote(source) + ": " + why);
}

Result<int64_t> IntExpr::evaluate(
    const std::function<Result<int64_t>(const std::string &)> &lookup) const {
  std::vector<int64_t> values;
  values.reserve(names.size());
  for (const std::string &name : names) {
    Result<int64_t> value = lookup(name);
    if (!value)
      return value.error();
    values.push_back(*value);
  }
  return evaluate(values);
}
