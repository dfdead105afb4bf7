"""Known answers of gelu in both forms."""

from digits import mpmath, show


def exact(x):
    x = mpmath.mpf(x)
    return x / 2 * mpmath.erfc(-x / mpmath.sqrt(2))


def by_tanh(x):
    x = mpmath.mpf(x)
    z = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)
    return x / 2 * (1 + mpmath.tanh(z))


show("exact_form_to_the_tail", [exact(x) for x in (1, -1, 0.5, -5.5, -10)])
show("tanh_form", [by_tanh(x) for x in (1, -1, 0.5, -5)])
