//===- Decoder.cpp - A parsed kernel to a program -------------------------===//
#include "codegen/device/emulator/DecoderState.h"
#include "codegen/device/emulator/Registers.h"
#include "codegen/device/emulator/ptx/Lexer.h"

using namespace tandem;
using namespace tandem::emulator;

using OperandKind = emulator::Operand::Kind;

Result<Program> Decoder::run() {
  result.kernel = entry.name;
  result.reqntid = entry.reqntid;
  result.maxntid = entry.maxntid;
  result.reqCluster = entry.reqCluster;
  layoutVariables();
  size_t n = entry.body.size();
  result.code.resize(n + 1);
  result.uses.resize(n + 1);
  for (size_t i = 0; i < n && errors.messages.size() < maxErrors; ++i)
    one(i);
  // Falling off the end is a return.
  result.code[n].flow = Flow::Exit;
  result.code[n].line = n ? entry.body[n - 1].line : entry.line;
  if (!errors.messages.empty())
    return errors;
  result.arenaBytes = (arenaBytes + 63) & ~63u;
  findUndefinedReads(result);
  return std::move(result);
}

void Decoder::fail(const std::string &message) {
  if (failedLine == line)
    return;
  failedLine = line;
  errors.messages.push_back(errorAt(place, line, message).messages[0]);
}

void Decoder::one(size_t i) {
  ast = &entry.body[i];
  inst = &result.code[i];
  use = &result.uses[i];
  line = ast->line;
  inst->line = line;
  if (!ast->guard.empty()) {
    emulator::Operand guard;
    guard.kind = OperandKind::Register;
    guard.name = ast->guard;
    inst->guard = readOperand(guard, Type::Pred, nullptr);
    inst->guardNegated = ast->guardNegated;
    use->reads.clear();
  }
  Match match;
  const Row *row = findRow(*ast, match);
  if (!row) {
    fail(cat("instruction '", ast->text(), "' is not supported"));
    return;
  }
  row->build(*this, match);
}

uint32_t Decoder::label(const std::string &name) {
  auto found = entry.labels.find(name);
  if (found == entry.labels.end()) {
    fail(cat("label '", name, "' is not defined"));
    return 0;
  }
  return static_cast<uint32_t>(found->second);
}

const std::vector<std::string> *Decoder::branchTable(const std::string &name) {
  auto found = entry.branchTables.find(name);
  return found == entry.branchTables.end() ? nullptr : &found->second;
}

Result<Program> emulator::decode(const Module &module, const Entry &entry,
                                 const std::vector<ModuleVariable> &globals,
                                 std::string_view place) {
  return Decoder(module, entry, globals, place).run();
}
