"""Known answers of attention_combine: sums weighted with exp(m_p - max m)."""

from digits import mpmath, show


def combine(*shards):
    m = max(s[1] for s in shards)
    w = [mpmath.exp(mpmath.mpf(s[1]) - m) for s in shards]
    return (sum(a * s[0] for a, s in zip(w, shards)) /
            sum(a * s[2] for a, s in zip(w, shards)))


show("weights_are_exponentials_of_m",
     [combine((3, 1, 2), (4, 2, 1)), combine((1, 80000, 1), (2, 80001, 1))])
