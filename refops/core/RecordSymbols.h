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

/// Fails when \p symbol has another form, or when the record has no such
/// operand or the operand no such dim.
Result<RecordSymbol> resolveSymbol(const LaunchRecord &record,
                                   std::string_view symbol);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_RECORDSYMBOLS_H
