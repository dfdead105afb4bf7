//===- BindLaunch.cpp - Launch records evaluated for one call -------------===//
#include "refops/core/LaunchRecord.h"
#include "refops/core/RecordSymbols.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <limits>
#include <unordered_map>

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

static Result<void> checkOperands(const LaunchRecord &record,
                                  const std::vector<Operand> &operands) {
  if (operands.size() != record.operands.size())
    return Error(record.kernel + ": takes " +
                 std::to_string(record.operands.size()) + " operands, got " +
                 std::to_string(operands.size()));
  for (size_t i = 0; i < operands.size(); ++i) {
    const RecordOperand &expected = record.operands[i];
    const TensorDesc &actual = operands[i].desc;
    const auto fail = [&](const std::string &what) {
      return Error(record.kernel + ": operand " + quote(expected.name) + ": " +
                   what);
    };
    if (actual.dtype != expected.dtype)
      return fail("expected " + std::string(dtypeName(expected.dtype)) +
                  ", got " + std::string(dtypeName(actual.dtype)));
    if (actual.rank() != static_cast<size_t>(expected.rank) ||
        actual.strides.size() != actual.rank())
      return fail("expected rank " + std::to_string(expected.rank) + ", got " +
                  actual.describe());
  }
  return {};
}

static bool hasValue(KernelArg::Kind kind) {
  return kind == KernelArg::Kind::I32 || kind == KernelArg::Kind::I64 ||
         kind == KernelArg::Kind::Workspace;
}

Result<LaunchSymbols> tandem::resolveSymbols(const LaunchRecord &record) {
  LaunchSymbols resolved;
  std::unordered_map<std::string_view, uint32_t> known;
  const auto add = [&](const IntExpr &expr) -> Result<void> {
    for (const std::string &name : expr.symbols()) {
      const auto [place, isNew] = known.try_emplace(
          name, static_cast<uint32_t>(resolved.symbols.size()));
      if (isNew) {
        const Result<RecordSymbol> symbol = resolveSymbol(record, name);
        if (!symbol)
          return symbol.error();
        resolved.symbols.push_back(*symbol);
      }
      resolved.slots.push_back(place->second);
    }
    return {};
  };
  const auto fail = [&](const std::string &place, const Result<void> &added) {
    return Error(record.kernel + ": " + place + ": " + added.error().text());
  };
  for (const LaunchRecord::Precondition &one : record.preconditions)
    if (Result<void> added = add(one.condition); !added)
      return fail("precondition", added);
  for (size_t i = 0; i < record.grid.size(); ++i)
    if (Result<void> added = add(record.grid[i]); !added)
      return fail("grid[" + std::to_string(i) + "]", added);
  for (size_t i = 0; i < record.args.size(); ++i) {
    const KernelArg &arg = record.args[i];
    const std::string place = "args[" + std::to_string(i) + "]";
    // The others have no value, whatever is written there.
    if (hasValue(arg.kind))
      if (Result<void> added = add(arg.value); !added)
        return fail(place, added);
    if (arg.kind != KernelArg::Kind::TensorMap)
      continue;
    for (const auto *list : {&arg.map.dims, &arg.map.strides})
      for (const IntExpr &expr : *list)
        if (Result<void> added = add(expr); !added)
          return fail(place, added);
  }
  return resolved;
}

namespace {
/// Evaluates one record for one call. Messages are built only on failure:
/// this runs on every launch.
class Binder {
public:
  Binder(const LaunchRecord &record, const LaunchSymbols &symbols,
         const std::vector<Operand> &operands, BoundLaunch &bound)
      : record(record), symbols(symbols), operands(operands), bound(bound) {}

  Result<void> run() {
    if (Result<void> checked = checkOperands(record, operands); !checked)
      return checked;
    values.reserve(8);
    if (Result<void> checked = checkPreconditions(); !checked)
      return checked;
    if (Result<void> done = bindGrid(); !done)
      return done;
    bound.workspaceBytes = 0;
    bound.args.clear();
    bound.maps.clear();
    bound.args.reserve(record.args.size());
    for (size_t i = 0; i < record.args.size(); ++i)
      if (Result<void> done = bindArg(i); !done)
        return done;
    assert(nextSlot == symbols.slots.size() && "symbols of another record");
    return {};
  }

private:
  /// Of the expressions, each once and in the order of LaunchSymbols::slots.
  Result<int64_t> evaluate(const IntExpr &expr) {
    const size_t count = expr.symbols().size();
    values.clear();
    for (size_t i = 0; i < count; ++i)
      values.push_back(
          symbols.symbols[symbols.slots[nextSlot + i]].valueIn(operands));
    nextSlot += count;
    return expr.evaluate(values);
  }

  Error failAt(const char *list, size_t i, const std::string &what) const {
    return Error(record.kernel + ": " + list + "[" + std::to_string(i) +
                 "]: " + what);
  }

  Result<void> checkPreconditions() {
    for (const LaunchRecord::Precondition &one : record.preconditions) {
      const Result<int64_t> holds = evaluate(one.condition);
      if (!holds)
        return Error(record.kernel + ": precondition: " + holds.error().text());
      if (!*holds)
        return Error(record.kernel + ": precondition " +
                     quote(one.condition.text()) +
                     " does not hold: " + one.reason);
    }
    return {};
  }

  Result<void> bindGrid() {
    constexpr std::array<int64_t, 3> limits = {
        std::numeric_limits<int32_t>::max(), 65535, 65535};
    for (size_t i = 0; i < 3; ++i) {
      const Result<int64_t> size = evaluate(record.grid[i]);
      if (!size)
        return failAt("grid", i, size.error().text());
      if (*size < 0 || *size > limits[i])
        return failAt("grid", i,
                      "expected 0 to " + std::to_string(limits[i]) + ", got " +
                          std::to_string(*size));
      bound.grid[i] = *size;
    }
    return {};
  }

  Result<void> bindArg(size_t i) {
    const KernelArg &arg = record.args[i];
    if (arg.kind == KernelArg::Kind::Pointer) {
      if (arg.operand < 0 ||
          static_cast<size_t>(arg.operand) >= operands.size())
        return failAt("args", i, "no operand " + std::to_string(arg.operand));
      bound.args.push_back(operands[static_cast<size_t>(arg.operand)].address);
      return {};
    }
    if (arg.kind == KernelArg::Kind::ErrorSlot) {
      bound.args.push_back(0);
      return {};
    }
    if (arg.kind == KernelArg::Kind::TensorMap)
      return bindMap(i, arg);
    const Result<int64_t> value = evaluate(arg.value);
    if (!value)
      return failAt("args", i, value.error().text());
    if (arg.kind == KernelArg::Kind::I64) {
      bound.args.push_back(static_cast<uint64_t>(*value));
    } else if (arg.kind == KernelArg::Kind::I32) {
      if (*value < std::numeric_limits<int32_t>::min() ||
          *value > std::numeric_limits<int32_t>::max())
        return failAt("args", i,
                      std::to_string(*value) + " does not fit 32 bits");
      bound.args.push_back(static_cast<uint32_t>(*value));
    } else {
      if (*value < 0)
        return failAt("args", i,
                      "expected a size, got " + std::to_string(*value));
      bound.workspaceBytes = *value;
      bound.args.push_back(0);
    }
    return {};
  }

  Result<void> bindMap(size_t i, const KernelArg &arg) {
    if (arg.operand < 0 || static_cast<size_t>(arg.operand) >= operands.size())
      return failAt("args", i, "no operand " + std::to_string(arg.operand));
    const TensorMapSpec &spec = arg.map;
    TensorMap map;
    map.type = spec.type;
    map.address = operands[static_cast<size_t>(arg.operand)].address;
    map.swizzle = spec.swizzle;
    map.fill = spec.fill;
    map.promotion = spec.promotion;
    map.box.assign(spec.box.begin(), spec.box.end());
    map.elementStrides.assign(spec.elementStrides.begin(),
                              spec.elementStrides.end());
    if (map.elementStrides.empty())
      map.elementStrides.assign(spec.dims.size(), 1);
    const auto all = [&](const std::vector<IntExpr> &from, const char *list,
                         std::vector<uint64_t> &to) -> Result<void> {
      for (size_t k = 0; k < from.size(); ++k) {
        const Result<int64_t> value = evaluate(from[k]);
        if (!value || *value < 0)
          return failAt(
              "args", i,
              std::string(list) + "[" + std::to_string(k) + "]: " +
                  (value ? "expected a size, got " + std::to_string(*value)
                         : value.error().text()));
        to.push_back(static_cast<uint64_t>(*value));
      }
      return {};
    };
    if (Result<void> done = all(spec.dims, "dims", map.dims); !done)
      return done;
    if (Result<void> done = all(spec.strides, "strides", map.strides); !done)
      return done;
    // A launch of no CTAs reads no map: an empty tensor is then no error.
    if (!bound.isNoOp())
      if (Result<void> fine = checkTensorMap(map, record.kernel + ": args[" +
                                                      std::to_string(i) + "]");
          !fine)
        return fine;
    bound.args.push_back(bound.maps.size());
    bound.maps.push_back(std::move(map));
    return {};
  }

  const LaunchRecord &record;
  const LaunchSymbols &symbols;
  const std::vector<Operand> &operands;
  BoundLaunch &bound;
  /// Of the symbols of one expression.
  std::vector<int64_t> values;
  size_t nextSlot = 0;
};
} // namespace

Result<void> tandem::bindLaunch(const LaunchRecord &record,
                                const LaunchSymbols &symbols,
                                const std::vector<Operand> &operands,
                                BoundLaunch &bound) {
  return Binder(record, symbols, operands, bound).run();
}

Result<BoundLaunch> tandem::bindLaunch(const LaunchRecord &record,
                                       const std::vector<Operand> &operands) {
  const Result<LaunchSymbols> symbols = resolveSymbols(record);
  if (!symbols)
    return symbols.error();
  BoundLaunch bound;
  if (Result<void> done = bindLaunch(record, *symbols, operands, bound); !done)
    return done.error();
  return bound;
}
