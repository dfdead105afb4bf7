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
  /// As text; empty when the default depends on shapes (`doc` says how).
  std::string_view defaultValue;
  /// An IntExpr-like condition on the value (`value > 0`), or the choices of a
  /// string separated by `|`; empty when every finite value is allowed.
  std::string_view range;
  std::string_view doc;
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
