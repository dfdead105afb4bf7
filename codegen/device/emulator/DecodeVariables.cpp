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

const Decoder::SymbolInfo *Decoder::findSymbol(const std::string &name) {
  // Variables inside braces hide those outside.
  for (int scope = ast->scope; scope >= 0;
       scope = entry->scopes[static_cast<size_t>(scope)].parent)
    if (auto found = symbols.find(cat(entry->name, " ", scope, " ", name));
        found != symbols.end())
      return &found->second;
  auto found = symbols.find(name);
  return found == symbols.end() ? nullptr : &found->second;
}

/// What every call of the kernel shares: its parameters and shared memory. Only
/// variables that its code mentions take space.
void Decoder::layoutVariables() {
  for (const Variable &param : kernel.params) {
    uint64_t bytes = bytesOf(param), align = alignOf(param);
    uint64_t offset = (result.paramBytes + align - 1) & ~(align - 1);
    symbols[cat(kernel.name, " 0 ", param.name)] = {Space::Param, offset,
                                                    bytes};
    result.params.push_back({param.name, offset, bytes});
    result.paramBytes = offset + bytes;
    if (result.paramBytes > 32764) {
      line = param.line;
      fail(cat("the parameters take ", result.paramBytes,
               " bytes, at most 32764 are allowed"));
      return;
    }
  }
  std::vector<std::pair<std::string, const Variable *>> dynamic;
  auto layout = [&](const std::vector<Variable> &variables, const Entry *of) {
    for (const Variable &variable : variables) {
      if (variable.space != ".shared")
        continue;
      line = variable.line;
      std::string key =
          of ? cat(of->name, " ", variable.scope, " ", variable.name)
             : variable.name;
      if (!of && !used.contains(variable.name))
        continue;
      result.sharedAlign = std::max(result.sharedAlign, alignOf(variable));
      if (variable.isExtern || (variable.isArray && !variable.count))
        dynamic.emplace_back(key, &variable);
      else
        place(variable, key, Space::Shared, result.sharedBytes);
    }
  };
  layout(module.variables, nullptr);
  for (int i : order)
    layout(module.functions[static_cast<size_t>(i)].variables,
           &module.functions[static_cast<size_t>(i)]);
  layout(kernel.variables, &kernel);
  // All extern arrays are the same bytes, after the static ones.
  uint64_t align = 16;
  for (const auto &[key, variable] : dynamic)
    align = std::max(align, alignOf(*variable));
  result.sharedBytes = (result.sharedBytes + align - 1) & ~(align - 1);
  for (const auto &[key, variable] : dynamic)
    symbols[key] = {Space::Shared, result.sharedBytes, 0};
}

void Decoder::place(const Variable &variable, const std::string &key,
                    Space space, uint64_t &used) {
  uint64_t bytes = bytesOf(variable), align = alignOf(variable);
  used = (used + align - 1) & ~(align - 1);
  symbols[key] = {space, used, bytes};
  if (space == Space::Shared)
    result.sharedNames.emplace_back(variable.name, used);
  used += bytes;
  // A thread has 512 KB of local memory; shared memory is checked at launch.
  if (used > (uint64_t(1) << (space == Space::Local ? 19 : 26)))
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
  std::memcpy(&into.init[offset], &bits, std::min(size, 8u));
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
    // What has no value of its own is zero, as fresh memory is.
    made.init.resize(size * variable.init.size());
    for (size_t i = 0; i < variable.init.size(); ++i)
      storeElement(made, i * size, size, variable.init[i], type);
    result.push_back(std::move(made));
  }
  return result;
}
