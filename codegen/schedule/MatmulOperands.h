//===- MatmulOperands.h - What gemm and gemv schedules share ----*- C++ -*-===//
#ifndef TANDEM_CODEGEN_SCHEDULE_MATMULOPERANDS_H
#define TANDEM_CODEGEN_SCHEDULE_MATMULOPERANDS_H

#include "codegen/schedule/Schedule.h"

#include <algorithm>

namespace tandem::codegen {

/// The first product of a matmul kernel.
int productOf(const KernelPlan &plan);

/// Sets the columns that are written, [colBegin, colEnd), and the number of
/// tiles of \p tileCols columns among them.
void scheduleColumns(KernelSchedule &schedule, const Step &step,
                     const Graph &graph, int64_t tileCols);

/// Sets the sum's length, and how x and W step through memory: `colStride` is
/// the stride along k, `rowStrides` for W the stride along n. A thread holds
/// \p neighbours neighbouring k.
void scheduleSum(KernelSchedule &schedule, const Step &step,
                 int neighbours = 8);

/// Whether one row of x had better be multiplied by a gemv kernel. That is a
/// choice by M, which `invariant: true` forbids.
bool suitsGemv(const KernelSchedule &schedule, const ScheduleInput &input);

/// Makes the kernel a pipeline of asynchronous copies and products where that
/// can be; else gives false, and `explanation` says why.
Result<bool> scheduleMatmulPipeline(KernelSchedule &schedule,
                                    const ScheduleInput &input);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_SCHEDULE_MATMULOPERANDS_H
