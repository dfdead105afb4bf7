//===- DecoderState.h - A kernel while it is decoded ------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_DECODERSTATE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_DECODERSTATE_H

#include "codegen/device/emulator/Decoder.h"
#include "codegen/device/emulator/Lookahead.h"
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
  Decoder(const Module &module, const Entry &kernel,
          const std::vector<ModuleVariable> &globals, std::string_view place,
          bool contract)
      : module(module), kernel(kernel), fileName(place), contract(contract) {
    program = &result;
    for (const ModuleVariable &global : globals)
      symbols[global.name] = {Space::Global, global.address, global.bytes};
  }
  Result<Program> run();
  void fail(const std::string &message) override;

private:
  static constexpr size_t maxErrors = 20;
  struct SymbolInfo {
    Space space;
    uint64_t value;
    uint64_t bytes;
  };

  // Functions (DecodeCalls.cpp)
  /// The called functions, callees before their callers where they can be, and
  /// the kernel last; fills `order` and `used`.
  void findFunctions();
  void visit(int function);
  /// Names that an instruction mentions.
  template <typename F>
  static void eachSymbol(const emulator::Operand &operand, F f);
  void layoutFrame(const Entry &of, Function &into);
  void layoutStack();
  void call() override;
  bool builtinCall(const std::string &name);
  std::vector<ParamSlot> callList(const emulator::Operand &operand);
  bool inFunction() const override { return entry != &kernel; }
  /// A register with the address of byte \p offset of the frame.
  Slot frameAddress(uint64_t offset, unsigned size);

  void decodeFunction(const Entry &of, Function &into);
  void one(size_t i);
  void build();
  void buildFused(const Instruction &product, const Instruction &sum);
  /// Appends an instruction before the one being built.
  void insertBefore(const Inst &before);
  /// A register with the value of \p slot negated.
  Slot negated(Slot slot, unsigned size);
  const SymbolInfo *findSymbol(const std::string &name);
  uint64_t bytesOf(const Variable &variable);
  uint64_t alignOf(const Variable &variable);
  void layoutVariables();
  void place(const Variable &variable, const std::string &key, Space space,
             uint64_t &used);
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
  const Entry &kernel;
  const Entry *entry = nullptr; // in hand
  Function *function = nullptr;
  std::string_view fileName;
  bool contract;
  Program result;
  Error errors;
  Lookahead ahead;
  Instruction fused;
  Inst building;
  InstUse buildingUse;
  std::vector<uint32_t> codeAt; // of the body's instructions
  /// Functions in the order of their code, by index in the module.
  std::vector<int> order;
  std::vector<int> visited; // by function: 0 no, 1 under way, 2 done
  std::vector<std::vector<int>> callees;
  std::map<std::string, bool> used; // names that reachable code mentions
  bool hasCalls = false, hasIndirectCalls = false, hasAlloca = false;
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
