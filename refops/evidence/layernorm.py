"""Known answers of layernorm: (x - mean) / sqrt(var + eps) * w, biased variance."""

from digits import f32, mpmath, show


def layernorm(x, w, eps):
    mean = mpmath.mpf(sum(x)) / len(x)
    var = sum((v - mean) ** 2 for v in x) / len(x)
    return [(v - mean) / mpmath.sqrt(var + eps) * g for v, g in zip(x, w)]


show("four_columns_default_eps",
     layernorm([1, 2, 3, 5], [1, 0.5, 2, -1], f32(1e-5)))
