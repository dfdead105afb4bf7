//===- OpInfo.h - The instruction set as data -------------------*- C++ -*-===//
//
// Everything here is derived from dialect/insn/InsnOps.td when the build is
// configured (dialect/cmake/OpTable.cmake writes OpTable.inc). An opcode whose
// op is not defined yet has `defined == false` and an empty signature.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_OPINFO_H
#define TANDEM_REFOPS_CORE_OPINFO_H

#include <cstdint>
#include <span>
#include <string_view>

namespace tandem {

/// The vocabulary. Values are frozen; `count` is the sentinel.
enum class Opcode : int16_t {
#define TANDEM_OPCODE(value, NAME, mnemonic) NAME = value,
#include "refops/core/Opcodes.inc"
#undef TANDEM_OPCODE
  count
};

enum class ParamType : uint8_t { Bool, Int, Float, String };

struct ParamInfo {
  std::string_view name;
  ParamType type;
  /// As text; empty when the default depends on shapes (`doc` says how),
  /// `required` when the step must give it.
  std::string_view defaultValue;
  /// An IntExpr-like condition on the value (`value > 0`), or the choices of a
  /// string separated by `|`; empty when every finite value is allowed.
  std::string_view range;
  std::string_view doc;
  /// Whether a step may read it on the device instead (OperandParam).
  bool mayBeOperand = false;
};

struct OpInfo {
  Opcode code;
  /// Upper case, as in plans: RMSNORM.
  std::string_view name;
  /// Lower case, everywhere else: rmsnorm.
  std::string_view mnemonic;
  bool defined;
  /// Operand and result shapes, in the grammar of Signature.h.
  std::string_view signature;
  std::span<const ParamInfo> params;
  std::string_view summary;

  /// The param of that name, or null.
  const ParamInfo *param(std::string_view name) const {
    for (const ParamInfo &info : params)
      if (info.name == name)
        return &info;
    return nullptr;
  }
};

/// All opcodes in order of their code; `count` entries.
std::span<const OpInfo> opTable();
const OpInfo &opInfo(Opcode code);
/// By mnemonic or name in either case, or by decimal code; null if there is no
/// such opcode. An undefined opcode is found: check `defined`.
const OpInfo *findOpInfo(std::string_view nameOrCode);
/// The known name nearest to \p misspelt, or empty when none is near.
std::string_view nearestOpName(std::string_view misspelt);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_OPINFO_H
