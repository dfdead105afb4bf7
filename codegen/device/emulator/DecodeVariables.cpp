//===- DecodeVariables.cpp - Where variables and parameters lie -----------===//
#include "codegen/device/emulator/DecoderState.h"
#include "codegen/device/emulator/ptx/Lexer.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

using OperandKind = emulator::Operand::Kind;

uint64_t Decoder::bytesOf(const Variable &variable) {
  Type type = typeNamed(variable.type);
  if (type == Type::None || type == Type::Pred) {
    line = variable.line;
    fail(cat("type '", variable.type, "' has no meaning here"));
    return 0;
  }
  return typeSize(type) * variable.count;
}

uint64_t Decoder::alignOf(const Variable &variable) {
  return variable.align
             ? variable.align
             : std::max<uint64_t>(1, typeSize(typeNamed(variable.type)));
}

void Decoder::layoutVariables() {
  for (const Variable &param : entry.params) {
    uint64_t bytes = bytesOf(param), align = alignOf(param);
    uint64_t offset = (result.paramBytes + align - 1) & ~(align - 1);
    symbols[param.name] = {Space::Param, offset};
    result.params.push_back({param.name, offset, bytes});
    result.paramBytes = offset + bytes;
  }
  std::vector<const Variable *> dynamic;
  auto layout = [&](const std::vector<Variable> &variables) {
    for (const Variable &variable : variables) {
      line = variable.line;
      if (variable.space == ".shared") {
        result.sharedAlign = std::max(result.sharedAlign, alignOf(variable));
        if (variable.isExtern || (variable.isArray && !variable.count)) {
          dynamic.push_back(&variable);
          continue;
        }
        place32(variable, Space::Shared, result.sharedBytes);
      } else if (variable.space == ".local") {
        place32(variable, Space::Local, result.localBytes);
      } else if (variable.space == ".param") {
        fail("parameters of device functions are not supported");
      } else if (&variables == &entry.variables) {
        fail(cat("a ", variable.space,
                 " variable inside a kernel is not supported"));
      }
    }
  };
  layout(module.variables);
  layout(entry.variables);
  result.localBytes = (result.localBytes + 15) & ~uint64_t(15);
  // All extern arrays are the same bytes, after the static ones.
  uint64_t align = 16;
  for (const Variable *variable : dynamic)
    align = std::max(align, alignOf(*variable));
  result.sharedBytes = (result.sharedBytes + align - 1) & ~(align - 1);
  for (const Variable *variable : dynamic)
    symbols[variable->name] = {Space::Shared, result.sharedBytes};
}

void Decoder::place32(const Variable &variable, Space space, uint64_t &used) {
  uint64_t bytes = bytesOf(variable), align = alignOf(variable);
  used = (used + align - 1) & ~(align - 1);
  symbols[variable.name] = {space, used};
  if (space == Space::Shared)
    result.sharedNames.emplace_back(variable.name, used);
  used += bytes;
  if (used > (uint64_t(1) << 26))
    fail(cat("'", variable.name, "' makes ", used, " bytes of ", variable.space,
             " memory"));
}

static void storeElement(ModuleVariable &into, uint64_t offset, unsigned size,
                         const emulator::Operand &value, Type type) {
  uint64_t bits = value.bits;
  if (value.kind == OperandKind::Float64 && type == Type::F32) {
    double wide;
    std::memcpy(&wide, &bits, 8);
    auto single = static_cast<float>(wide);
    bits = 0;
    std::memcpy(&bits, &single, 4);
  }
  if (value.kind == OperandKind::Symbol) {
    into.relocations.emplace_back(offset, value.name);
    bits = static_cast<uint64_t>(value.offset);
  }
  std::memcpy(&into.init[offset], &bits, size);
}

Result<std::vector<ModuleVariable>>
emulator::moduleVariables(const Module &module, std::string_view place) {
  std::vector<ModuleVariable> result;
  for (const Variable &variable : module.variables) {
    if (variable.space != ".global" && variable.space != ".const")
      continue;
    Type type = typeNamed(variable.type);
    unsigned size = typeSize(type);
    if (!size)
      return errorAt(place, variable.line,
                     cat("type '", variable.type, "' has no meaning here"));
    if (variable.isExtern)
      return errorAt(place, variable.line,
                     cat("'", variable.name, "' is defined in no module"));
    ModuleVariable made;
    made.name = variable.name;
    made.isConst = variable.space == ".const";
    made.bytes = size * variable.count;
    if (made.bytes > (uint64_t(1) << 32))
      return errorAt(place, variable.line,
                     cat("'", variable.name, "' has ", made.bytes, " bytes"));
    if (variable.init.size() > variable.count)
      return errorAt(place, variable.line,
                     cat("'", variable.name, "' has ", variable.count,
                         " elements and ", variable.init.size(), " values"));
    made.init.resize(made.bytes);
    for (size_t i = 0; i < variable.init.size(); ++i)
      storeElement(made, i * size, size, variable.init[i], type);
    result.push_back(std::move(made));
  }
  return result;
}
