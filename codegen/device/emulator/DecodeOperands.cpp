//===- DecodeOperands.cpp - Operands as slots of the arena ----------------===//
#include "codegen/device/emulator/DecoderState.h"

#include <algorithm>
#include <cstring>

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

Slot Decoder::allocate(unsigned size) {
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

Slot Decoder::reserve(unsigned bytes) {
  Slot slot = arenaBytes;
  arenaBytes += bytes;
  return slot;
}

const RegisterInfo *Decoder::findRegister(const std::string &name) {
  int scope = ast->scope;
  while (scope >= 0) {
    std::string key = cat(scope, " ", name);
    if (auto found = registers.find(key); found != registers.end())
      return &found->second;
    for (const RegisterDecl &decl :
         entry->scopes[static_cast<size_t>(scope)].registers)
      if (declares(decl, name)) {
        Type type = typeNamed(decl.type);
        if (type == Type::None || typeSize(type) > 16)
          fail(cat("register type '", decl.type, "' is not supported"));
        Slot slot = allocate(typeSize(type));
        result.registerNames[slot] = name;
        return &(registers[key] = {type, slot});
      }
    scope = entry->scopes[static_cast<size_t>(scope)].parent;
  }
  return nullptr;
}

bool Decoder::declares(const RegisterDecl &decl, const std::string &name) {
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

Slot Decoder::constantSlot(uint64_t bits, unsigned size) {
  if (size && size < 8)
    bits &= (uint64_t(1) << (size * 8)) - 1;
  auto [at, isNew] = constants.try_emplace(cat(size, " ", bits), Slot(0));
  if (isNew) {
    at->second = allocate(size);
    result.constants.push_back({bits, at->second, static_cast<uint8_t>(size)});
  }
  return at->second;
}

Slot Decoder::specialSlot(const NamedSpecial &special) {
  auto [at, isNew] = specialSlots.try_emplace(special.name, Slot(0));
  if (isNew) {
    at->second = allocate(special.size);
    result.specials.push_back({special.which, at->second, special.size});
  }
  return at->second;
}

const Special *Decoder::special(const emulator::Operand &operand) {
  const NamedSpecial *found = findSpecial(operand.name);
  return found ? &found->which : nullptr;
}

int Decoder::registerSize(const emulator::Operand &operand) {
  if (operand.kind != OperandKind::Register &&
      operand.kind != OperandKind::Symbol)
    return -1;
  if (const RegisterInfo *info = findRegister(operand.name))
    return static_cast<int>(typeSize(info->type));
  if (const NamedSpecial *found = findSpecial(operand.name))
    return found->size;
  return -1;
}

bool Decoder::checkSize(const emulator::Operand &operand, unsigned size,
                        Type type, unsigned *wide) {
  unsigned wanted = typeSize(type);
  bool fits = wide ? size >= wanted && size > 0 && wanted > 0 : size == wanted;
  if (!fits)
    fail(cat("'", operand.name, "' has ",
             size ? std::to_string(size * 8) + " bits"
                  : std::string("1 bit (a predicate)"),
             ", '", ast->text(), "' needs ",
             wanted ? std::to_string(wanted * 8) : std::string("a predicate")));
  if (wide)
    *wide = size;
  return fits;
}

uint64_t Decoder::immediateBits(const emulator::Operand &operand, Type type) {
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

Slot Decoder::readOperand(const emulator::Operand &operand, Type type,
                          unsigned *wide) {
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
  if (const SymbolInfo *found = findSymbol(operand.name)) {
    unsigned size = typeSize(type);
    if (size < 4)
      fail(cat("the address of '", operand.name, "' needs 32 or 64 bits"));
    if (wide)
      *wide = size;
    uint64_t value = found->value + static_cast<uint64_t>(operand.offset);
    return found->space == Space::Local && inFunction()
               ? frameAddress(value, size)
               : constantSlot(value, size);
  }
  if (uint64_t value = functionAddress(module, operand.name)) {
    if (typeSize(type) != 8)
      fail(cat("the address of '", operand.name, "' needs 64 bits"));
    if (wide)
      *wide = 8;
    return constantSlot(value, 8);
  }
  fail(cat(operand.kind == OperandKind::Register ? "register '" : "symbol '",
           operand.name, "' is not declared"));
  return 0;
}

Slot Decoder::writeOperand(const emulator::Operand &operand, Type type,
                           unsigned *wide) {
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

void Decoder::address(size_t i) {
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
  if (base.kind != OperandKind::Register && base.kind != OperandKind::Symbol) {
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
  if (const SymbolInfo *found = findSymbol(base.name)) {
    Space space = found->space;
    uint64_t value = found->value;
    // Parameters of calls and of functions lie in the frame.
    if (inst->space == Space::Param)
      inst->space = space;
    if (inst->space == Space::Local && space == Space::Local && inFunction()) {
      inst->a = result.frame;
      inst->imm += static_cast<int64_t>(value);
      return;
    }
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
