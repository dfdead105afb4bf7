//===- AttentionMma.cpp - Attention on the tensor core --------------------===//
//
// For 16-bit queries and caches. Each warp has positions of its own, n in a
// round, and a maximum, a sum and an accumulator of its own for each of 8 query
// heads that share a key/value head, so that the loop needs no barrier and no
// shared memory:
//
//   s = q . k^T         8 x (W n)   a warp's positions in its columns
//   as rows             (8 W) x n   what a warp has of a head is a row
//   acc += v^T . p^T    D x (8 W)   one product a warp
//
// Threads read 16 neighbouring bytes of keys and values straight into the
// fragments of mma.m16n8k16: over the columns of keys and queries the order of
// k is free, and over those of values it is a row of the accumulator. The
// weights leave the first product in the layout in which the second takes them.
// With 3 instructions a head, position and 32 columns instead of 64 the loads
// are all that the loop waits for.
//
// The running maximum, empty windows and the new row of attn_step are as in
// Attention.cpp; after the loop the warps are merged as its rows are.
//
//===----------------------------------------------------------------------===//
#include "codegen/ops/Attention.h"
#include "codegen/ops/AttentionKernel.h"
#include "codegen/ops/Math.h"

#include <bit>

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;
using tile::Bases;
using tile::LinearLayout;

/// Rows of a product that hold query heads.
static constexpr int mmaHeads = 8;

static int log2Of(int64_t power) {
  return std::countr_zero(static_cast<uint64_t>(power));
}

/// Bases along \p dim from \p first on, doubling.
static Bases doubling(int dim, int64_t first, int count) {
  Bases bases(static_cast<size_t>(count));
  for (int bit = 0; bit < count; ++bit)
    bases[static_cast<size_t>(bit)][static_cast<size_t>(dim)] =
        static_cast<int32_t>(first << bit);
  return bases;
}

static Bases join(std::initializer_list<Bases> parts) {
  Bases all;
  for (const Bases &part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

namespace {
/// Layouts of W warps with n positions each and heads of D columns.
struct Layouts {
  LinearLayout queries, keys, values, scores, sums, merged;

  Layouts(int warps, int64_t n, int64_t cols) {
    constexpr int row = tile::rowDim, col = tile::colDim;
    const int w = log2Of(warps), d = log2Of(cols);
    const int more = log2Of(n) - 4; // register bits of positions beyond 16
    const Bases heads = doubling(row, 1, 3);
    const Bases beyond = doubling(row, 16, more);
    // 8 neighbouring columns a thread, 32 a row of lanes.
    queries.registers = join({doubling(col, 1, 3), doubling(col, 32, d - 5)});
    queries.lanes = join({doubling(col, 8, 2), heads});
    queries.warps = Bases(static_cast<size_t>(w));
    keys = queries;
    keys.registers =
        join({doubling(col, 1, 3), {{8, 0}}, beyond, doubling(col, 32, d - 5)});
    keys.warps = doubling(row, n, w);
    // As a row of lanes holds 4 positions, 8 of them share its columns.
    const int v = std::min(3, d - 3);
    values.registers = join({doubling(col, 1, v),
                             {{1, 0}, {8, 0}},
                             beyond,
                             doubling(col, int64_t(8) << v, d - 3 - v)});
    values.lanes = join({doubling(row, 2, 2), doubling(col, 1 << v, 3)});
    values.warps = doubling(row, n, w);
    scores.registers = join({{{0, 1}}, doubling(col, 8, more + 1)});
    scores.lanes = join({doubling(col, 2, 2), heads});
    scores.warps = doubling(col, n, w);
    sums.registers = join({{{0, warps}},
                           doubling(row, 1, v),
                           doubling(row, int64_t(8) << v, d - 3 - v)});
    sums.lanes =
        join({doubling(col, int64_t(2) * warps, 2), doubling(row, 1 << v, 3)});
    sums.warps = doubling(col, 1, w);
    // (8 D) x W: a thread has all warps' parts of some columns of one head.
    const int held = d - 2 - w;
    merged.registers = join({doubling(col, 1, w), doubling(row, 8, held)});
    merged.lanes = join({doubling(row, int64_t(8) << held, 2), heads});
    merged.warps = doubling(row, int64_t(32) << held, w);
  }
};

class AttentionMma : AttentionKernel {
  /// What each warp has seen of the window.
  struct Seen {
    Tile max; // (8 W) x 1
    Tile sum; // (8 W) x n, to be added up
    Tile acc; // D x (8 W)
  };
  /// The same of all warps: 8 x 1, 8 x 1, 8 x D.
  struct Merged {
    Tile max, sum, acc;
  };
  /// Keys or values of positions, where they lie and which they are.
  struct Cache {
    const ScheduledOperand &operand;
    LinearLayout layout;
    Value numbers; // Rx1, i32 from 0
    Value rows;    // Rx1, offsets of the window's first positions
  };

public:
  explicit AttentionMma(RowBuilder &k)
      : AttentionKernel(k), warps(k.plan().warps),
        positions(int64_t(16) * k.plan().tilesARound),
        layouts(warps, positions, k.plan().tileCols) {}

  void emit() {
    place();
    findWindow();
    findHeads();
    query = load(q, layouts.queries, headOffsets(q, dim(0)), headExists).value;
    Seen seen = loop();
    if (isStep)
      seen = attendNewRow(seen);
    if (partials)
      leavePart(seen);
    else if (out)
      finish(seen);
    noteContract();
  }

private:
  RankedTensorType typeOf(Type element, const LinearLayout &layout) {
    return tile::tileType(element, layout);
  }
  Tile filled(const LinearLayout &layout, double value) {
    return {arith::ConstantOp::create(
                b, DenseElementsAttr::get(typeOf(b.getF32Type(), layout),
                                          Attribute(b.getF32FloatAttr(
                                              static_cast<float>(value))))),
            &k};
  }
  Value splatIn(const LinearLayout &layout, Value scalar) {
    return tile::SplatOp::create(b, typeOf(scalar.getType(), layout), scalar);
  }
  Value rangeIn(const LinearLayout &layout, bool isWide = true) {
    Type element = isWide ? b.getI64Type() : b.getI32Type();
    return tile::RangeOp::create(b, typeOf(element, layout), zero);
  }
  /// Positions from \p at to \p end as an i32, no more than a round has.
  Value positionsLeft(Value at, Value end) {
    Value left = arith::MinSIOp::create(b, subtract(end, at),
                                        constant(positions * warps));
    return arith::TruncIOp::create(b, b.getI32Type(), left);
  }
  /// \p value repeated along the dims in which \p like is larger.
  Tile spread(Tile value, Tile like) {
    return {tile::BroadcastOp::create(
                b, typeOf(value.element(), tile::layoutOf(like.type())),
                value.value),
            &k};
  }
  Tile reshape(Tile value, int64_t cols) {
    const LinearLayout to = tile::layoutOf(value.type()).reshape(cols);
    return {
        tile::ReshapeOp::create(b, typeOf(value.element(), to), value.value),
        &k};
  }
  Tile transpose(Tile value) {
    const LinearLayout to = tile::layoutOf(value.type()).transpose();
    return {
        tile::TransposeOp::create(b, typeOf(value.element(), to), value.value),
        &k};
  }
  Tile convert(Tile value, const LinearLayout &to) {
    return {tile::ConvertLayoutOp::create(b, typeOf(value.element(), to),
                                          value.value),
            &k};
  }
  Tile reduce(tile::ReduceKind kind, Tile value) {
    const LinearLayout to = tile::layoutOf(value.type()).dropColumns();
    return {tile::ReduceOp::create(b, typeOf(value.element(), to), kind,
                                   value.value),
            &k};
  }
  Tile load(const ScheduledOperand &operand, const LinearLayout &layout,
            Value rows, Value mask) {
    const int vector =
        std::min(operand.vector, tile::contiguousColumns(layout));
    return {k.loadTile(operand, k.pointer(operand),
                       typeOf(k.elementType(operand.desc.dtype), layout), rows,
                       mask, zero, columns, operand.colStride, vector),
            &k};
  }
  Value isEqual(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
  }
  Value isLess(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
  }

  /// Numbers of the query heads, and which exist, 8 x 1.
  void findHeads() {
    const LinearLayout rows = layouts.queries.dropColumns();
    Value first = multiply(headTile, constant(mmaHeads));
    Value inGroup =
        arith::AddIOp::create(b, rangeIn(rows), splatIn(rows, first));
    headExists = isLess(inGroup, splatIn(rows, groupSize));
    heads = arith::AddIOp::create(b, inGroup,
                                  splatIn(rows, multiply(kvHead, groupSize)));
  }

  /// Where the heads' rows of an operand start; \p further elements on.
  Value headOffsets(const ScheduledOperand &operand, int headDim,
                    Value further = {}) {
    const LinearLayout rows = layouts.queries.dropColumns();
    Value along = arith::MulIOp::create(
        b, heads, splatIn(rows, k.scalar(operand.stride(headDim))));
    if (isBatched) {
      Value at = step(operand, headDim - 1, batch);
      further = further ? add(further, at) : at;
    }
    if (!further)
      return along;
    return arith::AddIOp::create(b, along, splatIn(rows, further));
  }

  Cache cacheOf(const ScheduledOperand &operand, const LinearLayout &layout) {
    const LinearLayout rows = layout.dropColumns();
    Cache cache = {operand, layout, rangeIn(rows, false), Value()};
    Value first = AttentionKernel::add(offset(operand, dim(1), kvHead),
                                       step(operand, dim(0), start));
    Value along = arith::MulIOp::create(
        b, rangeIn(rows), splatIn(rows, k.scalar(operand.stride(dim(0)))));
    cache.rows = arith::AddIOp::create(b, along, splatIn(rows, first));
    return cache;
  }

  /// The positions from \p at on that are before \p end.
  Tile loadAt(const Cache &cache, Value at, Value end) {
    const LinearLayout rows = cache.layout.dropColumns();
    Value moved = arith::AddIOp::create(
        b, cache.rows, splatIn(rows, step(cache.operand, dim(0), at)));
    Value mask = isLess(cache.numbers, splatIn(rows, positionsLeft(at, end)));
    return load(cache.operand, cache.layout, moved, mask);
  }

  Seen loop() {
    const LinearLayout rows = layouts.scores.reshape(positions).dropColumns();
    Seen seen = {filled(rows, minusInf),
                 filled(layouts.scores.reshape(positions), 0),
                 filled(layouts.sums, 0)};
    Cache keyCache = cacheOf(keys, layouts.keys);
    Cache valueCache = cacheOf(values, layouts.values);
    const int64_t round = positions * warps;
    auto [first, end] = positionsOfPart(round);
    auto loop = scf::ForOp::create(
        b, first, end, constant(round),
        ValueRange{seen.max.value, seen.sum.value, seen.acc.value});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value at = loop.getInductionVar();
      Tile key = loadAt(keyCache, at, end), value;
      // Both are on their way together, as far as registers go.
      const bool isSmall = k.plan().loadsTogether;
      if (isSmall)
        value = loadAt(valueCache, at, end);
      Value left = positionsLeft(at, end);
      Tile score = scores(key, [&](Value number) {
        return isLess(number, splatIn(layouts.scores.dropRows(), left));
      });
      if (!isSmall)
        value = loadAt(valueCache, at, end);
      auto args = loop.getRegionIterArgs();
      Seen next =
          attend({{args[0], &k}, {args[1], &k}, {args[2], &k}}, score, value);
      scf::YieldOp::create(
          b, ValueRange{next.max.value, next.sum.value, next.acc.value});
    }
    return {{loop.getResult(0), &k},
            {loop.getResult(1), &k},
            {loop.getResult(2), &k}};
  }

  /// (8 W) x n scores; -inf where \p exists does not hold of a number.
  Tile scores(Tile key, llvm::function_ref<Value(Value)> exists) {
    Tile none = filled(layouts.scores, minusInf);
    Value product = tile::DotOp::create(b, none.type(), query, key.value,
                                        filled(layouts.scores, 0).value, 1);
    Tile score = Tile{product, &k} * scale;
    Tile mask = {exists(rangeIn(layouts.scores.dropRows(), false)), &k};
    score = k.select(spread(mask, score), score, none);
    return reshape(score, positions);
  }

  /// One more round.
  Seen attend(Seen seen, Tile score, Tile value) {
    Tile max = maximum(seen.max, reduce(tile::ReduceKind::Max, score));
    Tile from = orZero(max);
    Tile old = exp(seen.max - from);
    Tile weight = exp(score - spread(from, score));
    seen.sum = fma(seen.sum, spread(old, score), weight);
    seen.max = max;
    Tile narrow = k.convert(DType::F32, valueType, weight);
    Tile acc = seen.acc * alongSums(old, seen.acc);
    seen.acc = {tile::DotOp::create(b, acc.type(), transpose(value).value,
                                    narrow.value, acc.value, warps),
                &k};
    return seen;
  }

  /// A maximum to subtract: 0 where nothing was seen.
  Tile orZero(Tile max) {
    Tile none = k.like(max, minusInf), nothing = k.like(max, 0);
    Tile isNone = {arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                         max.value, none.value),
                   &k};
    return k.select(isNone, nothing, max);
  }

  /// (8 W) x 1 as factors of the accumulator's columns.
  Tile alongSums(Tile factor, Tile acc) {
    return spread(convert(transpose(factor), layouts.sums.dropRows()), acc);
  }

  /// The new row is position 0 of the first warp, in one more round.
  Seen attendNewRow(const Seen &seen) {
    auto [isHere, isFirst] = hasNewRow();
    auto read = [&](size_t arg, const ScheduledOperand &cache,
                    const LinearLayout &layout, bool writes) {
      const ScheduledOperand &fresh = k.operandOf(arg, Usage::Free);
      if (writes)
        append(fresh, cache, isFirst);
      const LinearLayout rows = layout.dropColumns();
      Value mask = both(isEqual(rangeIn(rows), splatIn(rows, zero)),
                        splatIn(rows, isHere));
      return cast(fresh, cache,
                  load(fresh, layout, splatIn(rows, newOffset(fresh)), mask));
    };
    Tile key = read(1, keys, layouts.keys, true);
    Tile value = read(2, values, layouts.values, true);
    const LinearLayout numbers = layouts.scores.dropRows();
    Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    Tile score = scores(key, [&](Value number) {
      return both(isEqual(number, splatIn(numbers, none)),
                  splatIn(numbers, isHere));
    });
    return attend(seen, score, value);
  }

  /// All warps' \p seen. Where \p isPart, one that has seen no position, or
  /// only scores of -inf, keeps -inf, 0, 0; else the latter is NaN.
  Merged merge(const Seen &seen, bool isPart) {
    Tile maxima = reshape(seen.max, warps); // 8 x W
    Tile max = reduce(tile::ReduceKind::Max, maxima);
    Tile weight = exp(maxima - spread(isPart ? orZero(max) : max, maxima));
    Tile sums = reshape(reduce(tile::ReduceKind::Sum, seen.sum), warps);
    Tile sum = reduce(tile::ReduceKind::Sum, sums * weight);
    Tile acc = seen.acc * alongSums(reshape(weight, 1), seen.acc);
    acc = convert(reshape(acc, warps), layouts.merged);
    acc = reduce(tile::ReduceKind::Sum, acc);
    return {max, sum, transpose(reshape(acc, mmaHeads))};
  }

  void store(Tile value, const ScheduledOperand &to, Value offsets, Value mask,
             Value from, Value end) {
    const int contiguous =
        tile::contiguousColumns(tile::layoutOf(value.type()));
    const bool isUnit = to.colStride == "1";
    tile::StoreOp::create(b, value.value, k.pointer(to), offsets, mask, from,
                          end, isUnit ? Value() : k.scalar(to.colStride),
                          std::min(to.vector, contiguous));
  }

  void storeParts(const Merged &all, const ScheduledOperand &to, Value offsets,
                  Value mask) {
    Value one = constant(k.plan().headDim + 1);
    store(all.acc, to, offsets, mask, zero, columns);
    store(all.max, to, offsets, mask, columns, one);
    store(all.sum, to, offsets, mask, one, constant(k.plan().headDim + 2));
  }

  void leavePart(const Seen &seen) {
    storeParts(merge(seen, true), *partials,
               headOffsets(*partials, dim(1), step(*partials, 0, part)),
               headExists);
  }

  void finish(const Seen &seen) {
    Merged all = merge(seen, false);
    const LinearLayout rows = layouts.queries.dropColumns();
    if (!isStep) {
      Tile isEmpty = {
          splatIn(rows, compare(arith::CmpIPredicate::eq, length, zero)), &k};
      all.sum = k.select(isEmpty, k.like(all.sum, isPartial ? 0 : 1), all.sum);
      all.acc = k.select(spread(isEmpty, all.acc), k.like(all.acc, 0), all.acc);
    }
    Value mask = headExists;
    // No later kernel may read memory that nobody wrote.
    if (k.isFinal(*out))
      mask = both(mask, splatIn(rows, isGood));
    Value offsets = headOffsets(*out, dim(0));
    if (isPartial)
      return storeParts(all, *out, offsets, mask);
    Tile result = k.convert(DType::F32, k.resultType(),
                            all.acc / spread(all.sum, all.acc));
    store(result, *out, offsets, mask, zero, columns);
  }

  /// A product of queries and keys passes D / 16 instructions; one of weights
  /// and values those of each later round, then the tree over the warps; a
  /// weight is added in each later round, over a thread's columns and 4 lanes,
  /// then over the warps. Each later round rescales, and so does the merge.
  void noteContract() {
    const KernelSchedule &plan = k.plan();
    const int64_t merge = splits > 1 ? plan.mergeDepth : 0;
    const int64_t afterLoop = 1 + log2Of(positions) + log2Of(warps);
    const std::string tiles = std::to_string(plan.tilesARound);
    const std::string rounds =
        "ceildiv(n, " + std::to_string(positions * warps * splits) + ")";
    StepContract &contract = k.contract();
    contract.dot = std::string("mma.m16n8k16.") +
                   (valueType == DType::F16 ? "f16" : "bf16");
    contract.dotChunk = 16;
    contract.depth =
        rounds + " * " + tiles + " + " +
        std::to_string(std::max(plan.tileCols / 16, afterLoop) + merge);
    contract.rescales = rounds + " + " + (splits > 1 ? "2" : "1");
    contract.order =
        std::to_string(warps) + " warps, each of " + std::to_string(positions) +
        " positions a round; heads of " + std::to_string(plan.tileCols) +
        " columns, 4 in each 8 of 32 an instruction" +
        (splits > 1 ? "; windows in " + std::to_string(splits) +
                          " parts, merged as rows"
                    : "");
  }

  const int warps;
  const int64_t positions;
  const Layouts layouts;
  Value query, heads, headExists;
};
} // namespace

void codegen::emitAttentionMma(RowBuilder &k) { AttentionMma(k).emit(); }
