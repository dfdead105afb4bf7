//===- Operands.cpp - Operands of an instruction --------------------------===//
#include "codegen/device/emulator/ptx/ParserState.h"

using namespace tandem;
using namespace tandem::emulator;

std::vector<emulator::Operand> Parser::list(char close) {
  std::vector<emulator::Operand> parts;
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

emulator::Operand Parser::operand() {
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

void Parser::primary(Operand &result) {
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
  // In initialisers: global memory's own address is the generic one.
  if (result.name == "generic" && accept('(')) {
    result = operand();
    expect(')');
    return;
  }
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
