//===- ReductionOrder.h - The order of additions of a schedule --*- C++ -*-===//
//
// The one place that computes what a contract says about sums: the order in
// words, such that equal words mean equal order, and the longest chain of
// rounded additions as an expression of n.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_SCHEDULE_REDUCTIONORDER_H
#define TANDEM_CODEGEN_SCHEDULE_REDUCTIONORDER_H

#include "codegen/schedule/Schedule.h"

namespace tandem::codegen {

struct ReductionOrder {
  std::string depth, text;
};

/// Neighbouring k whose products a thread of a gemv adds up by fma.
int64_t gemvNeighbours(const KernelSchedule &schedule);

/// Sums along the columns of a row-wise kernel, or along k of a gemv or an fma
/// matmul.
ReductionOrder reductionOrder(const KernelSchedule &schedule);

/// The sum of squares of a norm in front of a product, \p chunk columns at a
/// time.
ReductionOrder normOrder(const KernelSchedule &schedule, int64_t chunk);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_SCHEDULE_REDUCTIONORDER_H
