//===- Matmul.cpp - The product that matrix ops share ---------------------===//
#include "refops/Matmul.h"
#include "refops/Quantised.h"
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
  std::optional<Quantised> quantised;
  /// The type that dequantised weights are rounded to, if any.
  std::optional<DType> weightType;
  int64_t rows, k, firstColumn, numColumns, allColumns;

  bool scalesSums() const { return quantised && !weightType; }

  /// Row \p column of W.
  template <typename T>
  void readWeights(int64_t column, T *out, const StepNumerics &n) const {
    if (!quantised)
      return w.read(column * k, k, out);
    quantised->readRow(column, out, n, scalesSums());
    for (int64_t i = 0; i < k; ++i)
      out[i] =
          weightType ? T(roundedTo(*weightType, out[i])) : asFactor(out[i], n);
  }

private:
  /// A kernel multiplies sums by the scale, or each weight: then an f32 weight
  /// may be subnormal, and one beyond f32 turns a zero into NaN.
  static double asFactor(double w, const StepNumerics &) { return w; }
  static Bounded asFactor(const Bounded &w, const StepNumerics &n) {
    if (!(w.largest() < f32Overflow))
      return w.isCertainNan() ? w : noVerdict(w.value);
    const bool isTiny = std::fabs(w.value) < f32SmallestNormal;
    return {w.value, w.error + (isTiny && w.value != 0 ? n.floor : 0)};
  }
};

} // namespace

template <typename T>
static Problem problemOf(OpCall<T> &call, const char *defaultLayout) {
  const Params &params = *call.params;
  const Source &x = call.in[0];
  const bool isKn = params.getString("weight_layout", defaultLayout) == "kn";
  const Source w = isKn ? call.in[1].withAxisLast(0) : call.in[1];
  const int64_t n = w.shape()[0];
  const int64_t first = std::min(params.getInt("n_off", 0), n);
  // Not first + N_tile: that may overflow.
  const int64_t width = std::min(params.getInt("N_tile", n), n - first);
  Problem p = {x,
               w,
               std::nullopt,
               std::nullopt,
               numRowsOf(x.shape()),
               x.shape().back(),
               first,
               width,
               n};
  if (isFloat(w.desc().dtype))
    return p;
  p.quantised.emplace(w, call.in[2],
                      call.in.size() == 4 ? &call.in[3] : nullptr, p.k, params);
  if (params.has("weight_dtype"))
    p.weightType = dtypeNamed(params.getString("weight_dtype", ""));
  return p;
}

/// Where a tensor core's sums leave it.
static Segments segmentsOf(const Problem &p, const Params &params,
                           const StepNumerics &n) {
  if (p.scalesSums())
    return {p.quantised->group(), 1};
  if (n.isFloat8 && params.getString("accumulate", "promoted") == "promoted")
    return {promotionInterval, 0};
  return {};
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
  p.readWeights(column, b.data(), n);
  return dot(std::span<const Bounded>(a), std::span<const Bounded>(b),
             p.x.desc().dtype, depth, n);
}

/// Whether sums of x times integers, before they are scaled, stay finite.
static bool integerSumsAreFinite(const Problem &p, const Panel &x, size_t at) {
  double mass = 0;
  for (int64_t i = 0; i < p.k; ++i) {
    const double v = std::fabs(x.value[at + static_cast<size_t>(i)]);
    mass += std::isfinite(v) ? v : 0;
  }
  return mass * 0x1p9 < f32Overflow;
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
  const bool isGiven = call.in.size() == 3 && isFloat(call.in[1].desc().dtype);
  return isGiven ? call.in[2].template readAll<T>() : std::vector<T>();
}

Result<void> tandem::refops::matmul(OpCall<double> &call,
                                    const char *defaultLayout) {
  const Problem p = problemOf(call, defaultLayout);
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
               p.readWeights(first + l, column.data(), *call.numerics);
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

Result<void> tandem::refops::matmul(OpCall<Bounded> &call,
                                    const char *defaultLayout) {
  const Problem p = problemOf(call, defaultLayout);
  const StepNumerics &n = *call.numerics;
  Sink &y = call.out[0];
  if (p.numColumns < p.allColumns)
    y.expectPartialWrites();
  const std::vector<Bounded> bias = biasOf(call);
  // Where W is quantised, each weight or each sum is multiplied by a scale.
  const double depth = n.dotDepth(p.k) + (p.scalesSums() ? 1 : 0);
  const Segments segments = segmentsOf(p, *call.params, n);
  const DType weightType =
      p.quantised ? p.weightType.value_or(p.x.desc().dtype) : p.w.desc().dtype;
  const double normal =
      std::min(smallestNormal(p.x.desc().dtype), smallestNormal(weightType));
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
          p.readWeights(first + l, line.data(), n);
          for (size_t i = 0; i < k; ++i)
            ws.set(i * lanes + static_cast<size_t>(l), line[i], normal);
        }
        for (int64_t r = begin; r < end; ++r) {
          DotSums<lanes> sums;
          sums.segments = segments;
          const size_t at = static_cast<size_t>(r - begin) * k;
          multiplyRow(p, xs, at, ws, sums, n);
          const bool isFinite =
              !p.scalesSums() || integerSumsAreFinite(p, xs, at);
          Bounded out[lanes];
          for (int64_t l = 0; l < width; ++l) {
            out[l] = std::isfinite(sums.value[l])
                         ? sums.finish(static_cast<int>(l), p.k, depth, n)
                         : dotSlowly(p, r, first + l, depth, n);
            if (!isFinite && !out[l].isCertainNan())
              out[l] = withoutVerdict(out[l]);
            if (!bias.empty())
              out[l] = add(out[l], bias[static_cast<size_t>(first + l)], n);
          }
          y.write(r * p.allColumns + first, width, out);
        }
      });
  return {};
}
