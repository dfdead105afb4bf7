//===- RecordSymbols.h - Symbols of launch records --------------*- C++ -*-===//
#ifndef TANDEM_REFOPS_CORE_RECORDSYMBOLS_H
#define TANDEM_REFOPS_CORE_RECORDSYMBOLS_H

#include "refops/core/LaunchRecord.h"

namespace tandem {

/// `NAME.shape[i]`, `NAME.stride[i]` or `NAME.align`, taken apart.
struct RecordSymbol {
  enum class Property : uint8_t { Shape, Stride, Align };
  Property property = Property::Shape;
  size_t operand = 0;
  size_t dim = 0;

  int64_t valueIn(const std::vector<Operand> &operands) const;
};

/// The symbols of a record's expressions, looked up once for all its launches:
/// names cost more than the launch.
struct LaunchSymbols {
  /// Each symbol of the record once.
  std::vector<RecordSymbol> symbols;
  /// For each symbol of each expression, in the order preconditions, grid,
  /// args, its place in `symbols`.
  std::vector<uint32_t> slots;
};

/// Fails when an expression has a symbol that means nothing in \p record.
Result<LaunchSymbols> resolveSymbols(const LaunchRecord &record);

/// bindLaunch without looking anything up. \p symbols are those of \p record;
/// \p bound is overwritten, its storage kept.
Result<void> bindLaunch(const LaunchRecord &record,
                        const LaunchSymbols &symbols,
                        const std::vector<Operand> &operands,
                        BoundLaunch &bound);

/// Fails when \p symbol has another form, or when the record has no such
/// operand or the operand no such dim.
Result<RecordSymbol> resolveSymbol(const LaunchRecord &record,
                                   std::string_view symbol);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_RECORDSYMBOLS_H
