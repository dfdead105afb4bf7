//===- MapExpr.cpp - Scalar expressions of MAP steps ----------------------===//
#include "refops/core/MapExpr.h"

#include "refops/core/Spelling.h"

#include <array>
#include <charconv>
#include <cmath>

using namespace tandem;

namespace {
using Code = MapInstruction::Code;

struct Function {
  std::string_view name;
  Code code;
  int numArguments;
};

constexpr std::array<Function, 12> functions = {{{"exp", Code::Exp, 1},
                                                 {"sqrt", Code::Sqrt, 1},
                                                 {"rsqrt", Code::Rsqrt, 1},
                                                 {"tanh", Code::Tanh, 1},
                                                 {"sigmoid", Code::Sigmoid, 1},
                                                 {"erfc", Code::Erfc, 1},
                                                 {"abs", Code::Abs, 1},
                                                 {"floor", Code::Floor, 1},
                                                 {"relu", Code::Relu, 1},
                                                 {"silu", Code::Silu, 1},
                                                 {"min", Code::Min, 2},
                                                 {"max", Code::Max, 2}}};

/// Recursive descent; after the first error nothing more is read.
class Parser {
public:
  Parser(std::string_view text, size_t numOperands)
      : text(text), used(numOperands) {}

  Result<std::vector<MapInstruction>> parse() {
    if (text.size() > maxMapText)
      return Error("expected at most " + std::to_string(maxMapText) +
                   " characters, got " + std::to_string(text.size()));
    sum();
    skipSpace();
    if (error.empty() && at < text.size())
      fail("expected an operator or the end");
    for (size_t i = 0; error.empty() && i < used.size(); ++i)
      if (!used[i])
        error = "operand '" + nameOf(i) + "' is not used";
    if (!error.empty())
      return Error(error);
    return std::move(code);
  }

private:
  static std::string nameOf(size_t operand) {
    return std::string(1, static_cast<char>('a' + operand));
  }

  void fail(const std::string &what) {
    if (error.empty())
      error = "at " + std::to_string(at) + ": " + what + ", got " +
              (at < text.size() ? quote(std::string(text.substr(at, 12)))
                                : std::string("the end"));
  }

  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' ||
                                text[at] == '\n' || text[at] == '\r'))
      ++at;
  }

  bool take(std::string_view symbol) {
    skipSpace();
    if (!error.empty() || !text.substr(at).starts_with(symbol))
      return false;
    at += symbol.size();
    return true;
  }

  void expect(std::string_view symbol) {
    if (!take(symbol))
      fail("expected '" + std::string(symbol) + "'");
  }

  void emit(MapInstruction instruction) {
    if (code.size() == maxMapInstructions)
      fail("expected at most " + std::to_string(maxMapInstructions) +
           " numbers, operands and operations");
    code.push_back(instruction);
  }
  void emit(Code what) { emit({what, 0, 0}); }

  void sum() {
    product();
    while (error.empty()) {
      if (take("+")) {
        product();
        emit(Code::Add);
      } else if (take("-")) {
        product();
        emit(Code::Subtract);
      } else {
        return;
      }
    }
  }

  void product() {
    unary();
    while (error.empty()) {
      if (take("*")) {
        unary();
        emit(Code::Multiply);
      } else if (take("/")) {
        unary();
        emit(Code::Divide);
      } else {
        return;
      }
    }
  }

  void unary() {
    if (++depth > maxMapDepth)
      fail("expected at most " + std::to_string(maxMapDepth) + " levels");
    if (error.empty()) {
      if (take("-")) {
        unary();
        emit(Code::Negate);
      } else {
        primary();
      }
    }
    --depth;
  }

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  void primary() {
    if (take("(")) {
      sum();
      return expect(")");
    }
    skipSpace();
    if (at < text.size() && (isDigit(text[at]) || text[at] == '.'))
      return number();
    if (at < text.size() && isLetter(text[at]))
      return name();
    fail("expected a number, an operand, a function or '('");
  }

  void number() {
    double value = 0;
    const auto [end, problem] =
        std::from_chars(text.data() + at, text.data() + text.size(), value);
    const float rounded = static_cast<float>(value);
    if (problem != std::errc() || !std::isfinite(rounded))
      return fail("expected a number that float32 holds");
    at = static_cast<size_t>(end - text.data());
    emit({Code::Number, rounded, 0});
  }

  void name() {
    size_t end = at;
    while (end < text.size() && (isLetter(text[end]) || isDigit(text[end])))
      ++end;
    const std::string_view word = text.substr(at, end - at);
    if (word.size() == 1 && word[0] >= 'a' &&
        static_cast<size_t>(word[0] - 'a') < used.size()) {
      at = end;
      used[static_cast<size_t>(word[0] - 'a')] = true;
      return emit({Code::Operand, 0, word[0] - 'a'});
    }
    if (word == "where") {
      at = end;
      return where();
    }
    std::vector<std::string_view> known = {"where"};
    for (const Function &function : functions) {
      known.push_back(function.name);
      if (function.name == word) {
        at = end;
        return call(function);
      }
    }
    const std::string last =
        used.empty() ? "none" : "a to " + nameOf(used.size() - 1);
    if (error.empty())
      error = "at " + std::to_string(at) +
              ": no operand or function is named " + quote(std::string(word)) +
              didYouMean(word, known) + "; the operands are " + last;
  }

  void call(const Function &function) {
    expect("(");
    for (int i = 0; i < function.numArguments && error.empty(); ++i) {
      if (i > 0)
        expect(",");
      sum();
    }
    expect(")");
    emit(function.code);
  }

  void where() {
    static constexpr std::array<std::pair<std::string_view, Code>, 6>
        relations = {{{"<=", Code::LessEqual},
                      {">=", Code::GreaterEqual},
                      {"==", Code::Equal},
                      {"!=", Code::NotEqual},
                      {"<", Code::Less},
                      {">", Code::Greater}}};
    expect("(");
    sum();
    const std::pair<std::string_view, Code> *found = nullptr;
    for (const auto &relation : relations)
      if (!found && take(relation.first))
        found = &relation;
    if (!found)
      return fail("expected a relation");
    sum();
    emit(found->second);
    for (int side = 0; side < 2; ++side) {
      expect(",");
      sum();
    }
    expect(")");
    emit(Code::Where);
  }

  std::string_view text;
  size_t at = 0;
  int depth = 0;
  std::vector<MapInstruction> code;
  std::vector<bool> used;
  std::string error;
};
} // namespace

Result<std::vector<MapInstruction>> tandem::parseMapExpr(std::string_view text,
                                                         size_t numOperands) {
  if (numOperands > maxMapOperands)
    return Error("expected at most " + std::to_string(maxMapOperands) +
                 " operands, got " + std::to_string(numOperands));
  return Parser(text, numOperands).parse();
}
