//===- gdn_step.cpp - Lowering of insn.gdn_step ---------------------------===//
//
// A CTA has one value head of one sequence and a few columns of its state: all
// that the columns share is the key and the query. The state is read once, kept
// in registers and written once.
//
//===----------------------------------------------------------------------===//
#include "codegen/ops/HeadKernel.h"
#include "codegen/ops/Math.h"
#include "refops/core/HostNumbers.h"

#include <bit>

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

/// Added to the sum of squares under the root.
static constexpr double normEps = 1e-6;

namespace {
class Recurrence : HeadKernel {
public:
  explicit Recurrence(RowBuilder &k)
      : HeadKernel(k), v(operand(2)), state(operand(5)),
        out(k.resultOperand(0)), isBatched(v.desc.rank() == 3),
        depth(k.plan().headDim) {}

  void emit() {
    place();
    rows = rowNumbers();
    if (depth < k.plan().tileRows)
      live = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rows.value,
                                   splat(constant(depth), true).value);
    // All of these are under way before anything waits.
    Tile old = load(state, stateOffsets(), live, first, end);
    Tile value = widen(v, load(v, splat(offset(v, head)), {}, first, end));
    Tile decay = number(3), beta = number(4);
    Tile query = vector(0), key = vector(1);
    if (k.params().getBool("qk_l2norm", false)) {
      query = normalised(query);
      key = normalised(key);
    }
    query = query * static_cast<double>(
                        k.params().getFloat("scale", inverseRoot(depth)));

    Tile s = old * exp(decay);
    Tile update = beta * (value - sumLive(s * key));
    s = fma(key, update, s);
    if (out) {
      Tile result = sumLive(s * query);
      store(k.convert(DType::F32, k.resultType(), result), *out,
            splat(offset(*out, head)), {}, first, end);
    }
    store(s, state, stateOffsets(), live, first, end);
    noteContract();
  }

private:
  const ScheduledOperand &operand(size_t arg) {
    return k.operandOf(arg, Usage::Free);
  }

  void place() {
    Value id = tile::ProgramIdOp::create(b, b.getI64Type(), 0);
    Value tiles = k.scalar(k.plan().colTiles);
    Value heads = k.scalar(v.shape(isBatched));
    first = multiply(remainder(id, tiles), constant(k.plan().tileCols));
    Value rest = divide(id, tiles);
    head = remainder(rest, heads);
    batch = divide(rest, heads);
    end = k.scalar(v.shape(1 + isBatched));
    keyHead = divide(head, k.scalar(k.plan().depth));
  }

  /// Where head \p index of an operand starts whose heads are dim 0, or 1 after
  /// the batch.
  Value offset(const ScheduledOperand &operand, Value index) {
    Value at = step(operand, isBatched, index);
    return isBatched ? add(at, step(operand, 0, batch)) : at;
  }

  /// The state's rows in memory.
  Tile stateOffsets() {
    Value stride = k.scalar(state.stride(1 + isBatched));
    Value along =
        arith::MulIOp::create(b, rows.value, splat(stride, true).value);
    return {
        arith::AddIOp::create(b, along, splat(offset(state, head), true).value),
        &k};
  }

  /// q or k of the head, one element a row.
  Tile vector(size_t arg) {
    const ScheduledOperand &held = operand(arg);
    Value stride = k.scalar(held.stride(1 + isBatched));
    Value along =
        arith::MulIOp::create(b, rows.value, splat(stride, true).value);
    Value at = arith::AddIOp::create(b, along,
                                     splat(offset(held, keyHead), true).value);
    return widen(held, loadElement(held, {at, &k}, live));
  }

  /// g or beta of the head.
  Tile number(size_t arg) {
    const ScheduledOperand &held = operand(arg);
    return widen(held, loadElement(held, splat(offset(held, head)), {}));
  }

  /// Rows beyond the head's hold 0 only as long as nothing is infinite.
  Tile sumLive(Tile value) {
    if (depth < k.plan().tileRows)
      value = k.select({live, &k}, value, k.like(value, 0));
    return sumRows(value);
  }

  Tile normalised(Tile x) {
    Tile square = sumLive(x * x) + normEps;
    k.noteApprox("rsqrt.approx");
    return x * k.approx(tile::ApproxKind::Rsqrt, square);
  }

  /// Rounded products, then tile.reduce's order over the rows.
  void noteContract() {
    const KernelSchedule &plan = k.plan();
    int64_t rowLanes =
        std::min<int64_t>(plan.tileRows, 32 * plan.threadCols / plan.tileCols);
    int64_t rowWarps = std::min<int64_t>(plan.tileRows / rowLanes, plan.warps);
    int64_t registers = plan.tileRows / (rowLanes * rowWarps);
    auto log = [](int64_t power) {
      return std::countr_zero(static_cast<uint64_t>(power));
    };
    StepContract &contract = k.contract();
    contract.dot = "fma";
    contract.depth =
        std::to_string(log(registers) + log(rowLanes) + log(rowWarps) + 1);
    contract.order = std::to_string(registers) + " registers, " +
                     std::to_string(rowLanes) + " lanes, " +
                     std::to_string(rowWarps) + " warps";
  }

  const ScheduledOperand &v, &state;
  const ScheduledOperand *out;
  const bool isBatched;
  const int64_t depth;
  Value batch, head, keyHead, first, end, live;
  Tile rows;
};
} // namespace

static void emit(RowBuilder &k) { Recurrence(k).emit(); }

OpLowering codegen::lowering_gdn_step() { return {emit}; }
