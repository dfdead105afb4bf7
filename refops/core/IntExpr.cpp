//===- IntExpr.cpp - Integer expressions in launch records ----------------===//
#include "refops/core/IntExpr.h"

#include "refops/core/IntExprLimits.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <limits>

using namespace tandem;

IntExpr::IntExpr(int64_t constant) : source(std::to_string(constant)) {
  postfix.push_back({Node::Kind::Constant, constant});
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
  // Most arguments are a size or a stride, most grids a constant.
  if (postfix.size() == 1)
    return postfix[0].kind == Node::Kind::Symbol ? values[0] : postfix[0].value;
  std::array<int64_t, maxHeldValues> stack;
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
