//===- Partition.h - Which steps share a kernel, and why not ----*- C++ -*-===//
//
// Steps are taken in order; a kernel grows until a step does not fit, and the
// reason becomes a sentence. A row-wise kernel has one row space: every value
// that it computes has the same full shape, and every reduction runs along one
// axis. A matmul kernel is one or more products of one x, all of one shape,
// followed by elementwise steps on their results and maybe an argmax of them;
// an RMSNORM that only they read may come before.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_FUSE_PARTITION_H
#define TANDEM_CODEGEN_FUSE_PARTITION_H

#include "codegen/fuse/Graph.h"

namespace tandem::codegen {

/// The schedules that a kernel may use.
enum class Family : uint8_t { RowWise, Matmul, Gemv, Attention, Recurrence };

struct KernelPlan {
  Family family = Family::RowWise;
  std::vector<int> steps;
  /// The full shape of what the kernel computes.
  std::vector<Dim> space;
  /// The axis of `space` that reductions run along, or -1 when there is none.
  int axis = -1;
  /// The RMSNORM whose result the products read as x: each CTA computes it for
  /// its own rows. -1: none. It is the first of `steps`.
  int prologue = -1;
  /// EMBED steps of earlier kernels whose rows are this kernel's rows, as (ids,
  /// table): rows whose id is out of range must not reach a final output.
  std::vector<std::pair<int, int>> guards;
  /// Values that the kernel reads, in order of first use, and those that it
  /// writes: final outputs, and what another kernel reads.
  std::vector<int> reads, writes;
  /// A step that takes two kernels, attention over a window that several CTAs
  /// share or an argmax behind a product: the value that holds what each part
  /// has seen, and whether this kernel merges the parts or leaves them. Of a
  /// window, how many parts it has.
  int splits = 1;
  int partials = -1;
  bool merges = false;

  bool leavesParts() const { return partials >= 0 && !merges; }
};

struct Partition {
  std::vector<KernelPlan> kernels;
  std::vector<std::string> explanation;
};

/// Steps and operands that one kernel holds at most: an operand takes a pointer
/// and up to nine strides of the 4 KiB of kernel parameters.
inline constexpr size_t maxKernelSteps = 64;
inline constexpr size_t maxKernelOperands = 24;

/// \p fuse false gives each step a kernel of its own.
Partition partition(const Recipe &recipe, const Graph &graph, bool fuse);

/// Whether a kernel of the op checks indices that only the device sees.
bool reportsIndices(Opcode op);
/// A product of x with a matrix, on its own tiles.
bool isMatmul(Opcode op);
/// Whether W is given as [K, N].
bool isKn(const Step &step);
/// Whether the step reads operand \p arg element by element where it writes;
/// otherwise it has offsets of its own, so that the operand lies in memory.
bool readsInPlace(const Step &step, size_t arg, DType type);

/// Whether the step writes all columns of its result: false when `n_off` and
/// `N_tile` leave some out, or may.
bool writesAllColumns(const Step &step);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_FUSE_PARTITION_H
