//===- Matmul.cpp - The product that GEMM_TILE and GEMV_TILE share --------===//
#include "refops/Matmul.h"
#include "refops/Reductions.h"

using namespace tandem;
using namespace tandem::refops;

namespace {

/// Columns of W that are computed together, and rows of x that a thread keeps
/// widened while it walks over those columns.
constexpr int lanes = 8;
constexpr int64_t blockRows = 64;

/// A block of operand values as columns of doubles for Reductions.h.
struct Panel {
  std::vector<double> value, error, magnitude;
  bool hasErrors = false;
  bool needsMagnitudes = false;

  void resize(size_t count) {
    for (std::vector<double> *column : {&value, &error, &magnitude})
      column->assign(count, 0);
    hasErrors = needsMagnitudes = false;
  }
  void set(size_t at, const Bounded &x, double normal) {
    value[at] = x.value;
    error[at] = x.error;
    magnitude[at] = alignedMagnitude(x, normal);
    hasErrors |= x.error != 0;
    // NaN and infinities do not matter: their sums are handled apart.
    needsMagnitudes |= magnitude[at] != std::fabs(x.value);
  }
  Factor factor(size_t at) const {
    return {value.data() + at, error.data() + at, magnitude.data() + at};
  }
};

struct Problem {
  Source x, w; // [rows, k], [n, k]
  int64_t rows, k, firstColumn, numColumns, allColumns;
};

} // namespace

template <typename T>
static Problem problemOf(OpCall<T> &call) {
  const Params &params = *call.params;
  const Source &x = call.in[0];
  const bool isKn = params.getString("weight_layout", "nk") == "kn";
  const Source w = isKn ? call.in[1].withAxisLast(0) : call.in[1];
  const int64_t n = w.shape()[0];
  const int64_t first = std::min(params.getInt("n_off", 0), n);
  // Not first + N_tile: that may overflow.
  const int64_t width = std::min(params.getInt("N_tile", n), n - first);
  return {x, w, numRowsOf(x.shape()), x.shape().back(), first, width, n};
}

/// Sums of one row with the columns of a panel.
static void multiplyRow(const Problem &p, const Panel &x, size_t at,
                        const Panel &w, DotSums<lanes> &sums,
                        const StepNumerics &n) {
  const Factor a = x.factor(at), b = w.factor(0);
  const bool isTensorCore = n.dot == StepNumerics::Dot::TensorCore;
  const bool magnitudes =
      isTensorCore && (x.needsMagnitudes || w.needsMagnitudes);
  if (magnitudes)
    sums.accumulate<true, true>(a, b, p.k, n);
  else if (x.hasErrors || w.hasErrors)
    sums.accumulate<true, false>(a, b, p.k, n);
  else
    sums.accumulate<false, false>(a, b, p.k, n);
}

/// The general form, for sums that are not finite.
static Bounded dotSlowly(const Problem &p, int64_t row, int64_t column,
                         double depth, const StepNumerics &n) {
  std::vector<Bounded> a(static_cast<size_t>(p.k)), b(a.size());
  p.x.read(row * p.k, p.k, a.data());
  p.w.read(column * p.k, p.k, b.data());
  return dot(std::span<const Bounded>(a), std::span<const Bounded>(b),
             p.x.desc().dtype, depth, n);
}

/// Calls \p body(rowBlock, columnBlock) for all blocks; neighbouring calls of a
/// thread share their row block.
template <typename Body>
static void forTiles(const Problem &p, int jobs, const Body &body) {
  const int64_t rowBlocks = (p.rows + blockRows - 1) / blockRows;
  const int64_t columnBlocks = (p.numColumns + lanes - 1) / lanes;
  const int64_t work = std::min(p.rows, blockRows) * lanes * (p.k + 8);
  parallelFor(rowBlocks * columnBlocks, work, jobs,
              [&](int64_t begin, int64_t end) {
                Body own = body;
                for (int64_t tile = begin; tile < end; ++tile)
                  own(tile / columnBlocks, tile % columnBlocks);
              });
}

template <typename T>
static std::vector<T> biasOf(const OpCall<T> &call) {
  return call.in.size() == 3 ? call.in[2].template readAll<T>()
                             : std::vector<T>();
}

Result<void> tandem::refops::matmul(OpCall<double> &call) {
  const Problem p = problemOf(call);
  Sink &y = call.out[0];
  if (p.numColumns < p.allColumns)
    y.expectPartialWrites();
  const std::vector<double> bias = biasOf(call);
  const size_t k = static_cast<size_t>(p.k);
  forTiles(p, call.jobs,
           [&, row = std::vector<double>(k), column = std::vector<double>(k),
            panel = std::vector<double>(k * lanes)](int64_t rowBlock,
                                                    int64_t block) mutable {
             const int64_t first = p.firstColumn + block * lanes;
             const int64_t width =
                 std::min<int64_t>(lanes, p.firstColumn + p.numColumns - first);
             std::fill(panel.begin(), panel.end(), 0);
             for (int64_t l = 0; l < width; ++l) {
               p.w.read((first + l) * p.k, p.k, column.data());
               for (size_t i = 0; i < k; ++i)
                 panel[i * lanes + static_cast<size_t>(l)] = column[i];
             }
             const int64_t begin = rowBlock * blockRows;
             const int64_t end = std::min(p.rows, begin + blockRows);
             for (int64_t r = begin; r < end; ++r) {
               p.x.read(r * p.k, p.k, row.data());
               double total[lanes] = {};
               for (size_t i = 0; i < k; ++i)
                 for (size_t l = 0; l < lanes; ++l)
                   total[l] += row[i] * panel[i * lanes + l];
               for (int64_t l = 0; l < width && !bias.empty(); ++l)
                 total[l] = add(total[l], bias[static_cast<size_t>(first + l)],
                                *call.numerics);
               y.write(r * p.allColumns + first, width, total);
             }
           });
  return {};
}

Result<void> tandem::refops::matmul(OpCall<Bounded> &call) {
  const Problem p = problemOf(call);
  const StepNumerics &n = *call.numerics;
  Sink &y = call.out[0];
  if (p.numColumns < p.allColumns)
    y.expectPartialWrites();
  const std::vector<Bounded> bias = biasOf(call);
  const double depth = n.dotDepth(p.k);
  const double normal = std::min(smallestNormal(p.x.desc().dtype),
                                 smallestNormal(p.w.desc().dtype));
  const size_t k = static_cast<size_t>(p.k);
  forTiles(
      p, call.jobs,
      [&, line = std::vector<Bounded>(k), xs = Panel(), ws = Panel(),
       loaded = int64_t(-1)](int64_t rowBlock, int64_t block) mutable {
        const int64_t begin = rowBlock * blockRows;
        const int64_t end = std::min(p.rows, begin + blockRows);
        if (loaded != rowBlock) {
          xs.resize(static_cast<size_t>(end - begin) * k);
          for (int64_t r = begin; r < end; ++r) {
            p.x.read(r * p.k, p.k, line.data());
            for (size_t i = 0; i < k; ++i)
              xs.set(static_cast<size_t>(r - begin) * k + i, line[i], normal);
          }
          loaded = rowBlock;
        }
        const int64_t first = p.firstColumn + block * lanes;
        const int64_t width =
            std::min<int64_t>(lanes, p.firstColumn + p.numColumns - first);
        ws.resize(k * lanes);
        for (int64_t l = 0; l < width; ++l) {
          p.w.read((first + l) * p.k, p.k, line.data());
          for (size_t i = 0; i < k; ++i)
            ws.set(i * lanes + static_cast<size_t>(l), line[i], normal);
        }
        for (int64_t r = begin; r < end; ++r) {
          DotSums<lanes> sums;
          multiplyRow(p, xs, static_cast<size_t>(r - begin) * k, ws, sums, n);
          Bounded out[lanes];
          for (int64_t l = 0; l < width; ++l) {
            out[l] = std::isfinite(sums.value[l])
                         ? sums.finish(static_cast<int>(l), p.k, depth, n)
                         : dotSlowly(p, r, first + l, depth, n);
            if (!bias.empty())
              out[l] = add(out[l], bias[static_cast<size_t>(first + l)], n);
          }
          y.write(r * p.allColumns + first, width, out);
        }
      });
  return {};
}
