//===- IntExprTest.cpp - Integer expressions in launch records ------------===//
#include "refops/core/IntExpr.h"

#include <doctest/doctest.h>

#include <limits>

using namespace tandem;

namespace {
int64_t valueOf(const char *text, std::vector<int64_t> values = {}) {
  const Result<IntExpr> expr = IntExpr::parse(text);
  REQUIRE_MESSAGE(bool(expr), expr.error().text());
  const Result<int64_t> value = expr->evaluate(values);
  REQUIRE_MESSAGE(bool(value), value.error().text());
  return *value;
}

std::string troubleOf(const char *text, std::vector<int64_t> values = {}) {
  const Result<IntExpr> expr = IntExpr::parse(text);
  if (!expr)
    return expr.error().text();
  const Result<int64_t> value = expr->evaluate(values);
  return value ? std::to_string(*value) : value.error().text();
}
constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
} // namespace

TEST_SUITE("integer expressions") {
  TEST_CASE("precedence and associativity are those of C") {
    CHECK(valueOf("2 + 3 * 4 - 6 / 2") == 11);
    CHECK(valueOf("20 - 5 - 5") == 10);
    CHECK(valueOf("100 / 10 / 2 * 3 % 7") == 1);
    CHECK(valueOf("(2 + 3) * 4") == 20);
    CHECK(valueOf("1 + 1 == 2 && 3 < 2 || 1") == 1);
    CHECK(valueOf("0 || 2 && 3") == 1);
    CHECK(valueOf("- 3 + 5") == 2);
    CHECK(valueOf("--3") == 3);
    CHECK(valueOf("2 - -3") == 5);
    CHECK(valueOf("4 * -(1 + 1)") == -8);
  }

  TEST_CASE("division truncates and ceildiv rounds up, on either side of 0") {
    CHECK(valueOf("-7 / 2") == -3);
    CHECK(valueOf("-7 % 2") == -1);
    CHECK(valueOf("ceildiv(7, 2)") == 4);
    CHECK(valueOf("ceildiv(8, 2)") == 4);
    CHECK(valueOf("ceildiv(-7, 2)") == -3);
    CHECK(valueOf("ceildiv(7, -2)") == -3);
    CHECK(valueOf("ceildiv(-7, -2)") == 4);
    CHECK(valueOf("ceildiv(0, 5)") == 0);
  }

  TEST_CASE("functions have their documented values") {
    CHECK(valueOf("min(3, -4)") == -4);
    CHECK(valueOf("max(3, -4)") == 3);
    CHECK(valueOf("align(13, 8)") == 16);
    CHECK(valueOf("align(16, 8)") == 16);
    CHECK(valueOf("pow2(0)") == 1);
    CHECK(valueOf("pow2(33)") == 64);
    CHECK(valueOf("pow2(64)") == 64);
    CHECK(valueOf("log2(64)") == 6);
    CHECK(valueOf("log2(pow2(min(1000, 700)))") == 10);
  }

  TEST_CASE("comparisons give 0 or 1") {
    CHECK(valueOf("3 != 3") == 0);
    CHECK(valueOf("3 == 3") == 1);
    CHECK(valueOf("3 >= 4") == 0);
    CHECK(valueOf("3 <= 3") == 1);
    CHECK(valueOf("4 > 3") == 1);
    CHECK(valueOf("4 < 3") == 0);
    CHECK(valueOf("5 && -2") == 1);
  }

  TEST_CASE("symbols are listed in order of first use and read by index") {
    const Result<IntExpr> expr =
        IntExpr::parse("ceildiv(x.shape[0], n) * x.align + n + x.shape[0]");
    REQUIRE(bool(expr));
    CHECK(expr->symbols() ==
          std::vector<std::string>{"x.shape[0]", "n", "x.align"});
    CHECK(*expr->evaluate(std::vector<int64_t>{10, 4, 100}) == 314);
    const Result<int64_t> looked =
        expr->evaluate([](const std::string &name) -> Result<int64_t> {
          return name == "n" ? 4 : name == "x.align" ? 100 : 10;
        });
    CHECK(*looked == 314);
    const Result<int64_t> missing =
        expr->evaluate([](const std::string &name) -> Result<int64_t> {
          return Error("no " + name);
        });
    CHECK(missing.error().text() == "no x.shape[0]");
  }

  TEST_CASE("a condition can guard a division") {
    CHECK(valueOf("n == 0 || 12 % n == 0", {0}) == 1);
    CHECK(valueOf("12 % n == 0 || n == 0", {0}) == 1);
    CHECK(valueOf("n != 0 && 12 / n > 3", {0}) == 0);
    CHECK(troubleOf("n == 0 && 12 / n > 3", {0}) ==
          "expression 'n == 0 && 12 / n > 3': division by zero");
  }

  TEST_CASE("what has no 64-bit value is an error that names the expression") {
    CHECK(troubleOf("1 / (2 - 2)") ==
          "expression '1 / (2 - 2)': division by zero");
    CHECK(troubleOf("1 % n", {0}) == "expression '1 % n': division by zero");
    CHECK(troubleOf("ceildiv(1, n)", {0}) ==
          "expression 'ceildiv(1, n)': division by zero");
    for (const char *text :
         {"n * 2", "n - 1", "-n", "n / -1", "ceildiv(n, -1)", "n + n"})
      CHECK(troubleOf(text, {lowest}) == "expression '" + std::string(text) +
                                             "': the result does not fit 64 "
                                             "bits");
    CHECK(troubleOf("pow2(4611686018427387905)") ==
          "expression 'pow2(4611686018427387905)': the result does not fit 64 "
          "bits");
    CHECK(troubleOf("align(9223372036854775807, 8)") ==
          "expression 'align(9223372036854775807, 8)': the result does not fit "
          "64 bits");
    CHECK(troubleOf("log2(6)") == "expression 'log2(6)': log2 of no power of "
                                  "two, or align to a negative");
    CHECK(troubleOf("log2(0)").ends_with("align to a negative"));
    CHECK(troubleOf("align(4, -8)").ends_with("align to a negative"));
    CHECK(valueOf("n % -1", {lowest}) == 0);
  }

  TEST_CASE("constants of all signs are their own text") {
    CHECK(IntExpr().text() == "0");
    for (int64_t value : {int64_t(-5), int64_t(0), int64_t(7), lowest}) {
      const IntExpr constant(value);
      CHECK(*constant.evaluate(std::vector<int64_t>{}) == value);
      CHECK(valueOf(constant.text().c_str()) == value);
    }
    CHECK(*IntExpr::parse("1 + 2") == *IntExpr::parse("1 + 2"));
    CHECK(!(*IntExpr::parse("1+2") == *IntExpr::parse("1 + 2")));
  }

  TEST_CASE("parsing fails with the column of what fits no rule") {
    CHECK(troubleOf("") == "expression '': column 1: expected a value, got the "
                           "end");
    CHECK(troubleOf("1 +") == "expression '1 +': column 4: expected a value, "
                              "got the end");
    CHECK(troubleOf("1 + * 2") == "expression '1 + * 2': column 5: expected a "
                                  "value, got '*'");
    CHECK(troubleOf("1 2") == "expression '1 2': column 3: expected an "
                              "operator, got '2'");
    CHECK(troubleOf("1 < 2 < 3") == "expression '1 < 2 < 3': column 7: "
                                    "expected an operator, got '<'");
    CHECK(troubleOf("(1") == "expression '(1': column 3: expected ')', got the "
                             "end");
    CHECK(troubleOf("min(1)") == "expression 'min(1)': column 6: expected ',', "
                                 "got ')'");
    CHECK(troubleOf("mun(1, 2)") == "expression 'mun(1, 2)': column 1: no "
                                    "function is named 'mun'");
    CHECK(troubleOf("x.") == "expression 'x.': column 3: expected a name after "
                             "'.'");
    CHECK(troubleOf("x.shape[]") == "expression 'x.shape[]': column 9: "
                                    "expected an index");
    CHECK(troubleOf("x.shape[0") == "expression 'x.shape[0': column 10: "
                                    "expected ']'");
    CHECK(troubleOf("9223372036854775808") ==
          "expression '9223372036854775808': column 1: the integer does not "
          "fit 64 bits");
  }

  TEST_CASE("expressions that need much stack are refused") {
    const std::string open(100000, '('), minus(100000, '-');
    CHECK(troubleOf(open.c_str()).ends_with("the expression is too deep"));
    CHECK(troubleOf((minus + "x").c_str())
              .ends_with("the expression is too deep"));
    std::string right = "1";
    for (int i = 0; i < 80; ++i)
      right = "1+(" + right + ")";
    CHECK(troubleOf(right.c_str()).ends_with("the expression is too deep"));
    std::string left = "1";
    for (int i = 0; i < 1000; ++i)
      left += "+1";
    CHECK(valueOf(left.c_str()) == 1001);
  }
}
