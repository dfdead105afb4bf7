//===- Schedule.h - How a kernel runs: space, operands, parameters -*- C++
//-*-===//
//
// Everything that decides the text of a kernel, as plain data without MLIR. It
// is a function of the plan and of the *class* of a call (which dims collapse,
// which strides are 1, what divides what), never of sizes themselves: sizes and
// strides stay kernel arguments, written as IntExpr text over the record's
// operands. Its serialised form is the cache key.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_SCHEDULE_SCHEDULE_H
#define TANDEM_CODEGEN_SCHEDULE_SCHEDULE_H

#include "codegen/Compiler.h"
#include "codegen/fuse/Partition.h"

namespace tandem::codegen {

/// How a kernel reads or writes an operand.
enum class Usage : uint8_t {
  Space,       // right-aligned with the space, broadcast where it lacks a dim
  RowIndex,    // one index a row: the space without its last dim
  Table,       // rows that an index chooses; the last dim is the column
  MatmulX,     // rows of the space, last dim k
  MatmulW,     // [N, K] or [K, N]
  DepthVector, // [K] beside x
  Packed,      // two columns a byte, rows of the space
  Groups,      // [N, G] beside quantised weights: one number a row and group
  Positions,   // rope: one number a token
  Frequencies, // rope: [half]
  Cache,       // kv_append: rows of the space in slots that start at `pos`
  Split,       // kv_append: [n, kvh * D] for a space [n, kvh, D]
  Extent,      // only its shape
  Param,       // an integer param on the device: [], [1] or [B]
  Free,        // addressed by the op itself, by shapes and strides
  Partial, // rows of the space; the last dim is the column, and has two more
  Part,    // rows of the space; the last dim is the tile of columns
};

/// An operand of the record. One value used in two ways is two operands.
struct ScheduledOperand {
  int value = -1;
  Usage usage = Usage::Space;
  bool isWritten = false;
  std::string name;
  TensorDesc desc; // of the call that the schedule is for
  uint64_t align = 256;
  /// For each dim of the space, the operand's dim, or -1 where it is broadcast.
  std::vector<int> dimOf;

  /// Stride expression for each row run; empty where the operand is broadcast.
  std::vector<std::string> rowStrides;
  /// "1", an expression, or empty where every column is the same element.
  std::string colStride;
  /// The first of two dims of the space that run through one dim of the
  /// operand: `[B * S]` positions, `[n, kvh * D]` rows.
  int foldedDim = -1;
  /// rope: neighbouring columns whose partners are neighbours too.
  int partnerVector = 1;
  /// Neighbouring columns (for MatmulX and MatmulW: k) in one access.
  int vector = 1;
  /// Written by way of shared memory, through a tensor map.
  bool usesMap = false;

  bool variesByRow() const {
    for (const std::string &stride : rowStrides)
      if (!stride.empty())
        return true;
    return false;
  }
  bool variesByDim() const {
    for (int dim : dimOf)
      if (dim >= 0)
        return true;
    return false;
  }
  std::string shape(int dim) const {
    return name + ".shape[" + std::to_string(dim) + "]";
  }
  std::string stride(int dim) const {
    return name + ".stride[" + std::to_string(dim) + "]";
  }
};

/// A matmul by asynchronous copies (codegen/schedule/MatmulPipeline.cpp).
struct Pipeline {
  /// 0: the kernel is none.
  int stages = 0;
  /// CTAs that share W, and x.
  int clusterM = 1, clusterN = 1;
  /// Rows of tiles that are walked together, column by column.
  int group = 8;
  /// Few rows: W gives the tensor core its rows and x its columns.
  bool isSwapped = false;
  /// W is read once and x again and again: caches are told so.
  bool streamsW = false;
  int producerRegisters = 40, consumerRegisters = 232;
  /// Tiles of clusters along the rows; clusters that take tiles in turns.
  std::string rowTiles, workers;

  bool isUsed() const { return stages > 0; }
  int cluster() const { return clusterM * clusterN; }
};

struct KernelSchedule {
  KernelPlan plan;
  std::vector<ScheduledOperand> operands;
  /// Dims of the space that run as one, outermost first; the rows' sizes.
  std::vector<std::vector<int>> rowRuns;
  std::vector<int> colRun;
  std::vector<std::string> rowSizes;
  std::string rows = "1", cols = "1";
  /// Matmul families: the sum's length, the columns that are written, and how
  /// many tiles they make.
  std::string depth;
  std::string colBegin = "0", colEnd, colTiles;

  /// A tile's extent, the warps that hold it, and how its columns lie in
  /// threads: neighbouring columns a thread.
  int64_t tileRows = 1, tileCols = 1;
  int64_t tileDepth = 0;
  int warps = 4;
  int threadCols = 1;
  /// Attention and recurrence: the one size of a head that the kernel is for
  /// (`depth` is then the heads that share one, `tileDepth` those of a CTA),
  /// and whether new rows come as [B, kvh * D].
  int64_t headDim = 0;
  bool newHeadsAreJoined = false;
  /// Attention: tiles of positions in one round of the loop.
  int tilesARound = 1;
  /// Attention on the tensor core: whether a round's values are on their way
  /// with its keys, or wait for registers.
  bool loadsTogether = true;
  /// Attention in parts: additions that a part passes through in the merge, at
  /// most.
  int64_t mergeDepth = 0;
  /// A product that leaves parts: the columns of each.
  int64_t partCols = 0;
  /// Columns are cut into tiles that are different CTAs (no reductions).
  bool splitsColumns = false;
  /// Row-wise: every tile's columns all exist.
  bool fillsColumns = false;
  /// Row-wise: a tile's rows share the indices of all runs but the last.
  bool sharesOuterRuns = false;
  /// Rows are longer than a tile: `tile-loop-columns` cuts them.
  bool loopsColumns = false;
  /// Matmul: the type of both operands where they meet: f16 or bf16 in
  /// tensor-core fragments, or f32.
  DType dotType = DType::F32;
  bool usesTensorCore = false;
  Pipeline pipeline;
  /// Starts before the launch in front of it has ended, and waits for that
  /// itself (programmatic dependent launch).
  bool startsEarly = false;

  std::array<std::string, 3> grid = {"1", "1", "1"};
  std::vector<LaunchRecord::Precondition> preconditions;
  std::string explanation;

  /// The operand for a value, used in one way; null when there is none.
  const ScheduledOperand *find(int value, Usage usage) const;
  void require(const std::string &condition, std::string reason);
};

/// What a schedule is derived from.
struct ScheduleInput {
  const Recipe &recipe;
  const Graph &graph;
  const CompileOptions &options;
  /// The actual operand of each value of the graph that lies in memory.
  std::vector<Operand> operands;
  /// Names of the values, unique identifiers.
  std::vector<std::string> names;
};

/// Derives the schedule of one kernel. Fails on parameters that make no kernel.
Result<KernelSchedule> schedule(const KernelPlan &plan,
                                const ScheduleInput &input);

/// The kind of a schedule: `row-wise`, `matmul`, `asynchronous matmul`, `gemv`,
/// `attention` or `recurrence`.
std::string familyName(const KernelSchedule &schedule);

/// Names that CompileOptions::set may hold, checked once a compilation.
Result<void> checkParameterNames(const CompileOptions &options);

//===--- Used by the families
//-----------------------------------------------===//

/// Lists what the kernel reads and writes.
void findOperands(KernelSchedule &schedule, const ScheduleInput &input);
/// Finds operands, maps their dims, merges dims into runs and derives strides.
void mapSpace(KernelSchedule &schedule, const ScheduleInput &input);
/// The widest access of at most \p limit elements that each operand allows.
void chooseVectors(KernelSchedule &schedule, int limit);
/// The parameter as set by the caller, or \p chosen.
Result<int64_t> parameter(const CompileOptions &options, const char *name,
                          int64_t chosen, int64_t least, int64_t most);

/// Makes two kernels of each attention whose window several CTAs share: one
/// leaves what each part of the window has seen, one merges the parts.
Result<void> splitWindows(Graph &graph, Partition &parts, const Recipe &recipe,
                          const DimBindings &bindings,
                          const CompileOptions &options);

/// Makes two kernels of each argmax behind a product: one leaves the largest of
/// each tile's columns and where it is, so that no logits are stored, one finds
/// the largest of these. How many a row has the schedule of the first says.
void splitArgmaxes(Graph &graph, Partition &parts, const Recipe &recipe);

/// The number of parts of a row that the scheduled product leaves.
int64_t partsOf(const KernelSchedule &schedule);

/// Sets the columns of a part that a product leaves, and requires that there is
/// room for all.
void requireParts(KernelSchedule &schedule);

/// Requires that a window of \p slots, named \p window, has the parts that its
/// length calls for.
void requirePartsOf(KernelSchedule &schedule, int64_t slots,
                    const std::string &window);

Result<void> scheduleRows(KernelSchedule &schedule, const ScheduleInput &input);
Result<void> scheduleMatmul(KernelSchedule &schedule,
                            const ScheduleInput &input);
Result<void> scheduleGemv(KernelSchedule &schedule, const ScheduleInput &input);
Result<void> scheduleAttention(KernelSchedule &schedule,
                               const ScheduleInput &input);
Result<void> scheduleRecurrence(KernelSchedule &schedule,
                                const ScheduleInput &input);

/// Columns of a pipeline's tile that are converted and stored together: rows of
/// 128 bytes of a 16-bit type.
inline constexpr int64_t sliceCols = 64;

/// The size of a run of dims in this call, and as an expression.
int64_t runSize(const KernelSchedule &schedule, const std::vector<int> &run);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_SCHEDULE_SCHEDULE_H
