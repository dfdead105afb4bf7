//===- Attention.h - What ATTENTION_TILE and ATTN_STEP share ----*- C++ -*-===//
#ifndef TANDEM_REFOPS_ATTENTION_H
#define TANDEM_REFOPS_ATTENTION_H

#include "refops/RefOp.h"

namespace tandem::refops {

/// One query token a sequence over windows of its cache.
struct Attention {
  Source q, k, v;
  int64_t batch, heads, kvHeads, slots, width;
  float scale;
  /// Writes [acc, m, l] instead of acc / l.
  bool isPartial;

  /// \p q is [h, D] or [B, h, D], the caches [S, kvh, D] or [B, S, kvh, D].
  Attention(const Source &q, const Source &k, const Source &v,
            const Params &params);

  /// Elements of a head of the output.
  int64_t outputWidth() const { return isPartial ? width + 2 : width; }
};

/// Slots of one sequence's cache.
struct Window {
  int64_t first = 0, count = 0;
  /// Runs past the cache or starts before it: its rows stay untouched.
  bool isFaulty = false;
};

/// Writes o = softmax(scale * q . k) . v of every sequence whose window is not
/// faulty; the others are marked so in \p out.
void attend(const Attention &attention, const std::vector<Window> &windows,
            Sink &out, const StepNumerics &numerics, int jobs, double *);
void attend(const Attention &attention, const std::vector<Window> &windows,
            Sink &out, const StepNumerics &numerics, int jobs, Bounded *);

} // namespace tandem::refops

#endif // TANDEM_REFOPS_ATTENTION_H
