//===- Registry.cpp - Every op's reference --------------------------------===//
#include "refops/Registry.h"
#include "refops/core/OpInfo.h"

#include <array>

using namespace tandem;
using namespace tandem::refops;

namespace {
using Table =
    std::array<std::optional<RefOp>, static_cast<size_t>(Opcode::count)>;
} // namespace

static const Table &table() {
  static const Table ops = [] {
    Table built;
    built[static_cast<size_t>(Opcode::FUSED)] = ref_fused();
#define TANDEM_OP(value, NAME, mnemonic, ...) built[value] = ref_##mnemonic();
#define TANDEM_UNDEFINED_OP(value, NAME, mnemonic)
#include "refops/core/OpTable.inc"
#undef TANDEM_OP
#undef TANDEM_UNDEFINED_OP
    // A part that is missing while work goes on is no reference.
    for (std::optional<RefOp> &op : built)
      if (op && !op->evaluate)
        op.reset();
    return built;
  }();
  return ops;
}

const RefOp *tandem::refops::find_op(Opcode code) {
  const size_t index = static_cast<size_t>(code);
  if (index >= table().size() || !table()[index])
    return nullptr;
  return &*table()[index];
}

const RefOp *tandem::refops::find_op(std::string_view nameOrCode) {
  const OpInfo *info = findOpInfo(nameOrCode);
  return info ? find_op(info->code) : nullptr;
}

std::string tandem::refops::op_coverage() {
  std::string missing;
  for (const OpInfo &info : opTable())
    if (!find_op(info.code))
      missing += (missing.empty() ? "" : ",") + std::string(info.mnemonic);
  return missing;
}
