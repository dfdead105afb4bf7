"""Known answers of silu_mul: g * sigmoid(g) * u."""

from digits import mpmath, show


def silu_mul(g, u):
    g, u = mpmath.mpf(g), mpmath.mpf(u)
    return g / (1 + mpmath.exp(-g)) * u


show("gate_times_its_sigmoid_times_up",
     [silu_mul(g, u) for g, u in [(1, 3), (-2, 5), (0.5, -4)]])
show("neither_side_overflows",
     [silu_mul(g, u) for g, u in [(-100, 2**100), (100, 1), (-88, 1), (1e5, 1)]])
