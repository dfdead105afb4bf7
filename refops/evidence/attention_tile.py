"""Known answers of attention_tile: softmax(scale * q . k) . v of one head."""

from digits import mpmath, show


def attend(q, keys, values, scale, partial=False):
    scores = [scale * sum(mpmath.mpf(a) * b for a, b in zip(q, k)) for k in keys]
    m = max(scores)
    weights = [mpmath.exp(s - m) for s in scores]
    total = sum(weights)
    acc = [sum(w * v[d] for w, v in zip(weights, values))
           for d in range(len(values[0]))]
    return acc + [m, total] if partial else [a / total for a in acc]


show("scores_are_scaled_by_the_root",
     attend([1, 2, -1, 0.5], [[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 2]],
            [[1, 0, 2, -1], [0, 1, 4, 1], [3, 5, 0, 1]], mpmath.mpf("0.5")))
show("a_given_scale", attend([2], [[1], [-1]], [[1], [0]], mpmath.mpf("0.25")))
show("partial_write_of_unequal_scores",
     attend([1], [[2], [0], [1]], [[1], [2], [-3]], 1, partial=True))
