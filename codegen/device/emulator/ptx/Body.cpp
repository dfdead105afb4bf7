//===- Body.cpp - Statements of a kernel or function ----------------------===//
#include "codegen/device/emulator/ptx/ParserState.h"

using namespace tandem;
using namespace tandem::emulator;

void Parser::block(int scope) {
  while (!failure && !accept('}')) {
    if (peek().kind == Token::Kind::End) {
      fail(peek().line, "expected '}', found the end");
      return;
    }
    statement(scope);
  }
}

void Parser::statement(int scope) {
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
    label(scope);
  } else if (accept(';')) {
    // an empty statement
  } else {
    instruction(scope);
  }
}

void Parser::label(int scope) {
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
  if (acceptDot(".callprototype")) {
    Prototype prototype;
    prototype.results = parameters();
    word("'_'");
    prototype.params = parameters();
    skipPast(';');
    current->prototypes[name] = std::move(prototype);
    return;
  }
  if (peek().kind == Token::Kind::Dot && peek().text == ".calltargets") {
    skipPast(';');
    return;
  }
  if (!current->labels.try_emplace({scope, name}, current->body.size()).second)
    fail(line, "label '" + name + "' is defined twice");
}

void Parser::directive(int scope) {
  const Token &token = peek();
  if (acceptDot(".loc")) {
    if (peek().line == token.line && peek().kind == Token::Kind::Integer) {
      sourceFile = static_cast<int>(next().bits);
      if (peek().kind == Token::Kind::Integer)
        sourceLine = static_cast<int>(peek().bits);
    }
    // Code of an inlined function counts as its call.
    while (peek().kind != Token::Kind::End && peek().line == token.line)
      if (next().text == "inlined_at" && peek().kind == Token::Kind::Integer &&
          peek(1).kind == Token::Kind::Integer) {
        sourceFile = static_cast<int>(peek().bits);
        sourceLine = static_cast<int>(peek(1).bits);
      }
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
    size_t first = current->variables.size();
    variables(current->variables, isExtern);
    for (; first < current->variables.size(); ++first)
      current->variables[first].scope = scope;
  } else {
    fail(token.line,
         "directive '" + std::string(token.text) + "' is not supported here");
  }
}

void Parser::instruction(int scope) {
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
