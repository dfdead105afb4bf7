//===- Attention.cpp - One query token against a window of the cache ------===//
//
// A CTA has one sequence, one key/value head and a few of the query heads that
// share it, so that keys and values are read once. A tile holds R positions of
// the window, a round of the loop takes U tiles. Row r sees the positions r,
// r + R, r + 2R, ... and keeps a maximum, a sum and an accumulator of its own,
// so that the loop needs no exchange between rows; one round rescales them
// once. After the loop the rows are merged in the fixed order of tile.reduce.
//
// The running maximum starts at -inf. As long as it is -inf, differences are
// taken from 0, so that exp gives 0 instead of the NaN of inf - inf. The merge
// takes the difference as it is: a window of nothing but -inf is NaN.
//
// attn_step does not read the row that it writes: its last position comes from
// k_new and v_new, rounded as the cache holds them.
//
//===----------------------------------------------------------------------===//
#include "codegen/ops/Attention.h"

#include "codegen/ops/AttentionKernel.h"
#include "codegen/ops/Math.h"

#include <bit>

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

namespace {
/// What the rows of a tile have seen of the window, for one query head.
struct Running {
  Tile max, sum; // Rx1
  Tile acc;      // RxC
};

/// The keys or values of positions, as f32 tiles.
struct Positions {
  Tile keys, values;
  Value mask; // Rx1, which exist
};

class Attention : AttentionKernel {
public:
  explicit Attention(RowBuilder &k)
      : AttentionKernel(k), numTiles(k.plan().tilesARound) {}

  void emit() {
    place();
    findWindow();
    findHeads();
    if (k.plan().plan.merges)
      return finish(loadParts(), 0);
    loadQueries();
    std::vector<Running> running = loop(begin());
    if (isStep)
      appendAndAttend(running);
    for (int head = 0; head < numHeads; ++head)
      if (partials)
        leavePart(running[head], head);
      else if (out)
        finish(running[head], head);
    noteContract();
  }

private:
  void findHeads() {
    Value first = multiply(headTile, constant(numHeads));
    for (int head = 0; head < numHeads; ++head) {
      Value inGroup = add(first, constant(head));
      headExists.push_back(
          compare(arith::CmpIPredicate::slt, inGroup, groupSize));
      headNumbers.push_back(add(multiply(kvHead, groupSize), inGroup));
    }
  }

  void loadQueries() {
    for (int head = 0; head < numHeads; ++head) {
      Tile raw = load(q, splat(offset(q, dim(0), headNumbers[head])),
                      splat(headExists[head]).value, zero, columns);
      queries.push_back(widen(q, raw));
    }
  }

  std::vector<Running> begin() {
    Tile none = k.like(rows32(), minusInf), nothing = k.like(rows32(), 0);
    RankedTensorType type = k.typeOf(b.getF32Type(), true, true);
    Value acc = arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, Attribute(b.getF32FloatAttr(0))));
    return std::vector<Running>(numHeads, {none, nothing, {acc, &k}});
  }

  /// A tile Rx1 of f32, for its shape.
  Tile rows32() {
    Value number = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    return splat(number, true);
  }

  std::vector<Running> loop(std::vector<Running> running) {
    const int64_t rows = k.plan().tileRows;
    Tile slots = rowNumbers();
    auto base = [&](const ScheduledOperand &cache) {
      Value first =
          add(offset(cache, dim(1), kvHead), step(cache, dim(0), start));
      Value stride = k.scalar(cache.stride(dim(0)));
      Value along =
          arith::MulIOp::create(b, slots.value, splat(stride, true).value);
      return arith::AddIOp::create(b, along, splat(first, true).value)
          .getResult();
    };
    Value keyRows = base(keys), valueRows = base(values);
    SmallVector<Value> carried;
    for (const Running &head : running)
      carried.append({head.max.value, head.sum.value, head.acc.value});
    auto [first, end] = positionsOfPart(rows * numTiles);
    auto loop =
        scf::ForOp::create(b, first, end, constant(rows * numTiles), carried);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      take(running, loop.getRegionIterArgs());
      std::vector<Positions> tiles;
      for (int i = 0; i < numTiles; ++i) {
        Value at = add(loop.getInductionVar(), constant(rows * i));
        Value mask =
            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, slots.value,
                                  splat(subtract(end, at), true).value);
        auto loadAt = [&](const ScheduledOperand &cache, Value from) {
          Value moved = arith::AddIOp::create(
              b, from, splat(step(cache, dim(0), at), true).value);
          return load(cache, {moved, &k}, mask, zero, columns);
        };
        tiles.push_back(
            {loadAt(keys, keyRows), loadAt(values, valueRows), mask});
      }
      for (Positions &tile : tiles) {
        tile.keys = widen(keys, tile.keys);
        tile.values = widen(values, tile.values);
      }
      attend(running, tiles);
      SmallVector<Value> next;
      for (const Running &head : running)
        next.append({head.max.value, head.sum.value, head.acc.value});
      scf::YieldOp::create(b, next);
    }
    take(running, loop.getResults());
    return running;
  }

  void take(std::vector<Running> &running, ValueRange values) {
    for (int head = 0; head < numHeads; ++head)
      running[head] = {{values[3 * head], &k},
                       {values[3 * head + 1], &k},
                       {values[3 * head + 2], &k}};
  }

  /// One more position of each tile in each row where its mask holds.
  void attend(std::vector<Running> &running,
              const std::vector<Positions> &tiles) {
    Tile none = k.like(rows32(), minusInf), nothing = k.like(rows32(), 0);
    for (int head = 0; head < numHeads; ++head) {
      Running &seen = running[head];
      Tile max = seen.max;
      std::vector<Tile> scores;
      for (const Positions &tile : tiles) {
        Tile score = sumColumns(tile.keys * queries[head]) * scale;
        scores.push_back(k.select({tile.mask, &k}, score, none));
        max = maximum(max, scores.back());
      }
      Tile isNone = {arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                           max.value, none.value),
                     &k};
      Tile from = k.select(isNone, nothing, max);
      Tile old = exp(seen.max - from), sum, acc;
      for (size_t i = 0; i < tiles.size(); ++i) {
        Tile weight = exp(scores[i] - from);
        sum = i ? sum + weight : weight;
        acc = i ? fma(rounded(weight), tiles[i].values, acc)
                : rounded(weight) * tiles[i].values;
      }
      seen.max = max;
      seen.sum = fma(seen.sum, old, sum);
      seen.acc = fma(seen.acc, old, acc);
    }
  }

  /// The weight as the tensor of values would hold it.
  Tile rounded(Tile weight) {
    if (dtypeSize(valueType) != 2)
      return weight;
    return k.convert(valueType, DType::F32,
                     k.convert(DType::F32, valueType, weight));
  }

  /// The new row, written to the cache by the first CTA of its head and read by
  /// the first part of each as the cache holds it.
  void appendAndAttend(std::vector<Running> &running) {
    auto [isHere, isFirst] = hasNewRow();
    Value isRow =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rowNumbers().value,
                              splat(zero, true).value);
    Value mask = both(isRow, splat(isHere, true).value);
    auto read = [&](size_t arg, const ScheduledOperand &cache) {
      const ScheduledOperand &fresh = k.operandOf(arg, Usage::Free);
      append(fresh, cache, isFirst);
      return widen(cache, cast(fresh, cache,
                               load(fresh, splat(newOffset(fresh), true), mask,
                                    zero, columns)));
    };
    Tile key = read(1, keys), value = read(2, values);
    attend(running, {{key, value, mask}});
  }

  /// Offset of what part 0 leaves for a head.
  Value offsetOfParts(int head) {
    Value at = step(*partials, dim(1), headNumbers[head]);
    return isBatched ? add(at, step(*partials, 1, batch)) : at;
  }

  /// The rows of the tile merged, as part of the window: one that has no
  /// position, or only scores of -inf, keeps -inf, 0, 0.
  void leavePart(const Running &seen, int head) {
    Tile max = maxRows(seen.max);
    Tile none = k.like(max, minusInf), nothing = k.like(max, 0);
    Tile isNone = {arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                         max.value, none.value),
                   &k};
    Tile weight = exp(seen.max - k.select(isNone, nothing, max));
    Tile sum = sumRows(seen.sum * weight);
    Tile acc = sumRows(seen.acc * weight);
    Tile at = splat(add(offsetOfParts(head), step(*partials, 0, part)));
    storeParts(*partials, acc, max, sum, at, splat(headExists[head]).value);
  }

  /// Parts in rows.
  Running loadParts() {
    Tile slots = rowNumbers();
    Value exists =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, slots.value,
                              splat(constant(splits), true).value);
    exists = both(exists, splat(headExists[0], true).value);
    Value stride = k.scalar(partials->stride(0));
    Value along =
        arith::MulIOp::create(b, slots.value, splat(stride, true).value);
    auto offsets = [&](int64_t column) -> Tile {
      Value from = add(offsetOfParts(0), constant(column));
      return {arith::AddIOp::create(b, along, splat(from, true).value), &k};
    };
    Running parts;
    const int64_t headDim = k.plan().headDim;
    parts.acc = load(*partials, offsets(0), exists, zero, columns);
    parts.sum = loadElement(*partials, offsets(headDim + 1), exists);
    Tile max = loadElement(*partials, offsets(headDim), exists);
    parts.max = k.select({exists, &k}, max, k.like(max, minusInf));
    return parts;
  }

  void storeParts(const ScheduledOperand &to, Tile acc, Tile max, Tile sum,
                  Tile at, Value mask) {
    store(acc, to, at, mask, zero, columns);
    Value one = constant(k.plan().headDim + 1);
    store(max, to, at, mask, columns, one);
    store(sum, to, at, mask, one, constant(k.plan().headDim + 2));
  }

  void finish(const Running &seen, int head) {
    Tile max = maxRows(seen.max);
    Tile weight = exp(seen.max - max);
    Tile sum = sumRows(seen.sum * weight);
    Tile acc = sumRows(seen.acc * weight);
    if (!isStep) {
      Tile isEmpty = splat(compare(arith::CmpIPredicate::eq, length, zero));
      sum = k.select(isEmpty, k.like(sum, isPartial ? 0 : 1), sum);
      acc = k.select(isEmpty, k.like(acc, 0), acc);
    }
    Value keeps = headExists[head];
    // No later kernel may read memory that nobody wrote.
    if (k.isFinal(*out))
      keeps = both(keeps, isGood);
    Value mask = splat(keeps).value;
    Tile at = splat(offset(*out, dim(0), headNumbers[head]));
    if (!isPartial) {
      Tile result = k.convert(DType::F32, k.resultType(), acc / sum);
      return store(result, *out, at, mask, zero, columns);
    }
    storeParts(*out, acc, max, sum, at, mask);
  }

  /// Both products are sums of rounded products and fma, over the columns by
  /// tile.reduce, over the positions in a round, then round by round, then
  /// merged over the rows. A partial sum is rescaled in each later round, by
  /// the new row of attn_step, and in the merge.
  void noteContract() {
    const KernelSchedule &plan = k.plan();
    int64_t colLanes = std::min<int64_t>(32, plan.tileCols / plan.threadCols);
    int64_t rowLanes = std::min(32 / colLanes, plan.tileRows);
    int64_t rowWarps = plan.tileRows / rowLanes;
    int64_t colWarps = std::max<int64_t>(1, plan.warps / rowWarps);
    auto log = [](int64_t power) {
      return std::countr_zero(static_cast<uint64_t>(power));
    };
    int64_t overColumns = log(plan.tileCols / (colLanes * colWarps)) +
                          log(colLanes) + log(colWarps) + 1;
    int64_t overRows = numTiles + log(rowLanes) + log(rowWarps) + 1;
    // Parts are rows of the merge: a tree in each thread, over its lanes, and
    // its warps.
    const int64_t merge = splits > 1 ? plan.mergeDepth : 0;
    std::string rounds = "ceildiv(n, " +
                         std::to_string(plan.tileRows * numTiles * splits) +
                         ") + ";
    StepContract &contract = k.contract();
    contract.dot = "fma";
    contract.depth =
        rounds + std::to_string(std::max(overColumns, overRows) + 1 + merge);
    contract.rescales = rounds + (splits > 1 ? "2" : "1");
    contract.order = "rounds of " + std::to_string(numTiles) + " x " +
                     std::to_string(plan.tileRows) + " positions, then rows (" +
                     std::to_string(rowLanes) + " lanes, " +
                     std::to_string(rowWarps) + " warps); heads of " +
                     std::to_string(plan.tileCols) + " columns (" +
                     std::to_string(colLanes) + " lanes, " +
                     std::to_string(colWarps) + " warps)" +
                     (splits > 1 ? "; windows in " + std::to_string(splits) +
                                       " parts, merged as rows"
                                 : "");
  }

  const int numTiles;
  std::vector<Value> headNumbers, headExists;
  std::vector<Tile> queries;
};
} // namespace

void codegen::emitAttention(RowBuilder &k) {
  if (k.plan().usesTensorCore)
    return emitAttentionMma(k);
  Attention(k).emit();
}
