//===- Decoder.cpp - A parsed kernel to a program -------------------------===//
#include "codegen/device/emulator/DecoderState.h"
#include "codegen/device/emulator/Registers.h"
#include "codegen/device/emulator/async/Wgmma.h"
#include "codegen/device/emulator/ptx/Lexer.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

using OperandKind = emulator::Operand::Kind;

Result<Program> Decoder::run() {
  result.kernel = kernel.name;
  result.reqntid = kernel.reqntid;
  result.maxntid = kernel.maxntid;
  result.reqCluster = kernel.reqCluster;
  result.maxRegisters = kernel.maxRegisters;
  result.minCtas = kernel.minCtas;
  result.files = module.files;
  for (auto &[index, name] : result.files)
    name = name.substr(name.find_last_of('/') + 1);
  entry = &kernel;
  findFunctions();
  layoutVariables();
  if (errors.messages.empty())
    layoutStack();
  result.functions.resize(order.size() + 1);
  for (size_t i = 0; i < order.size() && errors.messages.empty(); ++i)
    result.functionAt[functionAddress(
        module, module.functions[static_cast<size_t>(order[i])].name)] =
        static_cast<uint32_t>(i);
  for (size_t i = 0; i < order.size() && errors.messages.empty(); ++i)
    decodeFunction(module.functions[static_cast<size_t>(order[i])],
                   result.functions[i]);
  decodeFunction(kernel, result.functions.back());
  result.begin = result.functions.back().begin;
  if (!errors.messages.empty())
    return errors;
  result.arenaBytes = (arenaBytes + 63) & ~63u;
  findUndefinedReads(result);
  watchRegisters(result);
  return std::move(result);
}

void Decoder::decodeFunction(const Entry &of, Function &into) {
  entry = &of;
  function = &into;
  into.name = of.name;
  into.begin = static_cast<uint32_t>(result.code.size());
  registers.clear();
  ahead = lookAhead(of);
  predicatesLeft = 0;
  codeAt.clear();
  size_t n = of.body.size();
  for (size_t i = 0; i < n && errors.messages.size() < maxErrors; ++i)
    one(i);
  // Falling off the end is a return.
  codeAt.push_back(static_cast<uint32_t>(result.code.size()));
  Inst last;
  last.flow = inFunction() ? Flow::Return : Flow::Exit;
  last.line = n ? of.body[n - 1].line : of.line;
  result.code.push_back(last);
  result.uses.emplace_back();
  result.sources.emplace_back(0, 0);
  if (!errors.messages.empty())
    return;
  // Labels are known as places in the body until here.
  for (size_t i = into.begin; i < result.code.size(); ++i) {
    Inst &branch = result.code[i];
    if (branch.flow == Flow::Branch)
      branch.target = codeAt[branch.target];
    if (branch.flow == Flow::BranchTable)
      for (uint32_t k = 0; k < branch.target; ++k)
        result.slots[branch.list + k] = codeAt[result.slots[branch.list + k]];
  }
  for (const auto &[key, info] : registers)
    into.registers.emplace_back(info.slot,
                                static_cast<uint8_t>(typeSize(info.type)));
}

void Decoder::fail(const std::string &message) {
  if (failedLine == line)
    return;
  failedLine = line;
  errors.messages.push_back(errorAt(fileName, line, message).messages[0]);
}

void Decoder::one(size_t i) {
  ast = &entry->body[i];
  building = Inst();
  buildingUse = InstUse();
  inst = &building;
  use = &buildingUse;
  line = ast->line;
  inst->line = line;
  codeAt.push_back(static_cast<uint32_t>(result.code.size()));
  if (!ast->guard.empty()) {
    emulator::Operand guard;
    guard.kind = OperandKind::Register;
    guard.name = ast->guard;
    inst->guard = readOperand(guard, Type::Pred, nullptr);
    inst->guardNegated = ast->guardNegated;
    use->reads.clear();
  }
  if (int product = ahead.contracts[i]; product >= 0 && contract)
    buildFused(entry->body[static_cast<size_t>(product)], *ast);
  else
    build();
  if (ahead.wraps[i] != Wrap::No && building.run)
    insertBefore(wrapCheck(*ast, building, ahead.wraps[i]));
  result.code.push_back(building);
  result.uses.push_back(std::move(buildingUse));
  result.sources.emplace_back(ast->sourceFile, ast->sourceLine);
}

void Decoder::build() {
  Match match;
  const Row *row = findRow(*ast, match);
  if (row)
    row->build(*this, match);
  else
    fail(cat("instruction '", ast->text(), "' is not supported"));
}

void Decoder::insertBefore(const Inst &before) {
  result.code.push_back(before);
  result.uses.emplace_back();
  if (before.d != noSlot)
    result.uses.back().writes.push_back(before.d);
  result.sources.emplace_back(ast->sourceFile, ast->sourceLine);
}

Slot Decoder::negated(Slot slot, unsigned size) {
  Inst flip;
  flip.line = line;
  flip.a = slot;
  flip.d = allocate(size);
  flip.run = size == 8 ? Handler([](Exec &x, const Inst &i) {
    const uint64_t *a = x.lanes<uint64_t>(i.a);
    setLanes<uint64_t>(x, i.d, [=](int l) { return a[l] ^ uint64_t(1) << 63; });
  })
                       : Handler([](Exec &x, const Inst &i) {
                           const uint32_t *a = x.lanes<uint32_t>(i.a);
                           setLanes<uint32_t>(x, i.d, [=](int l) {
                             return a[l] ^ 0x80000000u;
                           });
                         });
  insertBefore(flip);
  return flip.d;
}

/// sum = product + c as fma(a, b, c), a difference with one operand negated.
void Decoder::buildFused(const Instruction &product, const Instruction &sum) {
  bool isFirst = sum.operands[1].name == product.operands[0].name;
  fused = sum;
  fused.opcode = "fma";
  fused.modifiers.insert(fused.modifiers.begin(), ".rn");
  fused.operands = {sum.operands[0], product.operands[1], product.operands[2],
                    sum.operands[isFirst ? 2 : 1]};
  ast = &fused;
  build();
  if (sum.opcode != "sub" || !errors.messages.empty())
    return;
  unsigned size = fused.modifiers.back() == ".f64" ? 8 : 4;
  Slot &flipped = isFirst ? building.c : building.a;
  flipped = negated(flipped, size);
}

uint32_t Decoder::label(const std::string &name) {
  for (int scope = ast->scope; scope >= 0;
       scope = entry->scopes[static_cast<size_t>(scope)].parent)
    if (auto found = entry->labels.find({scope, name});
        found != entry->labels.end())
      return static_cast<uint32_t>(found->second);
  fail(cat("label '", name, "' is not defined"));
  return 0;
}

const std::vector<std::string> *Decoder::branchTable(const std::string &name) {
  auto found = entry->branchTables.find(name);
  return found == entry->branchTables.end() ? nullptr : &found->second;
}

Result<Program> emulator::decode(const Module &module, const Entry &entry,
                                 const std::vector<ModuleVariable> &globals,
                                 std::string_view place, bool contract) {
  return Decoder(module, entry, globals, place, contract).run();
}

bool emulator::mayContract(const Module &module, const Entry &entry) {
  auto may = [](const Entry &of) {
    Lookahead ahead = lookAhead(of);
    return std::any_of(ahead.contracts.begin(), ahead.contracts.end(),
                       [](int product) { return product >= 0; });
  };
  return may(entry) ||
         std::any_of(module.functions.begin(), module.functions.end(), may);
}
