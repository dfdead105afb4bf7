//===- RowBuilder.h - Writing an op as a short tile kernel ------*- C++ -*-===//
//
// What an op's lowering sees: operands as f32 tiles of a row-wise (or
// accumulator) space, arithmetic with implicit broadcast, reductions along
// columns, and a result that is rounded once to the step's dtype. Whether an
// operand comes from memory or from an earlier step, whether the result is
// stored or read by the next step, and which thread holds what, is not the op's
// business.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_OPS_ROWBUILDER_H
#define TANDEM_CODEGEN_OPS_ROWBUILDER_H

#include "codegen/ops/Lowering.h"
#include "codegen/schedule/Schedule.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>
#include <set>

namespace tandem::codegen {

/// A tile in registers: `rows x cols`, or 1 in a dim along which it is
/// constant.
struct Tile {
  mlir::Value value;
  RowBuilder *k = nullptr;

  mlir::RankedTensorType type() const {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  mlir::Type element() const { return type().getElementType(); }
};

class RowBuilder {
public:
  RowBuilder(mlir::OpBuilder &builder, const KernelSchedule &schedule,
             const ScheduleInput &input);

  //===--- For op lowerings
  //------------------------------------------------===//

  const Step &step() const { return input.recipe.steps[current]; }
  const Params &params() const { return step().params; }
  size_t numInputs() const { return step().args.size(); }
  DType inputType(size_t arg) const;
  DType resultType() const { return step().results[0].dtype; }

  /// Operand \p arg widened exactly to f32, or as it is stored.
  Tile input32(size_t arg);
  Tile inputRaw(size_t arg);
  /// The step's result: f32 rounded once to its dtype, or already in it.
  void result(Tile f32);
  void resultRaw(Tile value);

  /// Along the columns of each row that exist. The contract gets the order.
  Tile reduceSum(Tile value);
  Tile reduceMax(Tile value);
  Tile reduceMaxUnsigned(Tile value);
  /// The kernel's parts of an argmax (KernelPlan::partials): what the one
  /// kernel leaves, the largest of \p keys in each row of the tile's columns,
  /// and the other reads.
  void leavePart(Tile keys);
  Tile parts() { return {computed(schedule.plan.partials).raw, this}; }
  /// The number of columns as f32.
  Tile numCols();

  /// One approximate instruction; the contract gets its name.
  Tile approx(tile::ApproxKind kind, Tile value);
  /// Names an expansion in the contract instead of the instructions inside it.
  void noteApprox(std::string name);

  /// Constants in the shape of another tile.
  Tile like(Tile shape, double value);
  Tile likeInt(Tile shape, mlir::Type element, uint64_t value);
  Tile convert(DType from, DType to, Tile value);
  Tile select(Tile condition, Tile yes, Tile no);
  /// The f32 neighbour of nearest + rest that has an odd significand, where
  /// \p nearest is that sum rounded and \p rest not 0: rounding it once more to
  /// a type of at most 22 bits rounds the exact sum (codegen/lower/
  /// Conversions.cpp).
  Tile toOdd(Tile nearest, Tile rest);
  /// Both tiles in the larger of their shapes.
  void unify(Tile &a, Tile &b);

  mlir::ImplicitLocOpBuilder &ops() { return b; }

  //===--- For gathers and matmuls
  //-----------------------------------------===//

  /// The tile's rows in some layout: their numbers in row-major order (Rx1,
  /// i64), one index for each row run, and which of them exist.
  struct Rows {
    mlir::Value numbers, live;
    std::vector<mlir::Value> indices;
  };
  Rows rowsIn(const tile::LinearLayout &rows);
  mlir::Value offsetsOf(const Rows &rows, const ScheduledOperand &operand);
  /// Which rows exist, as a mask even where all do; null where all do.
  mlir::Value liveRows();
  mlir::Value maskOfRows() const { return live; }
  /// Numbers of the columns that the tile covers: 1xC, for a gemv Rx1.
  Tile spaceColumns();
  /// Reads ids, one number a row, as i64.
  Tile loadRowIndex(const ScheduledOperand &ids);
  /// Whether each id lies in [0, rows of \p table).
  mlir::Value isInTable(Tile id, const ScheduledOperand &table);
  /// Reads rows \p index of the table that is operand \p arg.
  Tile loadTable(size_t arg, mlir::Value index, mlir::Value mask);
  /// Final outputs leave out the rows where \p keep is false; temporaries do
  /// not, so that no later kernel reads memory that nobody wrote.
  void restrictRows(mlir::Value keep);
  /// Reports rows of the current step through the launch's error slot, by
  /// their own number or by \p index (Rx1).
  void reportRows(mlir::Value bad, mlir::Value index = {});
  /// Each row's index along \p dim of the space (Rx1).
  mlir::Value indexAlong(int dim);
  /// Stores \p raw, in the operand's type, in rows that lie \p offsets further
  /// on (Rx1), where \p mask holds.
  void storeAt(const ScheduledOperand &operand, Tile raw, mlir::Value offsets,
               mlir::Value mask);
  /// The same for one row, given as an i1 and its number.
  void reportRow(mlir::Value bad, mlir::Value row);
  /// An integer param as an i64, or null when the step does not give it. On the
  /// device it is read for sequence \p batch, a null value where there is only
  /// one.
  mlir::Value param(const std::string &name, mlir::Value batch);
  /// An expression of the launch record as a kernel argument or constant.
  mlir::Value scalar(const std::string &expression);
  mlir::Value scalarConstant(int64_t value);
  mlir::Value pointer(const ScheduledOperand &operand);
  /// The operand as a matrix of \p rows rows of \p cols elements, \p stride
  /// elements apart (empty: one row), that boxes of 128-byte rows address.
  mlir::Value map(const ScheduledOperand &operand, const std::string &cols,
                  const std::string &rows, const std::string &stride,
                  int64_t boxRows, int64_t boxCols);
  /// Of a pipeline: the columns of the product that are being written.
  mlir::Value product() const { return productTile; }
  const ScheduledOperand &operandOf(size_t arg, Usage usage) const;
  /// Where the step's result lies, or null when it stays in the kernel or
  /// nobody reads it.
  const ScheduledOperand *resultOperand(size_t result) const;
  /// Whether the caller sees what is written there.
  bool isFinal(const ScheduledOperand &operand) const {
    return input.graph.values[operand.value].isFinal();
  }
  const ScheduledOperand &operandOf(int step, size_t arg, Usage usage) const;
  const Step &stepAt(int step) const { return input.recipe.steps[step]; }
  const KernelSchedule &plan() const { return schedule; }
  /// The contract of the kernel's step number \p index.
  StepContract &contractAt(size_t index) { return contracts[index]; }
  StepContract &contract() { return contracts.back(); }
  /// Where the tile's columns start, and where the kernel's end.
  mlir::Value colStart, colEnd;
  /// Offset of each row of the tile in \p operand; null when it is 0.
  mlir::Value rowOffsets(const ScheduledOperand &operand);
  /// That of its first row, as a 1x1 tile.
  mlir::Value firstRowOffset(const ScheduledOperand &operand);
  mlir::Value loadTile(const ScheduledOperand &operand, mlir::Value base,
                       mlir::RankedTensorType type, mlir::Value rows,
                       mlir::Value mask, mlir::Value start, mlir::Value end,
                       const std::string &stride, int vector);
  mlir::Type elementType(DType dtype) const;
  tile::LinearLayout layout, rowLayout, colLayout;
  /// The type of a tile of this kernel with the given dims constant.
  mlir::RankedTensorType typeOf(mlir::Type element, bool hasRows, bool hasCols);

  //===--- For the compiler
  //------------------------------------------------===//

  /// Emits all steps and the stores, and completes the function.
  mlir::func::FuncOp build(const std::string &name);
  std::vector<KernelArg> takeArgs() { return std::move(args); }
  std::vector<StepContract> takeContracts() { return std::move(contracts); }

private:
  struct Pending {
    const ScheduledOperand *operand;
    mlir::Value value;
    mlir::Value offsets, mask; // of storeAt
  };
  struct Computed {
    mlir::Value raw; // in the value's dtype
    mlir::Value f32; // widened, made when asked for
  };
  void emitSteps();
  /// Emits the steps and stores for some columns of a pipeline's tile at a
  /// time, so that few registers hold what is on its way.
  void emitSlices(mlir::Value sum, mlir::Value row, mlir::Value col);
  void place();
  void placeGemv(mlir::Value id);
  Computed &computed(int value);
  void applyGuards();
  void store(const Pending &pending);
  void storePart(const Pending &pending);
  Tile reduce(tile::ReduceKind kind, Tile value, mlir::TypedAttr fill);
  void noteReduction();
  mlir::Value addArg(KernelArg arg, mlir::Type type);
  mlir::Value broadcastTo(mlir::Value value, bool rows, bool cols);

  mlir::ImplicitLocOpBuilder b;
  const KernelSchedule &schedule;
  const ScheduleInput &input;
  int current = 0;
  mlir::func::FuncOp func;
  mlir::Block *entry = nullptr;
  std::vector<KernelArg> args;
  std::map<std::string, mlir::Value> scalars;
  std::map<const ScheduledOperand *, mlir::Value> pointers, offsets, maps;
  std::map<int, Computed> values;
  std::vector<Pending> stores;
  std::vector<StepContract> contracts;
  mlir::Value errorSlotPointer();
  Rows rows;
  mlir::Value firstRow, live, keptRows, errorSlot;
  mlir::Value productTile, tileRow, tileCol; // of a pipeline
  mlir::Value gemvColumns;                   // column of each tile row
  mlir::Value part, partExists;              // of a product that leaves parts
};

Tile operator+(Tile a, Tile b);
Tile operator-(Tile a, Tile b);
Tile operator*(Tile a, Tile b);
/// Correctly rounded division.
Tile operator/(Tile a, Tile b);
Tile operator+(Tile a, double b);
Tile operator-(Tile a, double b);
Tile operator*(Tile a, double b);
Tile operator-(Tile a);
/// a * b + c in one rounding.
Tile fma(Tile a, Tile b, Tile c);
Tile less(Tile a, Tile b);
Tile isNan(Tile a);
Tile abs(Tile a);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_ROWBUILDER_H
