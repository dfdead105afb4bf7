//===- ParserState.h - The recursive descent of the parser ------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_PARSERSTATE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_PARSERSTATE_H

#include "codegen/device/emulator/ptx/Lexer.h"
#include "codegen/device/emulator/ptx/Parser.h"

#include <optional>

namespace tandem::emulator {

/// The first failure is kept in `failure` and stops all.
class Parser {
public:
  Parser(std::vector<Token> tokens, std::string_view place)
      : tokens(std::move(tokens)), place(place) {}
  Result<Module> run();

private:
  const Token &peek(size_t ahead = 0) const {
    size_t i = pos + ahead;
    return i < tokens.size() ? tokens[i] : tokens.back();
  }
  const Token &next() {
    const Token &token = peek();
    if (pos + 1 < tokens.size())
      ++pos;
    return token;
  }
  bool accept(char c) {
    if (!peek().is(c))
      return false;
    next();
    return true;
  }
  bool acceptDot(std::string_view text) {
    if (peek().kind != Token::Kind::Dot || peek().text != text)
      return false;
    next();
    return true;
  }
  static std::string shown(const Token &token) {
    return token.kind == Token::Kind::End ? "the end"
                                          : "'" + std::string(token.text) + "'";
  }
  void fail(int line, const std::string &message) {
    if (!failure)
      failure = errorAt(place, line, message);
  }
  void expect(char c) {
    if (!accept(c))
      fail(peek().line,
           std::string("expected '") + c + "', found " + shown(peek()));
  }
  std::string word(const char *what) {
    if (peek().kind != Token::Kind::Word) {
      fail(peek().line,
           std::string("expected ") + what + ", found " + shown(peek()));
      return {};
    }
    return std::string(next().text);
  }
  uint64_t integer(const char *what) {
    if (peek().kind != Token::Kind::Integer) {
      fail(peek().line,
           std::string("expected ") + what + ", found " + shown(peek()));
      return 0;
    }
    return next().bits;
  }
  void skipLine();
  /// Skips to the matching brace of the one at the cursor.
  void skipBraces();
  void topLevel();
  void skipPast(char c) {
    while (peek().kind != Token::Kind::End && !peek().is(c))
      next();
    expect(c);
  }
  void declaration();
  static bool isSpace(std::string_view text) {
    return text == ".shared" || text == ".global" || text == ".const" ||
           text == ".local" || text == ".param";
  }
  /// `.space .align N .type name[n] = {...}, ...;`
  void variables(std::vector<Variable> &into, bool isExtern);
  /// Space, alignment and type, in any order that PTX allows.
  void attributes(Variable &variable);
  void declarator(Variable &variable);
  void initializer(Variable &variable);
  void entry();
  void function(bool isExtern);
  /// `(.param .b32 a, .param .b64 b)`, if there is one.
  std::vector<Variable> parameters();
  void body(Entry &into);
  /// `.reqntid 128, 1, 1` and its kind.
  void performance(Entry &kernel);
  /// Statements up to the closing brace.
  void block(int scope);
  void statement(int scope);
  void label(int scope);
  void directive(int scope);
  void instruction(int scope);
  std::vector<Operand> list(char close);
  Operand operand();
  void primary(Operand &result);

  std::vector<Token> tokens;
  std::string_view place;
  size_t pos = 0;
  Module module;
  Entry *current = nullptr;
  int sourceFile = 0;
  int sourceLine = 0;
  int depth = 0;
  std::optional<Error> failure;
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_PARSERSTATE_H
