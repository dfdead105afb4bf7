//===- Parser.cpp - Directives and declarations of a module ---------------===//
#include "codegen/device/emulator/ptx/ParserState.h"

using namespace tandem;
using namespace tandem::emulator;

int Module::functionNamed(const std::string &name) const {
  auto alias = aliases.find(name);
  const std::string &wanted = alias == aliases.end() ? name : alias->second;
  int found = -1;
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == wanted && (found < 0 || !functions[i].isDeclared))
      found = static_cast<int>(i);
  return found;
}

std::string Instruction::text() const {
  std::string joined = opcode;
  for (const std::string &modifier : modifiers)
    joined += modifier;
  return joined;
}

Result<Module> Parser::run() {
  while (!failure && peek().kind != Token::Kind::End)
    topLevel();
  if (failure)
    return *failure;
  if (module.version.empty())
    return errorAt(place, 1, "no .version directive");
  return std::move(module);
}

void Parser::skipLine() {
  int line = peek().line;
  while (peek().kind != Token::Kind::End && peek().line == line)
    next();
}

void Parser::skipBraces() {
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

void Parser::topLevel() {
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
      fail(token.line, "address size is " + std::to_string(module.addressSize) +
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

void Parser::declaration() {
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
    function(isExtern);
  } else if (acceptDot(".alias")) {
    std::string name = word("a function");
    expect(',');
    module.aliases[name] = word("a function");
    expect(';');
  } else {
    variables(module.variables, isExtern);
  }
}

void Parser::variables(std::vector<Variable> &into, bool isExtern) {
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

void Parser::attributes(Variable &variable) {
  while (peek().kind == Token::Kind::Dot) {
    std::string text(next().text);
    if (size_t cluster = text.find("::");
        cluster != std::string::npos && text.starts_with(".shared"))
      text.resize(cluster);
    if (isSpace(text) || text == ".reg") {
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

void Parser::declarator(Variable &variable) {
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

void Parser::initializer(Variable &variable) {
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

std::vector<Variable> Parser::parameters() {
  std::vector<Variable> params;
  if (!accept('(') || accept(')'))
    return params;
  do {
    Variable param;
    param.line = peek().line;
    attributes(param);
    // `.ptr .global .align 16` comes after the type; a bare `.ptr .align`
    // means generic. The space of a parameter is always .param.
    if (param.space != ".reg")
      param.space = ".param";
    declarator(param);
    params.push_back(std::move(param));
  } while (!failure && accept(','));
  expect(')');
  return params;
}

void Parser::body(Entry &into) {
  into.scopes.emplace_back();
  expect('{');
  current = &into;
  sourceFile = sourceLine = 0;
  block(0);
  current = nullptr;
}

void Parser::entry() {
  Entry kernel;
  kernel.line = peek().line;
  kernel.name = word("a kernel name");
  kernel.params = parameters();
  while (!failure && peek().kind == Token::Kind::Dot)
    performance(kernel);
  if (accept(';'))
    return; // a declaration
  body(kernel);
  module.entries.push_back(std::move(kernel));
}

void Parser::function(bool isExtern) {
  Entry made;
  made.line = peek().line;
  if (peek().kind == Token::Kind::Dot && peek().text == ".attribute") {
    next();
    skipPast(')');
  }
  made.results = parameters();
  made.name = word("a function name");
  made.params = parameters();
  while (!failure && peek().kind == Token::Kind::Dot)
    performance(made);
  made.isDeclared = isExtern || peek().is(';');
  if (made.isDeclared)
    expect(';');
  else
    body(made);
  module.functions.push_back(std::move(made));
}

void Parser::performance(Entry &kernel) {
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
  else if (name == ".reqnctapercluster")
    kernel.reqCluster = values;
  else if (name == ".maxnreg" && !values.empty())
    kernel.maxRegisters = values[0];
  else if (name == ".minnctapersm" && !values.empty())
    kernel.minCtas = values[0];
  else if (name == ".pragma")
    skipPast(';');
}

Result<Module> emulator::parseModule(std::string_view text,
                                     std::string_view place) {
  Result<std::vector<Token>> tokens = tokenize(text, place);
  if (!tokens)
    return tokens.error();
  return Parser(tokens.take(), place).run();
}
