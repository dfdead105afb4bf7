//===- OpInfo.cpp - The op table ------------------------------------------===//
#include "refops/core/OpInfo.h"

#include "refops/core/Spelling.h"

#include <array>
#include <cassert>
#include <cctype>
#include <charconv>
#include <vector>

using namespace tandem;

#define TANDEM_BRACED(...) __VA_ARGS__
#define TANDEM_UNDEFINED_OP(value, NAME, mnemonic)
#define TANDEM_OP(value, NAME, mnemonic, CppClass, signature, summary, params) \
  static std::span<const ParamInfo> params_##mnemonic() {                      \
    static const std::vector<ParamInfo> all = TANDEM_BRACED params;            \
    return all;                                                                \
  }
#include "refops/core/OpTable.inc"
#undef TANDEM_OP
#undef TANDEM_UNDEFINED_OP

static constexpr size_t numOpcodes = static_cast<size_t>(Opcode::count);

std::span<const OpInfo> tandem::opTable() { return allOps().first(numOpcodes); }

std::span<const OpInfo> tandem::allOps() {
  static const std::vector<OpInfo> table = {
#define TANDEM_UNDEFINED_OP(value, NAME, mnemonic)                             \
  {Opcode::NAME, #NAME, #mnemonic, false, "", {}, ""},
#define TANDEM_OP(value, NAME, mnemonic, CppClass, signature, summary, params) \
  {Opcode::NAME,        #NAME,  #mnemonic, true, signature,                    \
   params_##mnemonic(), summary},
#include "refops/core/OpTable.inc"
#undef TANDEM_OP
#undef TANDEM_UNDEFINED_OP
  };
  return table;
}

bool tandem::isOp(Opcode code) {
  return code >= Opcode::NOP && code != Opcode::count &&
         static_cast<size_t>(code) <= allOps().size();
}

size_t tandem::opIndex(Opcode code) {
  const auto value = static_cast<size_t>(code);
  return value < numOpcodes ? value : value - 1;
}

const OpInfo &tandem::opInfo(Opcode code) {
  assert(isOp(code) && "not an op");
  return allOps()[opIndex(code)];
}

static bool equalIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(a[i])) !=
        std::tolower(static_cast<unsigned char>(b[i])))
      return false;
  return true;
}

const OpInfo *tandem::findOpInfo(std::string_view nameOrCode) {
  const char *end = nameOrCode.data() + nameOrCode.size();
  size_t code = 0;
  const auto parsed = std::from_chars(nameOrCode.data(), end, code);
  if (parsed.ec == std::errc() && parsed.ptr == end)
    return code < opTable().size() ? &opTable()[code] : nullptr;
  for (const OpInfo &op : allOps())
    if (equalIgnoringCase(nameOrCode, op.name))
      return &op;
  return nullptr;
}

std::string_view tandem::nearestOpName(std::string_view misspelt) {
  std::vector<std::string_view> names;
  for (const OpInfo &op : allOps())
    names.push_back(op.mnemonic);
  return nearestSpelling(misspelt, names);
}
