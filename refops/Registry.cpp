//===- Registry.cpp - Every op's reference --------------------------------===//
#include "refops/Registry.h"
#include "refops/core/OpInfo.h"

#include <vector>

using namespace tandem;
using namespace tandem::refops;

/// In the order of allOps.
static const std::vector<std::optional<RefOp>> &table() {
  static const std::vector<std::optional<RefOp>> ops = [] {
    std::vector<std::optional<RefOp>> built(allOps().size());
    built[opIndex(Opcode::FUSED)] = ref_fused();
#define TANDEM_OP(value, NAME, mnemonic, ...)                                  \
  built[opIndex(Opcode::NAME)] = ref_##mnemonic();
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
  if (!isOp(code) || !table()[opIndex(code)])
    return nullptr;
  return &*table()[opIndex(code)];
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
