//===- Parser.cpp - PTX text to a module ----------------------------------===//
#include "codegen/device/emulator/ptx/Parser.h"

#include "codegen/device/emulator/ptx/Lexer.h"

#include <optional>

using namespace tandem;
using namespace tandem::emulator;

std::string Instruction::text() const {
  std::string joined = opcode;
  for (const std::string &modifier : modifiers)
    joined += modifier;
  return joined;
}

namespace {
/// Recursive descent; the first failure is kept in `failure` and stops all.
class Parser {
public:
  Parser(std::vector<Token> tokens, std::string_view place)
      : tokens(std::move(tokens)), place(place) {}

  Result<Module> run() {
    while (!failure && peek().kind != Token::Kind::End)
      topLevel();
    if (failure)
      return *failure;
    if (module.version.empty())
      return errorAt(place, 1, "no .version directive");
    return std::move(module);
  }

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
  void skipLine() {
    int line = peek().line;
    while (peek().kind != Token::Kind::End && peek().line == line)
      next();
  }
  /// Skips to the matching brace of the one at the cursor.
  void skipBraces() {
    int depth = 0;
    do {
      if (peek().kind == Token::Kind::End) {
        fail(peek().line, "expected '}', found the end");
        return;
      }
      depth += peek().is('{') ? 1 : peek().is('}') ? -1 : 0;
      next();
    } while (depth > 0);
  }

  void topLevel() {
    const Token &token = peek();
    if (token.kind != Token::Kind::Dot) {
      fail(token.line, "expected a directive, found " + shown(token));
      return;
    }
    if (acceptDot(".version")) {
      module.version = std::string(next().text);
    } else if (acceptDot(".target")) {
      module.target = word("a target");
      while (accept(','))
        word("a target option");
    } else if (acceptDot(".address_size")) {
      module.addressSize = static_cast<int>(integer("32 or 64"));
      if (module.addressSize != 64)
        fail(token.line, "address size is " +
                             std::to_string(module.addressSize) +
                             ", only 64 is supported");
    } else if (acceptDot(".file")) {
      int index = static_cast<int>(integer("a file number"));
      if (peek().kind == Token::Kind::String)
        module.files[index] = std::string(next().text);
      while (accept(','))
        next();
    } else if (acceptDot(".section")) {
      next();
      skipBraces();
    } else if (acceptDot(".pragma")) {
      skipPast(';');
    } else if (token.text == ".loc") {
      skipLine();
    } else {
      declaration();
    }
  }

  void skipPast(char c) {
    while (peek().kind != Token::Kind::End && !peek().is(c))
      next();
    expect(c);
  }

  void declaration() {
    int line = peek().line;
    bool isExtern = false;
    while (peek().kind == Token::Kind::Dot) {
      std::string_view text = peek().text;
      if (text == ".extern") {
        isExtern = true;
        next();
      } else if (text == ".visible" || text == ".weak" || text == ".common") {
        next();
      } else {
        break;
      }
    }
    if (acceptDot(".entry")) {
      entry();
    } else if (acceptDot(".func")) {
      while (!failure && !peek().is('{') && !peek().is(';'))
        if (next().kind == Token::Kind::End)
          fail(line, ".func has no body");
      if (!accept(';'))
        skipBraces();
    } else if (acceptDot(".alias")) {
      skipPast(';');
    } else {
      variables(module.variables, isExtern);
    }
  }

  static bool isSpace(std::string_view text) {
    return text == ".shared" || text == ".global" || text == ".const" ||
           text == ".local" || text == ".param";
  }

  /// `.space .align N .type name[n] = {...}, ...;`
  void variables(std::vector<Variable> &into, bool isExtern) {
    Variable base;
    base.line = peek().line;
    base.isExtern = isExtern;
    attributes(base);
    do {
      Variable variable = base;
      declarator(variable);
      into.push_back(std::move(variable));
    } while (!failure && accept(','));
    expect(';');
  }

  /// Space, alignment and type, in any order that PTX allows.
  void attributes(Variable &variable) {
    while (peek().kind == Token::Kind::Dot) {
      std::string text(next().text);
      if (size_t cluster = text.find("::");
          cluster != std::string::npos && text.starts_with(".shared"))
        text.resize(cluster);
      if (isSpace(text)) {
        variable.space = text;
      } else if (text == ".align") {
        variable.align = integer("an alignment");
        if (!variable.align || (variable.align & (variable.align - 1)))
          fail(variable.line, "alignment " + std::to_string(variable.align) +
                                  " is not a power of two");
      } else if (text == ".ptr") {
        // Facts about a pointer parameter: nothing to check at this level.
      } else if (text == ".attribute") {
        expect('(');
        skipPast(')');
      } else if (text == ".v2" || text == ".v4") {
        fail(variable.line, "variables of vector type are not supported");
      } else if (variable.type.empty()) {
        variable.type = text;
      } else if (!(text == ".global" || text == ".const")) {
        fail(variable.line, "directive '" + text + "' is not supported");
      }
    }
    if (variable.space.empty() || variable.type.empty())
      fail(variable.line,
           variable.type.empty()
               ? "expected a type, found " + shown(peek())
               : "directive '" + variable.type + "' is not supported here");
  }

  void declarator(Variable &variable) {
    variable.name = word("a name");
    while (accept('[')) {
      variable.isArray = true;
      if (accept(']')) {
        variable.count = 0;
        continue;
      }
      uint64_t size = integer("an array size");
      if (size > (uint64_t(1) << 40) || variable.count * size > (1ull << 40))
        fail(variable.line, "array '" + variable.name + "' is too large");
      variable.count *= size;
      expect(']');
    }
    if (accept('=')) {
      initializer(variable);
      if (variable.isArray && variable.count == 0)
        variable.count = variable.init.size();
    }
  }

  void initializer(Variable &variable) {
    if (!accept('{')) {
      variable.init.push_back(operand());
      return;
    }
    if (accept('}'))
      return;
    do
      initializer(variable);
    while (!failure && accept(','));
    expect('}');
  }

  void entry() {
    Entry kernel;
    kernel.line = peek().line;
    kernel.name = word("a kernel name");
    if (accept('(') && !accept(')')) {
      do {
        Variable param;
        param.line = peek().line;
        attributes(param);
        // `.ptr .global .align 16` comes after the type; a bare `.ptr .align`
        // means generic. The space of a parameter is always .param.
        param.space = ".param";
        declarator(param);
        kernel.params.push_back(std::move(param));
      } while (!failure && accept(','));
      expect(')');
    }
    while (!failure && peek().kind == Token::Kind::Dot)
      performance(kernel);
    if (accept(';'))
      return; // a declaration
    kernel.scopes.emplace_back();
    expect('{');
    current = &kernel;
    sourceFile = sourceLine = 0;
    block(0);
    current = nullptr;
    module.entries.push_back(std::move(kernel));
  }

  /// `.reqntid 128, 1, 1` and its kind.
  void performance(Entry &kernel) {
    std::string name(next().text);
    std::vector<int> values;
    while (peek().kind == Token::Kind::Integer) {
      values.push_back(static_cast<int>(next().bits));
      accept(',');
    }
    if (name == ".reqntid")
      kernel.reqntid = values;
    else if (name == ".maxntid")
      kernel.maxntid = values;
    else if (name == ".pragma")
      skipPast(';');
  }

  /// Statements up to the closing brace.
  void block(int scope) {
    while (!failure && !accept('}')) {
      if (peek().kind == Token::Kind::End) {
        fail(peek().line, "expected '}', found the end");
        return;
      }
      statement(scope);
    }
  }

  void statement(int scope) {
    const Token &token = peek();
    if (token.is('{')) {
      next();
      int inner = static_cast<int>(current->scopes.size());
      if (inner > 10000) {
        fail(token.line, "more than 10000 nested scopes");
        return;
      }
      current->scopes.push_back({scope, {}});
      if (++depth > 200)
        fail(token.line, "scopes are nested more than 200 deep");
      else
        block(inner);
      --depth;
    } else if (token.kind == Token::Kind::Dot) {
      directive(scope);
    } else if (token.kind == Token::Kind::Word && peek(1).is(':')) {
      label();
    } else if (accept(';')) {
      // an empty statement
    } else {
      instruction(scope);
    }
  }

  void label() {
    int line = peek().line;
    std::string name = word("a label");
    expect(':');
    if (acceptDot(".branchtargets")) {
      std::vector<std::string> targets;
      do
        targets.push_back(word("a label"));
      while (!failure && accept(','));
      expect(';');
      current->branchTables[name] = std::move(targets);
      return;
    }
    if (peek().kind == Token::Kind::Dot &&
        (peek().text == ".callprototype" || peek().text == ".calltargets")) {
      skipPast(';');
      return;
    }
    if (!current->labels.emplace(name, current->body.size()).second)
      fail(line, "label '" + name + "' is defined twice");
  }

  void directive(int scope) {
    const Token &token = peek();
    if (acceptDot(".loc")) {
      if (peek().line == token.line && peek().kind == Token::Kind::Integer) {
        sourceFile = static_cast<int>(next().bits);
        if (peek().kind == Token::Kind::Integer)
          sourceLine = static_cast<int>(peek().bits);
      }
      while (peek().kind != Token::Kind::End && peek().line == token.line)
        next();
    } else if (acceptDot(".reg")) {
      RegisterDecl base;
      base.line = token.line;
      if (peek().kind != Token::Kind::Dot)
        fail(token.line, "expected a type, found " + shown(peek()));
      base.type = std::string(next().text);
      if (peek().kind == Token::Kind::Dot)
        fail(token.line, "registers of vector type are not supported");
      do {
        RegisterDecl decl = base;
        decl.name = word("a register name");
        if (accept('<')) {
          uint64_t count = integer("a count");
          if (count > 1000000)
            fail(token.line, "more than 1000000 registers");
          decl.count = static_cast<int>(count);
          expect('>');
        }
        current->scopes[static_cast<size_t>(scope)].registers.push_back(
            std::move(decl));
      } while (!failure && accept(','));
      expect(';');
    } else if (acceptDot(".pragma")) {
      skipPast(';');
    } else if (token.text == ".shared" || token.text == ".local" ||
               token.text == ".global" || token.text == ".const" ||
               token.text == ".param" || token.text == ".extern" ||
               token.text == ".shared::cta") {
      bool isExtern = acceptDot(".extern");
      variables(current->variables, isExtern);
    } else {
      fail(token.line,
           "directive '" + std::string(token.text) + "' is not supported here");
    }
  }

  void instruction(int scope) {
    Instruction inst;
    inst.line = peek().line;
    inst.scope = scope;
    inst.sourceFile = sourceFile;
    inst.sourceLine = sourceLine;
    if (accept('@')) {
      inst.guardNegated = accept('!');
      inst.guard = word("a predicate");
      inst.line = peek().line;
    }
    inst.opcode = word("an instruction");
    while (peek().kind == Token::Kind::Dot && peek().adjacent)
      inst.modifiers.push_back(std::string(next().text));
    if (!failure && !peek().is(';')) {
      do {
        // Calls write `(results), name, (arguments)`: kept as vectors so that
        // the decoder can refuse them by name.
        inst.operands.push_back(operand());
        if (accept('|')) {
          inst.pairAt = static_cast<int>(inst.operands.size());
          inst.operands.push_back(operand());
        }
      } while (!failure && accept(','));
    }
    expect(';');
    current->body.push_back(std::move(inst));
  }

  std::vector<Operand> list(char close) {
    std::vector<Operand> parts;
    if (accept(close))
      return parts;
    if (++depth > 200)
      fail(peek().line, "operands are nested more than 200 deep");
    do
      parts.push_back(operand());
    while (!failure && accept(','));
    --depth;
    expect(close);
    return parts;
  }

  Operand operand() {
    Operand result;
    const Token &token = peek();
    if (failure)
      return result;
    if (accept('{')) {
      result.kind = Operand::Kind::Vector;
      result.parts = list('}');
    } else if (accept('(')) {
      result.kind = Operand::Kind::Vector;
      result.parts = list(')');
    } else if (accept('[')) {
      result.kind = Operand::Kind::Address;
      result.parts = list(']');
      if (result.parts.empty())
        fail(token.line, "an address needs a base");
      else
        std::swap(result.offset, result.parts[0].offset);
    } else if (accept('!')) {
      result = operand();
      result.negated = true;
    } else if (accept('-')) {
      result = operand();
      if (result.kind == Operand::Kind::Integer)
        result.bits = uint64_t(0) - result.bits;
      else if (result.kind == Operand::Kind::Float32)
        result.bits ^= uint64_t(1) << 31;
      else if (result.kind == Operand::Kind::Float64)
        result.bits ^= uint64_t(1) << 63;
      else
        fail(token.line, "'-' needs a number");
    } else {
      primary(result);
    }
    return result;
  }

  void primary(Operand &result) {
    const Token &token = next();
    switch (token.kind) {
    case Token::Kind::Integer:
      result.kind = Operand::Kind::Integer;
      result.bits = token.bits;
      return;
    case Token::Kind::Float32:
      result.kind = Operand::Kind::Float32;
      result.bits = token.bits;
      return;
    case Token::Kind::Float64:
      result.kind = Operand::Kind::Float64;
      result.bits = token.bits;
      return;
    case Token::Kind::Word:
      break;
    default:
      fail(token.line, "expected an operand, found " + shown(token));
      return;
    }
    result.name = std::string(token.text);
    if (result.name == "_")
      return; // the sink
    if (peek().kind == Token::Kind::Dot && peek().adjacent)
      result.name += next().text; // %tid.x
    // Registers may lack the percent sign; the decoder looks them up first.
    result.kind =
        result.name[0] == '%' ? Operand::Kind::Register : Operand::Kind::Symbol;
    while (peek().is('+') || peek().is('-')) {
      bool minus = next().is('-');
      if (accept('-'))
        minus = !minus;
      auto value = static_cast<int64_t>(integer("an offset"));
      result.offset += minus ? -value : value;
    }
  }

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
} // namespace

Result<Module> emulator::parseModule(std::string_view text,
                                     std::string_view place) {
  Result<std::vector<Token>> tokens = tokenize(text, place);
  if (!tokens)
    return tokens.error();
  return Parser(tokens.take(), place).run();
}
