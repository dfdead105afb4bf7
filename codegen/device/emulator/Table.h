//===- Table.h - The instruction table --------------------------*- C++ -*-===//
//
// One row per form of an instruction: opcode, modifiers, and the function that
// builds the decoded instruction. The rows say what is supported; an
// instruction that fits none is refused at load, and docs/ lists the rows.
//
// Modifiers are written as elements separated by spaces. An element is a choice
// `.a|.b`; with a `?` at its end it may be absent. `#` stands for a number,
// which the builder checks:
//
//   .rn|.rz|.rm|.rp? .ftz? .sat? .f32
//   .mma_async .sync .aligned .m64n#k16 .f32 .f16 .f16
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_TABLE_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_TABLE_H

#include "codegen/device/emulator/Exec.h"
#include "codegen/device/emulator/ptx/Ast.h"

#include <span>
#include <string_view>
#include <vector>

namespace tandem::emulator {

/// The modifier chosen for each element of a pattern; empty where absent.
struct Match {
  std::vector<std::string_view> parts;

  bool has(size_t element) const { return !parts[element].empty(); }
  bool is(size_t element, std::string_view text) const {
    return parts[element] == text;
  }
  Type type(size_t element) const { return typeNamed(parts[element]); }
};

/// Gives a builder the operands of one instruction as slots, and collects the
/// first thing that is wrong with them.
class Builder {
public:
  virtual ~Builder() = default;

  const Instruction *ast = nullptr;
  Inst *inst = nullptr;
  InstUse *use = nullptr;
  Program *program = nullptr;

  size_t operands() const { return ast->operands.size(); }
  const Operand &operand(size_t i) const { return ast->operands[i]; }
  /// Fails unless there are between \p least and \p most operands.
  bool expect(size_t least, size_t most);
  bool expect(size_t n) { return expect(n, n); }
  /// The first failure wins.
  virtual void fail(const std::string &message) = 0;

  /// A register, constant or special register of exactly the type's size.
  Slot read(size_t i, Type type) { return readOperand(operand(i), type); }
  /// A register of the type's size; `_` gives a slot that no one reads.
  Slot write(size_t i, Type type) { return writeOperand(operand(i), type); }
  /// As read and write, but a wider register will do (ld, st, cvt).
  Slot readWide(size_t i, Type type, unsigned &size) {
    return readOperand(operand(i), type, &size);
  }
  Slot writeWide(size_t i, Type type, unsigned &size) {
    return writeOperand(operand(i), type, &size);
  }
  Slot readPredicate(size_t i);
  Slot writePredicate(size_t i);
  Slot constant(uint64_t bits, unsigned size) {
    return constantSlot(bits, size);
  }
  /// Sets inst.a, inst.imm and inst.wideAddress from `[base + offset]`.
  virtual void address(size_t i) = 0;
  /// Appends \p operand's registers to program.slots, and gives the index of
  /// the first. \p size is that of the widest register.
  uint32_t vector(const Operand &operand, size_t count, Type type, bool writes,
                  unsigned *size = nullptr);

  virtual Slot readOperand(const Operand &operand, Type type,
                           unsigned *wide = nullptr) = 0;
  virtual Slot writeOperand(const Operand &operand, Type type,
                            unsigned *wide = nullptr) = 0;
  /// The bytes of the register, 0 for a predicate; -1 when it is none.
  virtual int registerSize(const Operand &operand) = 0;
  virtual Slot constantSlot(uint64_t bits, unsigned size) = 0;
  /// Index of a label's instruction.
  virtual uint32_t label(const std::string &name) = 0;
  virtual const std::vector<std::string> *
  branchTable(const std::string &name) = 0;
  /// The operands of `call`.
  virtual void call() = 0;
  /// Whether this is a device function, not a kernel.
  virtual bool inFunction() const = 0;
  /// Which special register an operand is, if any.
  virtual const Special *special(const Operand &operand) = 0;
  /// Marks a read that makes an address, a branch or a stored value.
  void critical(Slot slot) { use->critical.push_back(slot); }
};

using BuildFunction = void (*)(Builder &, const Match &);

struct Row {
  const char *opcode;
  const char *modifiers;
  BuildFunction build;
  /// What to know about it: precision, limits.
  const char *note = "";
};

// The families, one file each in ops/.
std::span<const Row> integerRows();
std::span<const Row> bitRows();
std::span<const Row> bitFieldRows();
std::span<const Row> floatRows();
std::span<const Row> halfRows();
std::span<const Row> approximateRows();
std::span<const Row> compareRows();
std::span<const Row> convertRows();
std::span<const Row> packedConvertRows();
std::span<const Row> moveRows();
std::span<const Row> memoryRows();
std::span<const Row> atomicRows();
std::span<const Row> asyncRows();
std::span<const Row> warpRows();
std::span<const Row> matrixRows();
std::span<const Row> matrixFormRows();
std::span<const Row> controlRows();
std::span<const Row> callRows();
std::span<const Row> videoRows();
std::span<const Row> vectorAtomicRows();
std::span<const Row> compareHalfRows();
// async/
std::span<const Row> clusterRows();
std::span<const Row> mbarrierRows();
std::span<const Row> bulkRows();
std::span<const Row> storeAsyncRows();
std::span<const Row> wgmmaRows();
std::span<const Row> asyncFenceRows();

/// All rows, for the documentation.
std::vector<Row> allRows();

/// The row that fits \p instruction, with the modifiers it chose; null if none.
const Row *findRow(const Instruction &instruction, Match &match);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_TABLE_H
