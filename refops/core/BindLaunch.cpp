//===- BindLaunch.cpp - Launch records evaluated for one call -------------===//
#include "refops/core/LaunchRecord.h"
#include "refops/core/RecordSymbols.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <charconv>
#include <limits>

using namespace tandem;

int64_t RecordSymbol::valueIn(const std::vector<Operand> &operands) const {
  const Operand &actual = operands[operand];
  switch (property) {
  case Property::Shape:
    return actual.desc.shape[dim];
  case Property::Stride:
    return actual.desc.strides[dim];
  case Property::Align:
    break;
  }
  // Capped, so that equal classes of calls give equal values; the address 0 of
  // an empty operand is a multiple of everything.
  constexpr uint64_t largest = 256;
  const uint64_t lowestBit = actual.address & (~actual.address + 1);
  return static_cast<int64_t>(lowestBit == 0 ? largest
                                             : std::min(lowestBit, largest));
}

Result<RecordSymbol> tandem::resolveSymbol(const LaunchRecord &record,
                                           std::string_view symbol) {
  const size_t dot = symbol.find('.');
  const std::string_view name = symbol.substr(0, dot);
  const auto operand = std::find_if(
      record.operands.begin(), record.operands.end(),
      [&](const RecordOperand &candidate) { return candidate.name == name; });
  if (operand == record.operands.end())
    return Error("symbol " + quote(symbol) + ": no operand is named " +
                 quote(name));
  RecordSymbol result;
  result.operand = static_cast<size_t>(operand - record.operands.begin());
  std::string_view rest =
      dot == std::string_view::npos ? "" : symbol.substr(dot + 1);
  if (rest == "align") {
    result.property = RecordSymbol::Property::Align;
    return result;
  }
  if (rest.starts_with("shape[")) {
    rest.remove_prefix(6);
  } else if (rest.starts_with("stride[")) {
    result.property = RecordSymbol::Property::Stride;
    rest.remove_prefix(7);
  } else {
    return Error("symbol " + quote(symbol) +
                 ": expected NAME.shape[i], NAME.stride[i] or NAME.align");
  }
  const auto parsed =
      std::from_chars(rest.data(), rest.data() + rest.size(), result.dim);
  if (parsed.ec != std::errc() ||
      result.dim >= static_cast<size_t>(operand->rank))
    return Error("symbol " + quote(symbol) + ": operand " + quote(name) +
                 " has rank " + std::to_string(operand->rank));
  return result;
}

static Result<int64_t> evaluate(const LaunchRecord &record, const IntExpr &expr,
                                const std::vector<Operand> &operands,
                                std::vector<int64_t> &scratch) {
  scratch.clear();
  for (const std::string &symbol : expr.symbols()) {
    const Result<RecordSymbol> resolved = resolveSymbol(record, symbol);
    if (!resolved)
      return resolved.error();
    scratch.push_back(resolved->valueIn(operands));
  }
  return expr.evaluate(scratch);
}

static Result<void> checkOperands(const LaunchRecord &record,
                                  const std::vector<Operand> &operands) {
  if (operands.size() != record.operands.size())
    return Error(record.kernel + ": takes " +
                 std::to_string(record.operands.size()) + " operands, got " +
                 std::to_string(operands.size()));
  for (size_t i = 0; i < operands.size(); ++i) {
    const RecordOperand &expected = record.operands[i];
    const TensorDesc &actual = operands[i].desc;
    const std::string place =
        record.kernel + ": operand " + quote(expected.name) + ": ";
    if (actual.dtype != expected.dtype)
      return Error(place + "expected " +
                   std::string(dtypeName(expected.dtype)) + ", got " +
                   std::string(dtypeName(actual.dtype)));
    if (actual.rank() != static_cast<size_t>(expected.rank) ||
        actual.strides.size() != actual.rank())
      return Error(place + "expected rank " + std::to_string(expected.rank) +
                   ", got " + actual.describe());
  }
  return {};
}

Result<BoundLaunch> tandem::bindLaunch(const LaunchRecord &record,
                                       const std::vector<Operand> &operands) {
  if (Result<void> checked = checkOperands(record, operands); !checked)
    return checked.error();
  std::vector<int64_t> scratch;
  for (const LaunchRecord::Precondition &precondition : record.preconditions) {
    const Result<int64_t> holds =
        evaluate(record, precondition.condition, operands, scratch);
    if (!holds)
      return Error(record.kernel + ": precondition: " + holds.error().text());
    if (!*holds)
      return Error(record.kernel + ": precondition " +
                   quote(precondition.condition.text()) +
                   " does not hold: " + precondition.reason);
  }

  BoundLaunch bound;
  constexpr std::array<int64_t, 3> gridLimits = {
      std::numeric_limits<int32_t>::max(), 65535, 65535};
  for (size_t i = 0; i < 3; ++i) {
    const std::string place =
        record.kernel + ": grid[" + std::to_string(i) + "]: ";
    const Result<int64_t> size =
        evaluate(record, record.grid[i], operands, scratch);
    if (!size)
      return Error(place + size.error().text());
    if (*size < 0 || *size > gridLimits[i])
      return Error(place + "expected 0 to " + std::to_string(gridLimits[i]) +
                   ", got " + std::to_string(*size));
    bound.grid[i] = *size;
  }

  bound.args.reserve(record.args.size());
  for (size_t i = 0; i < record.args.size(); ++i) {
    const KernelArg &arg = record.args[i];
    const std::string place =
        record.kernel + ": args[" + std::to_string(i) + "]: ";
    if (arg.kind == KernelArg::Kind::Pointer) {
      if (arg.operand < 0 ||
          static_cast<size_t>(arg.operand) >= operands.size())
        return Error(place + "no operand " + std::to_string(arg.operand));
      bound.args.push_back(operands[static_cast<size_t>(arg.operand)].address);
      continue;
    }
    if (arg.kind == KernelArg::Kind::ErrorSlot) {
      bound.args.push_back(0);
      continue;
    }
    const Result<int64_t> value =
        evaluate(record, arg.value, operands, scratch);
    if (!value)
      return Error(place + value.error().text());
    switch (arg.kind) {
    case KernelArg::Kind::I32:
      if (*value < std::numeric_limits<int32_t>::min() ||
          *value > std::numeric_limits<int32_t>::max())
        return Error(place + std::to_string(*value) + " does not fit 32 bits");
      bound.args.push_back(static_cast<uint32_t>(*value));
      break;
    case KernelArg::Kind::Workspace:
      if (*value < 0)
        return Error(place + "expected a size, got " + std::to_string(*value));
      bound.workspaceBytes = *value;
      bound.args.push_back(0);
      break;
    default:
      bound.args.push_back(static_cast<uint64_t>(*value));
    }
  }
  return bound;
}
