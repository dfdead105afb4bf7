"""Known answers of rmsnorm: x / sqrt(mean(x^2) + eps) * w."""

from digits import f32, mpmath, show


def rmsnorm(x, w, eps):
    mean = sum(mpmath.mpf(v) ** 2 for v in x) / len(x)
    return [v / mpmath.sqrt(mean + eps) * g for v, g in zip(x, w)]


show("zero_row_stays_zero, row 1", rmsnorm([2, 2], [1, 7], mpmath.mpf(2) ** -20))
show("four_columns_default_eps",
     rmsnorm([1, 2, 3, 4], [1, 0.5, 2, -1], f32(1e-6)))
