//===- MapText.cpp - Random expressions for MAP ---------------------------===//
//
// Parentheses are drawn, too: without them a text means another tree, which is
// as good, and both parsers must agree on which. Most square roots and divisors
// are kept away from the values where everything becomes NaN or infinite.
//
//===----------------------------------------------------------------------===//
#include "harness/gen/MapText.h"

#include <iterator>

using namespace tandem::harness;

namespace {
class Writer {
public:
  Writer(Choices &choices, size_t numOperands)
      : choices(choices), numOperands(numOperands) {}

  std::string run() {
    std::string text = over(0, numOperands);
    for (int i = 0; i < 3 && choices.rarely(3); ++i)
      text = join(text, leaf());
    return text;
  }

private:
  static std::string letter(size_t operand) {
    return std::string(1, static_cast<char>('a' + operand));
  }

  std::string number() {
    // Exact ones, rounded ones, and one between two floats.
    static constexpr const char *numbers[] = {
        "1",   "0.5", "2",         "0",    "0.01",     "6",
        "1e3", ".1",  "3.1415927", "7e-5", "16777217", "2.5E+1"};
    return numbers[choices.draw(std::size(numbers))];
  }

  std::string leaf() {
    return choices.rarely(2) ? number() : letter(choices.draw(numOperands));
  }

  std::string maybeClosed(const std::string &text) {
    return choices.rarely(2) ? "(" + text + ")" : text;
  }

  /// A text that uses the operands [first, last).
  std::string over(size_t first, size_t last) {
    std::string text;
    if (last - first == 1) {
      text = letter(first);
    } else {
      const size_t split = last - 1 - choices.draw(last - first - 1);
      text = over(first, split);
      text = join(text, over(split, last));
    }
    for (int i = 0; i < 2 && choices.rarely(3); ++i)
      text = function(text);
    return text;
  }

  std::string function(const std::string &x) {
    switch (choices.pick({4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 2})) {
    case 0:
      return "abs(" + x + ")";
    case 1:
      return "-" + maybeClosed(x);
    case 2:
      return "relu(" + x + ")";
    case 3:
      return "floor(" + x + ")";
    case 4:
      return "sigmoid(" + x + ")";
    case 5:
      return "silu(" + x + ")";
    case 6:
      return "tanh(" + x + ")";
    case 7:
      return "erfc(" + x + ")";
    case 8:
      return "exp(min(" + x + ", 8))";
    case 9:
      return "sqrt(abs(" + x + "))";
    case 10:
      return "rsqrt(abs(" + x + ") + 0.5)";
    case 11:
      return "exp(" + x + ")";
    case 12:
      return "sqrt(" + x + ")";
    case 13:
      return "rsqrt(" + x + ")";
    default: {
      // Two choices, in this order.
      const std::string factor = number();
      return factor + " * " + maybeClosed(x);
    }
    }
  }

  std::string infix(const std::string &x, const char *sign,
                    const std::string &y) {
    const std::string gap = choices.rarely(4) ? "" : " ";
    std::string left = maybeClosed(x);
    return left + gap + sign + gap + maybeClosed(y);
  }

  std::string join(const std::string &x, const std::string &y) {
    static constexpr const char *relations[] = {"<",  "<=", ">",
                                                ">=", "==", "!="};
    switch (choices.pick({5, 5, 4, 3, 2, 2, 3, 1})) {
    case 0:
      return infix(x, "+", y);
    case 1:
      return infix(x, "*", y);
    case 2:
      return infix(x, "-", y);
    case 3:
      return maybeClosed(x) + " / (abs(" + y + ") + 1)";
    case 4:
      return "min(" + x + ", " + y + ")";
    case 5:
      return "max(" + x + ", " + y + ")";
    case 6: {
      // Of operands, which are exact: which side it takes is then certain.
      std::string condition = leaf();
      condition += std::string(" ") +
                   relations[choices.draw(std::size(relations))] + " ";
      condition += leaf();
      return "where(" + condition + ", " + x + ", " + y + ")";
    }
    default:
      return infix(x, "/", y);
    }
  }

  Choices &choices;
  size_t numOperands;
};
} // namespace

std::string tandem::harness::drawMapText(Choices &choices, size_t numOperands) {
  return Writer(choices, numOperands).run();
}
