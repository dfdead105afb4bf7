//===- DecoderState.h - A kernel while it is decoded ------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_DECODERSTATE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_DECODERSTATE_H

#include "codegen/device/emulator/Decoder.h"
#include "codegen/device/emulator/Specials.h"
#include "codegen/device/emulator/Table.h"

#include <unordered_map>

namespace tandem::emulator {

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
  Result<Program> run();
  void fail(const std::string &message) override;

private:
  static constexpr size_t maxErrors = 20;
  void one(size_t i);
  struct SymbolInfo {
    Space space;
    uint64_t value;
  };
  uint64_t bytesOf(const Variable &variable);
  uint64_t alignOf(const Variable &variable);
  void layoutVariables();
  void place32(const Variable &variable, Space space, uint64_t &used);
  static unsigned laneBytes(unsigned size) {
    return std::max(size, 2u) * warpSize;
  }
  Slot allocate(unsigned size);
  Slot reserve(unsigned bytes);
  const RegisterInfo *findRegister(const std::string &name);
  static bool declares(const RegisterDecl &decl, const std::string &name);
  Slot constantSlot(uint64_t bits, unsigned size) override;
  Slot specialSlot(const NamedSpecial &special);
  const Special *special(const emulator::Operand &operand) override;
  int registerSize(const emulator::Operand &operand) override;
  /// Whether a register of \p size serves for \p type.
  bool checkSize(const emulator::Operand &operand, unsigned size, Type type,
                 unsigned *wide);
  static uint64_t immediateBits(const emulator::Operand &operand, Type type);
  Slot readOperand(const emulator::Operand &operand, Type type,
                   unsigned *wide) override;
  Slot writeOperand(const emulator::Operand &operand, Type type,
                    unsigned *wide) override;
  void address(size_t i) override;
  uint32_t label(const std::string &name) override;
  const std::vector<std::string> *branchTable(const std::string &name) override;

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

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_DECODERSTATE_H
