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

/// The vocabulary. Values are frozen; `count` is the sentinel. Behind it stands
/// what only recipes may say (MAP), by name and never by number.
enum class Opcode : int16_t {
#define TANDEM_SURFACE_OP(value, NAME, mnemonic)
#define TANDEM_OPCODE(value, NAME, mnemonic) NAME = value,
#include "refops/core/Opcodes.inc"
#undef TANDEM_OPCODE
#undef TANDEM_SURFACE_OP
  count,
#define TANDEM_SURFACE_OP(value, NAME, mnemonic) NAME = value,
#define TANDEM_OPCODE(value, NAME, mnemonic)
#include "refops/core/Opcodes.inc"
#undef TANDEM_OPCODE
#undef TANDEM_SURFACE_OP
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
/// The same, then what only recipes may say.
std::span<const OpInfo> allOps();
/// Whether \p code is one of allOps, and its place there.
bool isOp(Opcode code);
size_t opIndex(Opcode code);
const OpInfo &opInfo(Opcode code);
/// One of allOps by mnemonic or name in either case, or an opcode by its
/// decimal code; null if there is no such op. An undefined opcode is found:
/// check `defined`.
const OpInfo *findOpInfo(std::string_view nameOrCode);
/// The known name nearest to \p misspelt, or empty when none is near.
std::string_view nearestOpName(std::string_view misspelt);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_OPINFO_H
