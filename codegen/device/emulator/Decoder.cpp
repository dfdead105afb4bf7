//===- Decoder.cpp - A parsed kernel to a program -------------------------===//
#include "codegen/device/emulator/Decoder.h"

#include "codegen/device/emulator/Registers.h"
#include "codegen/device/emulator/Specials.h"
#include "codegen/device/emulator/Table.h"
#include "codegen/device/emulator/ptx/Lexer.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

using namespace tandem;
using namespace tandem::emulator;

using OperandKind = emulator::Operand::Kind;

bool Builder::expect(size_t least, size_t most) {
  if (operands() >= least && operands() <= most)
    return true;
  fail(cat("'", ast->text(), "' has ", operands(), " operands, expected ",
           least == most ? std::to_string(least) : cat(least, " to ", most)));
  return false;
}

Slot Builder::readPredicate(size_t i) {
  return readOperand(operand(i), Type::Pred);
}
Slot Builder::writePredicate(size_t i) {
  return writeOperand(operand(i), Type::Pred);
}

uint32_t Builder::vector(const emulator::Operand &operand, size_t count,
                         Type type, bool writes, unsigned *size) {
  auto first = static_cast<uint32_t>(program->slots.size());
  // A vector of one may be written without braces.
  std::vector<emulator::Operand> parts = operand.parts;
  if (operand.kind != OperandKind::Vector)
    parts = {operand};
  if (parts.size() != count) {
    fail(cat("'", ast->text(), "' needs a vector of ", count, ", found ",
             parts.size()));
    return first;
  }
  unsigned widest = typeSize(type);
  for (const emulator::Operand &part : parts) {
    unsigned own = 0;
    Slot slot = writes ? writeOperand(part, type, size ? &own : nullptr)
                       : readOperand(part, type, size ? &own : nullptr);
    if (size && part.kind != OperandKind::Sink) {
      if (program->slots.size() > first && own != widest && own != 0 && writes)
        fail("registers of a vector differ in size");
      widest = std::max(widest, own);
    }
    program->slots.push_back(slot);
  }
  if (size)
    *size = widest;
  return first;
}

namespace {
struct RegisterInfo {
  Type type;
  Slot slot;
};

class Decoder final : public Builder {
public:
  Decoder(const Module &module, const Entry &entry,
          const std::vector<ModuleVariable> &globals, std::string_view place)
      : module(module), entry(entry), place(place) {
    program = &result;
    for (const ModuleVariable &global : globals)
      symbols[global.name] = {Space::Global, global.address};
  }

  Result<Program> run() {
    result.kernel = entry.name;
    result.reqntid = entry.reqntid;
    result.maxntid = entry.maxntid;
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

  void fail(const std::string &message) override {
    if (failedLine == line)
      return;
    failedLine = line;
    errors.messages.push_back(errorAt(place, line, message).messages[0]);
  }

private:
  static constexpr size_t maxErrors = 20;

  void one(size_t i) {
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

  // Variables and parameters --------------------------------------------------

  struct SymbolInfo {
    Space space;
    uint64_t value;
  };

  uint64_t bytesOf(const Variable &variable) {
    Type type = typeNamed(variable.type);
    if (type == Type::None || type == Type::Pred) {
      line = variable.line;
      fail(cat("type '", variable.type, "' has no meaning here"));
      return 0;
    }
    return typeSize(type) * variable.count;
  }
  uint64_t alignOf(const Variable &variable) {
    return variable.align
               ? variable.align
               : std::max<uint64_t>(1, typeSize(typeNamed(variable.type)));
  }

  void layoutVariables() {
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

  void place32(const Variable &variable, Space space, uint64_t &used) {
    uint64_t bytes = bytesOf(variable), align = alignOf(variable);
    used = (used + align - 1) & ~(align - 1);
    symbols[variable.name] = {space, used};
    if (space == Space::Shared)
      result.sharedNames.emplace_back(variable.name, used);
    used += bytes;
    if (used > (uint64_t(1) << 26))
      fail(cat("'", variable.name, "' makes ", used, " bytes of ",
               variable.space, " memory"));
  }

  // Registers and constants ---------------------------------------------------

  static unsigned laneBytes(unsigned size) {
    return std::max(size, 2u) * warpSize;
  }
  Slot allocate(unsigned size) {
    if (size == 0) {
      // Sixteen predicates share a line.
      if (predicatesLeft == 0) {
        nextPredicate = reserve(64);
        predicatesLeft = 16;
      }
      --predicatesLeft;
      nextPredicate += 4;
      return nextPredicate - 4;
    }
    return reserve(laneBytes(size));
  }
  Slot reserve(unsigned bytes) {
    Slot slot = arenaBytes;
    arenaBytes += bytes;
    return slot;
  }

  const RegisterInfo *findRegister(const std::string &name) {
    int scope = ast->scope;
    while (scope >= 0) {
      std::string key = cat(scope, " ", name);
      if (auto found = registers.find(key); found != registers.end())
        return &found->second;
      for (const RegisterDecl &decl :
           entry.scopes[static_cast<size_t>(scope)].registers)
        if (declares(decl, name)) {
          Type type = typeNamed(decl.type);
          if (type == Type::None || typeSize(type) > 8)
            fail(cat("register type '", decl.type, "' is not supported"));
          Slot slot = allocate(typeSize(type));
          result.registerNames[slot] = name;
          return &(registers[key] = {type, slot});
        }
      scope = entry.scopes[static_cast<size_t>(scope)].parent;
    }
    return nullptr;
  }

  static bool declares(const RegisterDecl &decl, const std::string &name) {
    if (decl.count < 0)
      return name == decl.name;
    if (name.size() <= decl.name.size() || !name.starts_with(decl.name))
      return false;
    int number = 0;
    for (size_t i = decl.name.size(); i < name.size(); ++i) {
      if (name[i] < '0' || name[i] > '9' || number > 100000000)
        return false;
      number = number * 10 + (name[i] - '0');
    }
    return number < decl.count;
  }

  Slot constantSlot(uint64_t bits, unsigned size) override {
    if (size && size < 8)
      bits &= (uint64_t(1) << (size * 8)) - 1;
    auto [at, isNew] = constants.try_emplace(cat(size, " ", bits), Slot(0));
    if (isNew) {
      at->second = allocate(size);
      result.constants.push_back(
          {bits, at->second, static_cast<uint8_t>(size)});
    }
    return at->second;
  }

  Slot specialSlot(const NamedSpecial &special) {
    auto [at, isNew] = specialSlots.try_emplace(special.name, Slot(0));
    if (isNew) {
      at->second = allocate(special.size);
      result.specials.push_back({special.which, at->second, special.size});
    }
    return at->second;
  }

  const Special *special(const emulator::Operand &operand) override {
    const NamedSpecial *found = findSpecial(operand.name);
    return found ? &found->which : nullptr;
  }

  int registerSize(const emulator::Operand &operand) override {
    if (operand.kind != OperandKind::Register &&
        operand.kind != OperandKind::Symbol)
      return -1;
    if (const RegisterInfo *info = findRegister(operand.name))
      return static_cast<int>(typeSize(info->type));
    if (const NamedSpecial *found = findSpecial(operand.name))
      return found->size;
    return -1;
  }

  /// Whether a register of \p size serves for \p type.
  bool checkSize(const emulator::Operand &operand, unsigned size, Type type,
                 unsigned *wide) {
    unsigned wanted = typeSize(type);
    bool fits =
        wide ? size >= wanted && size > 0 && wanted > 0 : size == wanted;
    if (!fits)
      fail(cat("'", operand.name, "' has ",
               size ? std::to_string(size * 8) + " bits"
                    : std::string("1 bit (a predicate)"),
               ", '", ast->text(), "' needs ",
               wanted ? std::to_string(wanted * 8)
                      : std::string("a predicate")));
    if (wide)
      *wide = size;
    return fits;
  }

  static uint64_t immediateBits(const emulator::Operand &operand, Type type) {
    if (operand.kind == OperandKind::Integer)
      return operand.bits;
    double value = 0;
    float single = 0;
    bool wantsSingle = type == Type::F32;
    if (operand.kind == OperandKind::Float32) {
      if (type != Type::F64)
        return operand.bits;
      auto bits = static_cast<uint32_t>(operand.bits);
      std::memcpy(&single, &bits, 4);
      value = single;
    } else {
      if (!wantsSingle)
        return operand.bits;
      std::memcpy(&value, &operand.bits, 8);
    }
    uint64_t bits = 0;
    if (wantsSingle) {
      single = static_cast<float>(value);
      std::memcpy(&bits, &single, 4);
    } else {
      std::memcpy(&bits, &value, 8);
    }
    return bits;
  }

  Slot readOperand(const emulator::Operand &operand, Type type,
                   unsigned *wide) override {
    switch (operand.kind) {
    case OperandKind::Integer:
    case OperandKind::Float32:
    case OperandKind::Float64:
      if (wide)
        *wide = std::max(typeSize(type), 2u);
      if (type == Type::Pred)
        return constantSlot(operand.bits ? ~0u : 0, 0);
      return constantSlot(immediateBits(operand, type),
                          std::max(typeSize(type), 2u));
    case OperandKind::Register:
    case OperandKind::Symbol:
      break;
    default:
      fail(cat("'", ast->text(), "' needs a register or a constant here"));
      return 0;
    }
    if (const RegisterInfo *info = findRegister(operand.name)) {
      if (operand.offset != 0)
        fail(cat("'", operand.name, "' with an offset needs brackets"));
      if (checkSize(operand, typeSize(info->type), type, wide))
        use->reads.push_back(info->slot);
      return info->slot;
    }
    if (const NamedSpecial *found = findSpecial(operand.name)) {
      // 16-bit reads of 32-bit specials and 32-bit ones of 64-bit: PTX 1 code.
      if (typeSize(type) != found->size &&
          !(wide && found->size >= typeSize(type))) {
        fail(cat("'", operand.name, "' has ", found->size * 8, " bits, '",
                 ast->text(), "' needs ", typeSize(type) * 8));
        return 0;
      }
      if (wide)
        *wide = found->size;
      return specialSlot(*found);
    }
    if (operand.name.starts_with("WARP_SZ"))
      return constantSlot(warpSize, typeSize(type));
    if (auto found = symbols.find(operand.name); found != symbols.end()) {
      unsigned size = typeSize(type);
      if (size < 4)
        fail(cat("the address of '", operand.name, "' needs 32 or 64 bits"));
      if (wide)
        *wide = size;
      return constantSlot(
          found->second.value + static_cast<uint64_t>(operand.offset), size);
    }
    fail(cat(operand.kind == OperandKind::Register ? "register '" : "symbol '",
             operand.name, "' is not declared"));
    return 0;
  }

  Slot writeOperand(const emulator::Operand &operand, Type type,
                    unsigned *wide) override {
    if (operand.kind == OperandKind::Sink) {
      if (wide)
        *wide = typeSize(type) == 0 ? 0 : 8;
      return allocate(typeSize(type) == 0 ? 0 : 8);
    }
    const RegisterInfo *info = nullptr;
    if (operand.kind == OperandKind::Register ||
        operand.kind == OperandKind::Symbol)
      info = findRegister(operand.name);
    if (!info) {
      fail(operand.name.empty()
               ? cat("'", ast->text(), "' needs a register here")
               : cat("register '", operand.name, "' is not declared"));
      return 0;
    }
    if (checkSize(operand, typeSize(info->type), type, wide))
      use->writes.push_back(info->slot);
    return info->slot;
  }

  void address(size_t i) override {
    const emulator::Operand &operand = ast->operands[i];
    if (operand.kind != OperandKind::Address || operand.parts.size() != 1) {
      fail(cat("'", ast->text(), "' needs an address in brackets"));
      return;
    }
    const emulator::Operand &base = operand.parts[0];
    inst->imm = operand.offset;
    inst->wideAddress = true;
    if (base.kind == OperandKind::Integer) {
      inst->a = constantSlot(base.bits, 8);
      return;
    }
    if (base.kind != OperandKind::Register &&
        base.kind != OperandKind::Symbol) {
      fail("an address needs a register, a symbol or a number");
      return;
    }
    if (const RegisterInfo *info = findRegister(base.name)) {
      unsigned size = typeSize(info->type);
      if (size != 4 && size != 8) {
        fail(cat("address register '", base.name, "' has ", size * 8,
                 " bits, expected 32 or 64"));
        return;
      }
      inst->wideAddress = size == 8;
      inst->a = info->slot;
      use->reads.push_back(info->slot);
      critical(info->slot);
      return;
    }
    if (auto found = symbols.find(base.name); found != symbols.end()) {
      Space space = found->second.space;
      uint64_t value = found->second.value;
      if (inst->space == Space::Generic)
        value |= space == Space::Shared  ? sharedWindow
                 : space == Space::Local ? localWindow
                 : space == Space::Param ? paramWindow
                                         : 0;
      inst->a = constantSlot(value, 8);
      return;
    }
    fail(cat(base.kind == OperandKind::Register ? "register '" : "symbol '",
             base.name, "' is not declared"));
  }

  uint32_t label(const std::string &name) override {
    auto found = entry.labels.find(name);
    if (found == entry.labels.end()) {
      fail(cat("label '", name, "' is not defined"));
      return 0;
    }
    return static_cast<uint32_t>(found->second);
  }

  const std::vector<std::string> *
  branchTable(const std::string &name) override {
    auto found = entry.branchTables.find(name);
    return found == entry.branchTables.end() ? nullptr : &found->second;
  }

  const Module &module;
  const Entry &entry;
  std::string_view place;
  Program result;
  Error errors;
  int line = 0;
  int failedLine = -1;
  uint32_t arenaBytes = 0;
  Slot nextPredicate = 0;
  int predicatesLeft = 0;
  std::unordered_map<std::string, RegisterInfo> registers;
  std::unordered_map<std::string, Slot> constants;
  std::unordered_map<std::string_view, Slot> specialSlots;
  std::map<std::string, SymbolInfo> symbols;
};
} // namespace

Result<Program> emulator::decode(const Module &module, const Entry &entry,
                                 const std::vector<ModuleVariable> &globals,
                                 std::string_view place) {
  return Decoder(module, entry, globals, place).run();
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
