//===- Attention.cpp - What ATTENTION_TILE and ATTN_STEP share ------------===//
#include "refops/Attention.h"
#include "refops/core/HostNumbers.h"

using namespace tandem;
using namespace tandem::refops;

/// Columns of v that are read at a time.
static constexpr int64_t blockColumns = 16;

Attention::Attention(const Source &q, const Source &k, const Source &v,
                     const Params &params)
    : q(q), k(k), v(v) {
  const Dims &query = q.shape(), &cache = k.shape();
  const size_t rank = cache.size();
  batch = rank == 4 ? cache[0] : 1;
  heads = query[query.size() - 2];
  slots = cache[rank - 3];
  kvHeads = cache[rank - 2];
  width = cache[rank - 1];
  scale = params.getFloat("scale", width ? inverseRoot(width) : 1);
  isPartial = params.getInt("flags", 0) & 2;
}

/// A mean of values of magnitude \p largest, whatever the weights are: where
/// large scores are known too badly to tell the weights, the mean is not
/// farther from the right one than the values are apart. The factor covers the
/// roundings of weights and sums.
static double withinHull(double y, double) { return y; }
static Bounded withinHull(const Bounded &y, double largest) {
  const double error = 2 * (1 + 0x1p-6) * largest;
  return std::isfinite(y.value) && !(y.error <= error) ? Bounded(y.value, error)
                                                       : y;
}

/// Whether all scores are numbers for certain, and one is not -inf.
template <typename T>
static bool areNumbers(const std::vector<T> &scores) {
  bool hasFinite = false;
  for (const T &s : scores) {
    const bool isFinite = std::isfinite(valueOf(s));
    if (!(errorOf(s) < infinity) || (!isFinite && valueOf(s) != -infinity))
      return false;
    hasFinite |= isFinite;
  }
  return hasFinite;
}

namespace {

/// The query heads that share one head of one sequence's cache.
template <typename T>
class HeadGroup {
public:
  HeadGroup(const Attention &attention, const StepNumerics &numerics)
      : a(attention), n(numerics) {}

  void run(int64_t sequence, int64_t kvHead, const Window &w, Sink &out) {
    window = w;
    first = (sequence * a.slots + window.first) * a.kvHeads + kvHead;
    const int64_t shared = a.heads / a.kvHeads;
    firstRow = sequence * a.heads + kvHead * shared;
    numHeads = static_cast<size_t>(shared);
    maxima.resize(numHeads);
    sums.resize(numHeads);
    givesMean.resize(numHeads);
    computeScores();
    for (size_t h = 0; h < numHeads; ++h)
      computeWeights(h);
    for (int64_t c = 0; c < a.width; c += blockColumns)
      computeColumns(c, std::min(blockColumns, a.width - c), out);
    for (size_t h = 0; h < numHeads && a.isPartial; ++h) {
      const T tail[2] = {fromUnitsOfLog2(maxima[h], n), sums[h]};
      out.write(rowOf(h) * a.outputWidth() + a.width, 2, tail);
    }
  }

private:
  int64_t rowOf(size_t h) const { return firstRow + static_cast<int64_t>(h); }
  /// Element of the cache where key \p j of the window starts.
  int64_t keyAt(int64_t j) const { return (first + j * a.kvHeads) * a.width; }

  void computeScores() {
    const size_t width = static_cast<size_t>(a.width);
    const double depth = n.dotDepth(a.width);
    // The factor may be a rounded scale * log2(e).
    const T scale = constant<T>(a.scale, n);
    std::vector<T> queries(numHeads * width), key(width);
    a.q.read(firstRow * a.width, static_cast<int64_t>(queries.size()),
             queries.data());
    weights.assign(numHeads, std::vector<T>(static_cast<size_t>(window.count)));
    for (int64_t j = 0; j < window.count; ++j) {
      a.k.read(keyAt(j), a.width, key.data());
      for (size_t h = 0; h < numHeads; ++h) {
        const std::span<const T> query(queries.data() + h * width, width);
        const T product = dotInAnyOrder(query, std::span<const T>(key),
                                        a.k.desc().dtype, depth, n);
        weights[h][static_cast<size_t>(j)] =
            inUnitsOfLog2(mul(product, scale, n));
      }
    }
  }

  /// Scores to weights; a NaN, or inf - inf, reaches the sum.
  void computeWeights(size_t h) {
    std::vector<T> &row = weights[h];
    T m = -infinity;
    for (const T &s : row)
      m = maximum(m, s);
    givesMean[h] = !a.isPartial && areNumbers(row);
    const double rescales = n.rescales(window.count);
    for (T &s : row)
      s = weight(a.isPartial ? sub(s, m, n) : belowMaximum(s, m, n), rescales,
                 n);
    maxima[h] = m;
    sums[h] = sum(std::span<const T>(row), n.depth(window.count), n);
    for (T &w : row)
      w = roundedWeight(w, a.v.desc().dtype, n);
  }

  void computeColumns(int64_t c, int64_t count, Sink &out) {
    const size_t keys = static_cast<size_t>(window.count);
    const double depth = n.dotDepth(window.count);
    std::vector<T> values(static_cast<size_t>(count)),
        columns(keys * values.size());
    for (size_t j = 0; j < keys; ++j) {
      a.v.read(keyAt(static_cast<int64_t>(j)) + c, count, values.data());
      for (size_t i = 0; i < values.size(); ++i)
        columns[i * keys + j] = values[i];
    }
    for (size_t h = 0; h < numHeads; ++h) {
      // An empty window gives zeros; dividing by a rounded reciprocal is two
      // roundings.
      const T inverse = keys ? div(T(1), sums[h], n) : T(1);
      for (size_t i = 0; i < values.size(); ++i) {
        const std::span<const T> column(columns.data() + i * keys, keys);
        const T acc = dotInAnyOrder(std::span<const T>(weights[h]), column,
                                    a.v.desc().dtype, depth, n);
        values[i] = a.isPartial ? acc : mul(acc, inverse, n);
        if (!givesMean[h])
          continue;
        double largest = 0;
        for (const T &v : column)
          largest = std::max(largest, std::fabs(valueOf(v)) + errorOf(v));
        // Else a sum may overflow.
        if (largest * static_cast<double>(keys) < 0x1p126)
          values[i] = withinHull(values[i], largest);
      }
      out.write(rowOf(h) * a.outputWidth() + c, count, values.data());
    }
  }

  const Attention &a;
  const StepNumerics &n;
  Window window;
  /// Row of keys in the cache, and of query heads, where the group starts.
  int64_t first = 0, firstRow = 0;
  size_t numHeads = 0;
  std::vector<std::vector<T>> weights;
  std::vector<T> maxima, sums;
  /// Whether the head's result is a mean of values, whatever the scores.
  std::vector<bool> givesMean;
};

} // namespace

template <typename T>
static void attendAll(const Attention &a, const std::vector<Window> &windows,
                      Sink &out, const StepNumerics &n, int jobs) {
  const int64_t perSequence = a.heads * a.outputWidth();
  bool hasFault = false;
  for (const Window &window : windows)
    hasFault |= window.isFaulty;
  if (hasFault)
    out.expectPartialWrites();
  for (size_t b = 0; b < windows.size(); ++b)
    if (windows[b].isFaulty)
      out.markFaulty(static_cast<int64_t>(b) * perSequence, perSequence);
  if (a.heads == 0)
    return;
  const int64_t work = a.heads / a.kvHeads * (a.slots + 1) * a.width * 4;
  parallelFor(a.batch * a.kvHeads, work, jobs, [&](int64_t begin, int64_t end) {
    HeadGroup<T> group(a, n);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t sequence = item / a.kvHeads;
      const Window &window = windows[static_cast<size_t>(sequence)];
      if (!window.isFaulty)
        group.run(sequence, item % a.kvHeads, window, out);
    }
  });
}

void tandem::refops::attend(const Attention &attention,
                            const std::vector<Window> &windows, Sink &out,
                            const StepNumerics &numerics, int jobs, double *) {
  attendAll<double>(attention, windows, out, numerics, jobs);
}

void tandem::refops::attend(const Attention &attention,
                            const std::vector<Window> &windows, Sink &out,
                            const StepNumerics &numerics, int jobs, Bounded *) {
  attendAll<Bounded>(attention, windows, out, numerics, jobs);
}
